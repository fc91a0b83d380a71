"""Paths of any bytes, in any locale: printed byte for byte as they were published."""

import json
import os
import random
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.program import EPOCH, Argument, Ended, Program
from tests.cli.roots import Root, entry_name

LATIN = b"caf\xe9"  # ISO 8859-1, no UTF-8
KANJI_EUC = b"\xb3\xd8\xbd\xac"  # EUC-JP for "learning", no UTF-8
KANJI_UTF8 = "\u5b66\u7fd2".encode()  # the same in UTF-8, no EUC-JP
ODD = [
    LATIN,
    KANJI_EUC,
    KANJI_UTF8,
    b"\xff\xfe\x80",
    b"\x80\x01\x9f",
    "caf\u00e9".encode(),
    "\u202eoverride\U0001f600".encode(),
    b"\xed\xa0\x80",  # a surrogate, as UTF-8 would have it
    b"\xf4\x90\x80\x80",  # over the last code point
    b"\x8f\xa2\xaf",
    b" \t\\\"'$`*?[]{}|&;<>()!#~=%",
    b"\x1b[31mred\x07\x7f\r",
]
LOCALES = ["C", "C.UTF-8", "POSIX", "de_DE.ISO-8859-1", "ja_JP.EUC-JP"]
MADE = {"de_DE.ISO-8859-1": ("de_DE", "ISO-8859-1"), "ja_JP.EUC-JP": ("ja_JP", "EUC-JP")}
AS_IT_COMES: Mapping[str, str] = {}
NO_UTF8_MODE = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
ENVIRONMENTS: list[Mapping[str, str]] = [
    *({"LC_ALL": locale, **python} for locale in LOCALES for python in (AS_IT_COMES, NO_UTF8_MODE)),
    {"LC_ALL": "ja_JP.EUC-JP", "PYTHONUTF8": "1"},
    {"LC_ALL": "ja_JP.EUC-JP", "PYTHONIOENCODING": "ascii:strict"},
]


@pytest.fixture(scope="session")
def locale_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The locales that Debian's package `locales` has only as sources."""
    folder = tmp_path_factory.mktemp("locales")
    if shutil.which("localedef") is None:
        pytest.skip("localedef is not installed")
    for name, (source, charset) in MADE.items():
        made = subprocess.run(
            ["localedef", "-i", source, "-f", charset, folder / name],
            capture_output=True,
            check=False,
        )
        if made.returncode:
            pytest.skip(f"no locale {name} can be made: {made.stderr.decode()}")
    return folder


@pytest.fixture(params=ENVIRONMENTS, ids=lambda environment: " ".join(environment.values()))
def environment(request: pytest.FixtureRequest, locale_path: Path) -> dict[str, str | bytes]:
    """Each locale, with Python set up as sites do."""
    return {"LOCPATH": str(locale_path), **request.param}


@pytest.fixture
def odds(environment: dict[str, str | bytes]) -> list[bytes]:
    """All odd bytes, in an order of this environment's own: what it meets first differs."""
    first = ENVIRONMENTS.index({k: str(v) for k, v in environment.items() if k != "LOCPATH"})
    return ODD[first:] + ODD[:first]


def path_of(*parts: bytes) -> Path:
    """Join bytes to a path."""
    return Path(os.fsdecode(b"/".join(parts)))


@pytest.mark.real
@pytest.mark.parametrize("turn", range(3))
def test_bytes_in_every_position_come_back_as_they_were(
    tmp_path: Path,
    publish: Program,
    environment: dict[str, str | bytes],
    odds: list[bytes],
    turn: int,
) -> None:
    """In the root, the attempt, -saves and SAVE; on stdout, on stderr and in names."""
    in_root, in_attempt, in_save, in_saves = odds[turn * 4 : turn * 4 + 4]
    base = path_of(os.fsencode(tmp_path), b"root " + in_root)
    root = Root(base, publish)
    own = path_of(os.fsencode(base), b"exec", b"att " + in_attempt)
    save, named = own / "checkpoint-5", path_of(os.fsencode(own), b"save " + in_save)
    for folder in (save, named):
        folder.mkdir(parents=True)
    (save / "model.safetensors").write_bytes(b"weights")
    (save / "trainer_state.json").write_text('{"global_step": 5}')
    elsewhere = path_of(os.fsencode(base), in_saves) / "checkpoint-5"
    shutil.copytree(save, elsewhere)

    def run(*arguments: Argument, cwd: Path | None = None) -> Ended:
        identity = {**environment, "DISPATCH_ATTEMPT": b"att " + in_attempt}
        return publish.run(*arguments, "-checkpoint", base, environment=identity, cwd=cwd).well()

    watch = ("watch", "-framework", "hf", "-once")
    run(*watch).says(b"published step 5: " + visible(os.fsencode(save)))
    run("resolve").answers(os.fsencode(save) + b"\n")
    run("publish", named, "6", cwd=base)
    run("publish", b"save " + in_save, "7", cwd=own)
    run("resolve").answers(os.fsencode(named) + b"\n")
    run(*watch, "-saves", elsewhere.parent)
    published = ((5, save), (5, elsewhere), (6, named), (7, named))
    assert root.names() == sorted(
        entry_name(EPOCH, step, os.fsencode(path.relative_to(base))) for step, path in published
    )
    newest = run("log").out.split(b"\n")[0]
    assert newest.endswith(b"latest  " + os.fsencode(named.relative_to(base)))
    document = json.loads(run("resolve", "-json").out)
    assert document["save"].encode("utf-8", "surrogateescape") == os.fsencode(named)
    pruned = {line for line in run("prune", "-keep=2", "-v").out.split(b"\n") if b"folder" in line}
    assert pruned == {b"folder " + os.fsencode(path) for path in (save, elsewhere)}
    assert [path.exists() for path in (save, elsewhere, named)] == [False, False, True]


