"""`resolve -verify`, `-fallback`, `-epoch-below` and `-step-at-most`."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.program import EPOCH, Program
from tests.cli.roots import Root

VERIFY = ("-verify", "-framework", "hf")
OLD, NEW = "1.4101.0", "2.4102.0"


@pytest.fixture
def saves(root: Root) -> dict[int, Path]:
    """Four publications: two of an old execution, the higher one late, and two of a newer."""
    made = {}
    for epoch, attempt, step in ((1, OLD, 500), (2, NEW, 100), (2, NEW, 200), (1, OLD, 900)):
        made[step] = root.hf(step, attempt=attempt)
        root.publish(made[step], step, epoch * EPOCH)
    return made


def resolve(root: Root, *flags: str) -> str:
    """Ask, with success; what was answered."""
    return root.program.run("resolve", "-checkpoint", root.path, *flags).well().out.decode()


def test_a_save_that_is_whole_is_the_answer(root: Root, saves: dict[int, Path]) -> None:
    assert resolve(root, *VERIFY) == f"{saves[200]}\n"
    assert resolve(root, *VERIFY, "-fallback") == f"{saves[200]}\n"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "is not there"),
        ("trainer_state.json", "has no trainer_state.json"),
        ("model.safetensors", "holds no weights"),
    ],
)
def test_one_that_is_not_is_named_and_the_status_is_3(
    root: Root, publish: Program, saves: dict[int, Path], name: str, reason: str
) -> None:
    """Nothing on stdout: a script that checks the status doesn't start from scratch."""
    path = saves[200] / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    ended = publish.run("resolve", "-checkpoint", root.path, *VERIFY)
    ended.ended_with(3).answers("").says(f"error: '{saves[200]}': the save {reason}", "-fallback")
    assert resolve(root) == f"{saves[200]}\n"
    ended = publish.run("resolve", "-checkpoint", root.path, *VERIFY, "-fallback")
    ended.well().answers(f"{saves[100]}\n")
    ended.says(f"warning: passed over: {saves[200]}: the save {reason}")
    assert ended.err.count(b"\n") == 1


def test_falling_back_reaches_an_older_execution(root: Root, saves: dict[int, Path]) -> None:
    """By the order of the log: its late save is its greatest."""
    shutil.rmtree(saves[100].parent)
    ended = root.program.run("resolve", "-checkpoint", root.path, *VERIFY, "-fallback").well()
    ended.answers(f"{saves[900]}\n").says(saves[200], saves[100])


def test_where_none_is_left_all_are_named_and_the_status_is_3(
    root: Root, publish: Program, saves: dict[int, Path]
) -> None:
    """Never an empty answer with status 0, which would mean "from scratch"."""
    shutil.rmtree(root.path / "exec")
    ended = publish.run("resolve", "-checkpoint", root.path, *VERIFY, "-fallback")
    ended.ended_with(3).answers("").says("none of 4 publications can be resumed from")
    ended.says(*saves.values())
    assert ended.err.count(b"\n") == 5


@pytest.mark.parametrize(
    ("flags", "step"),
    [
        (("-epoch-below", str(2 * EPOCH)), 900),
        (("-step-at-most", "199"), 100),
        (("-step-at-most", "200"), 200),
        (("-epoch-below", "2000000", "-step-at-most", "899"), 500),
        ((*VERIFY, "-epoch-below", "2000000"), 900),
    ],
)
def test_an_older_point_is_chosen_on_purpose(
    root: Root, saves: dict[int, Path], flags: tuple[str, ...], step: int
) -> None:
    assert resolve(root, *flags) == f"{saves[step]}\n"


def test_bounds_that_admit_nothing_have_status_3(
    root: Root, publish: Program, saves: dict[int, Path]
) -> None:
    ended = publish.run("resolve", "-checkpoint", root.path, "-step-at-most", "99")
    ended.ended_with(3).answers("")
    ended.says("none of 4 publications is of a step of at most 99")


def test_in_an_empty_root_there_is_nothing_to_resume_from(root: Root) -> None:
    """The first start of a job, whatever the flags."""
    flags = (*VERIFY, "-fallback", "-step-at-most", "5", "-epoch-below", "7")
    assert resolve(root, *flags) == ""
    assert json.loads(resolve(root, "-json", *flags)) == {"save": None, "passed_over": []}


def test_programs_are_told_what_was_passed_over(root: Root, saves: dict[int, Path]) -> None:
    """In the one document, and on stderr as it happens."""
    shutil.rmtree(saves[200])
    flags = ("-json", *VERIFY, "-fallback")
    ended = root.program.run("resolve", "-checkpoint", root.path, *flags).well()
    document = json.loads(ended.out)
    assert (document["step"], document["save"]) == (100, str(saves[100]))
    [refused] = document["passed_over"]
    assert (refused["step"], refused["save"]) == (200, str(saves[200]))
    assert refused["entry"] == root.entry(saves[200], 200, 2 * EPOCH).name
    assert refused["reason"] == "is not there"
    [line] = ended.err.splitlines()
    assert json.loads(line)["event"] == "passed-over"
    shutil.rmtree(root.path / "exec")
    ended = root.program.run("resolve", "-checkpoint", root.path, *flags).ended_with(3)
    assert json.loads(ended.err.splitlines()[-1])["kind"] == "none-chosen"
    assert json.loads(resolve(root, "-json", "-epoch-below", "2000000"))["passed_over"] == []


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["-verify"], "-verify needs -framework"),
        (["-framework", "hf"], "-framework needs -verify"),
        (["-fallback"], "-fallback needs -verify"),
        (["-fallback", "-framework", "hf"], "-fallback needs -verify"),
        (["-verify", "-framework", "x"], "framework 'x' is not one of: hf, dcp"),
        (["-epoch-below", "-1"], "-epoch-below '-1' is not a decimal number"),
        (["-step-at-most", "1e3"], "-step-at-most '1e3' is not a decimal number"),
        (["-step-at-most="], "-step-at-most '' is not a decimal number"),
    ],
)
def test_flags_that_mean_nothing_together_are_a_usage_error(
    root: Root, publish: Program, flags: list[str], message: str
) -> None:
    ended = publish.run("resolve", "-checkpoint", root.path, *flags)
    ended.ended_with(2).answers("").says(message)


def test_a_root_that_is_missing_has_status_1_as_ever(root: Root, publish: Program) -> None:
    """3 is for publications that are there."""
    ended = publish.run("resolve", "-checkpoint", root.path / "gone", *VERIFY)
    ended.ended_with(1).says("does not exist")


def test_it_is_a_pure_read(root: Root, saves: dict[int, Path]) -> None:
    """No name comes or goes."""
    shutil.rmtree(saves[200])
    before = sorted(root.path.rglob("*"))
    resolve(root, *VERIFY, "-fallback")
    assert sorted(root.path.rglob("*")) == before
