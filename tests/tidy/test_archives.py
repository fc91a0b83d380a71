"""What the built files hold: neither more nor less than they should, and always the same bytes."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tools import build_pyz

ROOT = Path(__file__).parent.parent.parent
MODULES = {
    path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/dispatch").rglob("*.py")
}


def test_the_same_source_makes_the_same_pyz(tmp_path: Path) -> None:
    build_pyz.build(tmp_path / "one.pyz")
    build_pyz.build(tmp_path / "two.pyz")
    assert (tmp_path / "one.pyz").read_bytes() == (tmp_path / "two.pyz").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.pyz", "two.pyz"]


def test_the_pyz_holds_the_program_without_what_tests_need(tmp_path: Path) -> None:
    target = tmp_path / "publish.pyz"
    build_pyz.build(target)
    wanted = {name for name in MODULES if not name.startswith("dispatch/testing/")}
    with zipfile.ZipFile(target) as archive:
        names = archive.namelist()
    assert names == sorted({"__main__.py", *wanted, *(name + "c" for name in wanted)})
    assert target.read_bytes().startswith(build_pyz.SHEBANG)


def test_the_wheel_holds_the_package_alone(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    [wheel] = tmp_path.iterdir()
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    about = f"{'-'.join(wheel.name.split('-')[:2])}.dist-info/"
    extra = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    assert names == MODULES | {"dispatch/py.typed"} | {about + name for name in extra}