def visible(path: bytes) -> bytes:
    """Spell a path as a message does: as it is, but for what would disturb a terminal."""
    return b"".join(
        b"\\x%02x" % code if code < ord(" ") or code == ord("\x7f") else bytes([code])
        for code in path
    )


@pytest.mark.real
def test_random_bytes_come_back_as_they_were(
    tmp_path: Path, publish: Program, locale_path: Path, seed: int
) -> None:
    """In the two locales whose text is no UTF-8."""
    chance = random.Random(seed)
    for trial in range(10):
        odd = bytes(chance.choice([*range(1, 47), *range(48, 256)]) for _ in range(12))
        odd = odd.replace(b"\n", b"n")
        base = path_of(os.fsencode(tmp_path), b"%d" % trial + odd)
        save = base / path_of(b"exec", b"a" + odd, b"c" + odd)
        save.mkdir(parents=True)
        for locale in MADE:
            environment = {"LOCPATH": str(locale_path), "LC_ALL": locale}
            publish.run("publish", "-checkpoint", base, save, "1", environment=environment).well()
            ended = publish.run("resolve", "-checkpoint", base, environment=environment)
            ended.well().answers(os.fsencode(save) + b"\n")


@pytest.mark.real
def test_junk_of_any_bytes_is_named(
    root: Root, publish: Program, environment: dict[str, str | bytes], odds: list[bytes]
) -> None:
    """An error, whatever the name is made of."""
    root.pub.mkdir()
    for odd in odds[:3]:
        junk = path_of(os.fsencode(root.pub), odd)
        junk.touch()
        ended = publish.run("resolve", "-checkpoint", root.path, environment=environment)
        ended.ended_with(1).answers("").says("in pub/ is not an entry's name")
        junk.unlink()


@pytest.mark.real
def test_odd_arguments_are_refused_in_words(
    root: Root, publish: Program, environment: dict[str, str | bytes], odds: list[bytes]
) -> None:
    """Commands, flags, numbers and roots that no locale can read."""
    for odd in odds[:2]:
        for arguments in (
            [odd],
            ["resolve", b"-" + odd],
            ["resolve", b"-checkpoint=" + odd],
            ["publish", "-checkpoint", root.path, "x", odd],
            ["prune", "-checkpoint", root.path, b"-keep=" + odd],
            ["watch", "-checkpoint", root.path, b"-framework=" + odd],
            ["watch", "-checkpoint", root.path, "-framework=hf", b"-interval=" + odd],
            ["watch", "-checkpoint", root.path, "-framework=hf", b"-epoch=" + odd],
            ["retract", "-checkpoint", root.path, odd],
        ):
            ended = publish.run(*arguments, environment=environment).ended_with(2).answers("")
            assert ended.err.startswith(b"publish: error: ")
            assert ended.err.count(b"\n") == 1


@pytest.mark.parametrize("locale", ["xx_XX.UTF-8", "de_DE", "", "/", "C.\xe9"])
def test_a_locale_that_there_is_not_changes_nothing(
    root: Root, publish: Program, locale: str
) -> None:
    """As on a node where nobody installed it."""
    save = path_of(os.fsencode(root.path), LATIN)
    save.mkdir()
    environment = {"LC_ALL": locale, "LANG": locale, "LANGUAGE": locale}
    publish.run("publish", "-checkpoint", root.path, save, "1", environment=environment).well()
    ended = publish.run("resolve", "-checkpoint", root.path, environment=environment).well()
    ended.answers(os.fsencode(save) + b"\n")


def test_a_path_with_a_trailing_newline_is_not_taken_for_another(
    root: Root, publish: Program
) -> None:
    """$(...) takes trailing newlines off; so such a path is never published."""
    (root.path / "a").mkdir()
    (root.path / "a\n").mkdir()
    ended = publish.run("publish", "-checkpoint", root.path, root.path / "a\n", "1")
    ended.ended_with(2).says("newline")
    assert root.names() == []
