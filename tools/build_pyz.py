"""Build publish.pyz, the `publish` program in one file for nodes with nothing but Python 3.11.

The same source and the same Python give the same bytes: names are sorted, every date and mode is
fixed. Each module is there twice: compiled by this Python, so that a node with the same version
doesn't compile it at every start, and as its source, which every other version falls back to.
"""

import argparse
import py_compile
import sys
import tempfile
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"

LEFT_OUT = frozenset({"testing", "__pycache__"})
"""Folders of the package that the program never imports."""

SHEBANG = b"#!/usr/bin/env python3\n"

MAIN = """\
import sys

if sys.version_info < (3, 11):
    sys.exit("publish: error: Python 3.11 or later is needed, not %d.%d" % sys.version_info[:2])

from dispatch.cli.publish.start import main

sys.exit(main())
"""

DATE = (1980, 1, 1, 0, 0, 0)
"""The first moment that a zip file can hold."""

MODE_FILE = 0o100644 << 16
"""A regular file that everybody may read, where a zip file keeps Unix modes."""


def compiled(source: Path, shown: str) -> bytes:
    """Compile one module, to byte code that is never compared with its source's date."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "module.pyc"
        py_compile.compile(
            str(source),
            cfile=str(target),
            dfile=shown,
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
        return target.read_bytes()


def members(source: Path) -> dict[str, bytes]:
    """Collect what the archive holds: file names and contents."""
    found = {"__main__.py": MAIN.encode()}
    for path in (source / "dispatch").rglob("*.py"):
        name = path.relative_to(source)
        if LEFT_OUT.isdisjoint(name.parts):
            found[name.as_posix()] = path.read_bytes()
            found[name.with_suffix(".pyc").as_posix()] = compiled(path, name.as_posix())
    return found


def build(target: Path, source: Path = SOURCE) -> None:
    """Write the archive; the file appears whole, under its name, or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(target.name + ".unfinished")
    with unfinished.open("wb") as stream:
        stream.write(SHEBANG)
        with zipfile.ZipFile(stream, "w") as archive:
            for name, content in sorted(members(source).items()):
                info = zipfile.ZipInfo(name, DATE)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.create_system = 3  # Unix: whoever builds it, modes mean the same
                info.external_attr = MODE_FILE
                archive.writestr(info, content, compresslevel=9)
    unfinished.chmod(0o755)
    unfinished.replace(target)


def main() -> int:
    """Build the file that the command line names."""
    parser = argparse.ArgumentParser(description="build publish.pyz")
    parser.add_argument("target", type=Path, help="the file to write, dist/publish.pyz for example")
    build(parser.parse_args().target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
