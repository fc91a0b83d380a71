"""Roots that can't be written, and folders that can't be read."""

import os
from pathlib import Path

import pytest

from tests.cli.mounts import Mounts
from tests.cli.program import Program
from tests.cli.roots import Root


@pytest.fixture
def theirs(open_folder: Path, publish: Program) -> Root:
    """A root that belongs to us, with one publication, seen by somebody else."""
    root = Root(open_folder / "ck", publish)
    root.publish(root.hf(1), 1)
    root.hf(2)
    return root


def close_to_writing(root: Root) -> None:
    """Take away the permission to write, everywhere below a root."""
    for folder, _, _ in os.walk(root.path, topdown=False):
        Path(folder).chmod(0o555)


@pytest.fixture
def open_again(open_folder: Path) -> object:
    """Let the folder be removed whatever a test did to its permissions."""
    yield
    for folder, _, _ in os.walk(open_folder):
        Path(folder).chmod(0o755)


def check_reading_works_and_writing_says_why(root: Root, program: Program, why: str) -> None:
    """Try every command."""
    saves = [root.own() / f"checkpoint-{step}" for step in (1, 2)]
    names = root.names()
    at_root = ("-checkpoint", root.path)
    program.run("resolve", *at_root).well().answers(f"{saves[0]}\n")
    assert program.run("log", *at_root).well().out.endswith(b"checkpoint-1\n")
    program.run("prune", *at_root, "-keep", "1", "-dry-run").well()
    for arguments in (
        ("publish", saves[1], "2"),
        ("watch", "-framework", "hf", "-once"),
        ("retract", "-yes", names[0]),
    ):
        ended = program.run(*arguments, *at_root).ended_with(1).answers("")
        ended.says(why, root.pub)
    assert root.names() == names


@pytest.mark.real
@pytest.mark.root
def test_a_root_mounted_read_only_can_be_read(
    theirs: Root, publish: Program, mounts: Mounts
) -> None:
    """Whatever writes says what is wrong, and where."""
    read_only = Root(mounts.read_only(theirs.path), publish)
    check_reading_works_and_writing_says_why(read_only, publish, "EROFS (read-only file system)")


@pytest.mark.real
def test_a_root_of_somebody_else_can_be_read(
    theirs: Root, unprivileged: Program, open_again: object
) -> None:
    """Without any permission to write."""
    close_to_writing(theirs)
    check_reading_works_and_writing_says_why(theirs, unprivileged, "EACCES (permission denied)")


@pytest.mark.real
def test_a_first_publication_needs_to_write_the_root(
    open_folder: Path, publish: Program, unprivileged: Program, open_again: object
) -> None:
    """It says so when it may not make pub/, and that nothing is published is no error."""
    root = Root(open_folder / "ck", publish)
    save = root.hf(1)
    close_to_writing(root)
    unprivileged.run("resolve", "-checkpoint", root.path).well().answers("")
    ended = unprivileged.run("publish", "-checkpoint", root.path, save, "1")
    ended.ended_with(1).says("creating", root.pub, "EACCES", "owner and the mode")


@pytest.mark.real
def test_prune_in_somebody_elses_root_removes_nothing(
    theirs: Root, unprivileged: Program, open_again: object
) -> None:
    """It fails before any folder is touched."""
    theirs.publish(theirs.own() / "checkpoint-2", 2)
    close_to_writing(theirs)
    ended = unprivileged.run("prune", "-checkpoint", theirs.path, "-keep", "1")
    ended.ended_with(1).answers("").says("EACCES", theirs.pub)
    assert theirs.published_steps() == [1, 2]
    assert (theirs.own() / "checkpoint-1/trainer_state.json").exists()


@pytest.mark.real
def test_a_save_in_a_folder_that_may_not_be_changed_is_left_with_status_1(
    theirs: Root, unprivileged: Program, open_again: object
) -> None:
    """Its entry may go, its folder stays whole, and the rest goes on."""
    theirs.publish(theirs.own() / "checkpoint-2", 2)
    newest = theirs.hf(3, attempt="newest")
    theirs.publish(newest, 3)
    theirs.pub.chmod(0o777)
    movable = theirs.hf(1, attempt="open")
    theirs.publish(movable, 1, epoch=1)
    for folder in (movable.parent, movable):
        folder.chmod(0o777)
    theirs.own().chmod(0o555)
    ended = unprivileged.run("prune", "-checkpoint", theirs.path, "-keep", "1", "-v")
    ended.ended_with(1).says("publish: error: left", "checkpoint-1", "checkpoint-2", "EACCES")
    assert ended.out.splitlines()[-1] == b"folder " + os.fsencode(movable)
    assert theirs.published_steps() == [3]
    for step in (1, 2):
        assert len(list((theirs.own() / f"checkpoint-{step}").iterdir())) == 2


CLOSED = ["", "pub", "exec", "exec/1.4101.0", "exec/1.4101.0/checkpoint-2"]


@pytest.mark.real
@pytest.mark.parametrize("closed", CLOSED)
def test_a_folder_that_may_not_be_read_is_an_error_never_an_empty_one(
    theirs: Root, unprivileged: Program, open_again: object, closed: str
) -> None:
    """Least of all: nothing is published."""
    (theirs.path / closed).chmod(0o000)
    at_root = ("-checkpoint", theirs.path)
    is_of_the_log = closed in {"", "pub"}
    resolved = unprivileged.run("resolve", *at_root)
    if is_of_the_log:
        resolved.ended_with(1).answers("").says("EACCES", theirs.path / closed)
    else:
        resolved.well()
    watched = unprivileged.run("watch", *at_root, "-framework", "hf", "-once")
    watched.ended_with(1).answers("").says("EACCES", theirs.path / closed)


@pytest.mark.real
@pytest.mark.parametrize("marker", ["trainer_state.json", ".metadata"])
def test_a_marker_that_may_not_be_read(
    theirs: Root, unprivileged: Program, open_again: object, marker: str
) -> None:
    """It has to be read, so that is an error."""
    theirs.path.chmod(0o777)
    theirs.pub.chmod(0o777)
    save = theirs.hf(3) if marker == "trainer_state.json" else theirs.dcp(3)
    (save / marker).chmod(0o000)
    framework = "hf" if marker == "trainer_state.json" else "dcp"
    flags = ("-checkpoint", theirs.path, "-framework", framework, "-once")
    unprivileged.run("watch", *flags).ended_with(1).says("EACCES", save / marker)


@pytest.mark.real
def test_a_path_to_the_root_that_may_not_be_walked_is_an_error(
    theirs: Root, unprivileged: Program, open_again: object
) -> None:
    """Told apart from a root that is not there."""
    above = theirs.path.parent / "above"
    above.mkdir()
    theirs.path.rename(above / "ck")
    above.chmod(0o000)
    ended = unprivileged.run("resolve", "-checkpoint", above / "ck")
    ended.ended_with(1).answers("").says("EACCES", above / "ck")
