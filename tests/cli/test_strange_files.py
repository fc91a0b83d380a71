"""Files, links, FIFOs, sockets and devices where folders, markers and entries should be."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.program import EPOCH, Program
from tests.cli.roots import Root, entry_name


def a_file(path: Path) -> None:
    """Make a regular file."""
    path.write_bytes(b"not a folder")


def a_fifo(path: Path) -> None:
    """Make a pipe that nobody writes to: opening it blocks."""
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    """Make a socket that nobody listens at."""
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's address has room for 108 bytes
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(path.name)
    finally:
        os.chdir(here)


def a_device(path: Path) -> None:
    """Make an endless /dev/zero."""
    if os.geteuid() != 0:
        pytest.skip("only root can make devices")
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))


def a_link_to_a_device(path: Path) -> None:
    """Make a link to an endless file."""
    path.symlink_to("/dev/zero")


def a_link_to_nothing(path: Path) -> None:
    """Make a link whose target is gone."""
    path.symlink_to("nothing/there")


def a_link_to_itself(path: Path) -> None:
    """Make a link that leads nowhere for ever."""
    path.symlink_to(path.name)


def a_link_to_a_fifo(path: Path) -> None:
    """Make a link to a pipe that nobody writes to."""
    pipe = path.parents[2] / f"pipe-{os.urandom(8).hex()}"
    os.mkfifo(pipe)
    path.symlink_to(pipe)


def a_folder(path: Path) -> None:
    """Make a folder with something in it."""
    path.mkdir()
    (path / "inside").touch()


Maker = Callable[[Path], None]
LINKS_TO_NOTHING: list[Maker] = [a_link_to_nothing, a_link_to_itself]
STRANGE: list[Maker] = [
    a_file, a_fifo, a_socket, a_device, a_link_to_a_device, a_link_to_a_fifo, *LINKS_TO_NOTHING,
]  # fmt: skip


@pytest.fixture(params=STRANGE, ids=lambda maker: maker.__name__)
def strange(request: pytest.FixtureRequest) -> Maker:
    """Each kind of thing that is no folder."""
    maker: Maker = request.param
    return maker


def test_the_root(publish: Program, tmp_path: Path, strange: Maker) -> None:
    """An error that names it; nothing is waited for."""
    place = tmp_path / "ck"
    strange(place)
    for arguments in (("resolve",), ("watch", "-framework", "hf")):
        ended = publish.run(*arguments, "-checkpoint", place).ended_with(1).answers("")
        ended.says(place)


def test_pub(root: Root, publish: Program, strange: Maker) -> None:
    """An error that names it, never: nothing is published."""
    save = root.hf(1)
    strange(root.pub)
    before = root.pub.lstat().st_ino
    for arguments in (("resolve",), ("log",), ("publish", save, "1"), ("prune", "-keep", "1")):
        ended = publish.run(*arguments, "-checkpoint", root.path).ended_with(1).answers("")
        ended.says(root.pub)
    assert root.pub.lstat().st_ino == before


@pytest.mark.parametrize("place", ["exec", "exec/1.4101.0"])
def test_a_folder_above_the_saves(root: Root, strange: Maker, place: str) -> None:
    """Nothing to publish there, so far: the watch goes on, and finds a folder that comes."""
    (root.path / place).parent.mkdir(exist_ok=True)
    strange(root.path / place)
    watch = root.watch()
    watch.wait_until_it_handles_signals()
    elsewhere = root.watch("-saves", f"{root}/elsewhere", attempt="other")
    seen = root.path / "elsewhere/checkpoint-1"
    seen.mkdir(parents=True)
    (seen / "model.safetensors").write_bytes(b"weights")
    (seen / "trainer_state.json").write_text('{"global_step": 1}')
    root.wait_until_published(seen, 1, elsewhere)
    assert watch.is_running()
    (root.path / place).unlink()
    root.let_a_scan_pass(watch, 2)
    watch.end().well()
    elsewhere.end().well()


def test_a_save(root: Root, publish: Program, strange: Maker) -> None:
    """No framework's save, so the watch passes it over; by hand only a file can be one."""
    place = root.own() / "checkpoint-5"
    place.parent.mkdir(parents=True)
    strange(place)
    watch = root.watch()
    root.let_a_scan_pass(watch, 6)
    watch.end().well()
    assert root.published_steps() == [6]
    ended = publish.run("publish", "-checkpoint", root.path, place, "5")
    if strange is a_file:
        ended.well()
    else:
        ended.ended_with(1).says(place, "no save")
        assert root.published_steps() == [6]


@pytest.mark.parametrize("framework", ["hf", "dcp"])
def test_a_marker(root: Root, strange: Maker, framework: str) -> None:
    """Not complete yet, whatever stands in its place, and never opened for ever."""
    save = root.hf(5) if framework == "hf" else root.dcp(5)
    marker = save / ("trainer_state.json" if framework == "hf" else ".metadata")
    marker.unlink()
    strange(marker)
    is_complete = framework == "dcp" and strange is a_file
    watch = root.watch(framework=framework)
    root.let_a_scan_pass(watch, 6, framework)
    watch.end().well()
    assert root.published_steps() == ([5, 6] if is_complete else [6])


def test_a_marker_that_is_a_folder(root: Root) -> None:
    """Not complete."""
    save = root.hf(5)
    (save / "trainer_state.json").unlink()
    a_folder(save / "trainer_state.json")
    watch = root.watch()
    root.let_a_scan_pass(watch, 6)
    watch.end().well()
    assert root.published_steps() == [6]


def test_the_mark_of_an_unfinished_save(root: Root, strange: Maker) -> None:
    """Whatever bears its name, the save isn't complete."""
    save = root.hf(5)
    strange(save / "checkpoint-is-incomplete.txt")
    watch = root.watch()
    root.let_a_scan_pass(watch, 6)
    assert root.published_steps() == [6]
    (save / "checkpoint-is-incomplete.txt").unlink()
    root.wait_until_published(save, 5, watch)
    watch.end().well()


def test_a_stray_thing_in_pub(root: Root, publish: Program, strange: Maker) -> None:
    """Named in the error, whatever it is."""
    root.publish(root.hf(1), 1)
    strange(root.pub / "junk")
    publish.run("resolve", "-checkpoint", root.path).ended_with(1).answers("").says("junk")


def test_an_entry_that_is_no_file(root: Root, publish: Program, strange: Maker) -> None:
    """Its name is all there is to it: it is listed, pruned, and counts as published."""
    save, newest = root.hf(1), root.hf(2)
    root.pub.mkdir()
    strange(root.entry(save, 1))
    root.assert_resolves_to(save)
    root.publish(save, 1).says("already published")
    publish.run("log", "-checkpoint", root.path).well()
    root.publish(newest, 2)
    root.prune(1).well()
    assert root.published_steps() == [2]


def test_an_entry_that_is_a_folder_cannot_be_pruned(root: Root, publish: Program) -> None:
    """It is an error that names it, before any save is touched."""
    save, newest = root.hf(1), root.hf(2)
    root.pub.mkdir()
    a_folder(root.entry(save, 1))
    root.publish(newest, 2)
    root.prune(1).ended_with(1).says(root.entry(save, 1).name)
    assert save.exists()
    root.assert_resolves_to(newest)


def test_what_stands_in_a_save_is_deleted_with_it(root: Root, strange: Maker) -> None:
    """Links are not followed, pipes not opened, devices not read."""
    old, newest = root.hf(1), root.hf(2)
    strange(old / "odd")
    root.publish(old, 1)
    root.publish(newest, 2)
    root.prune(1).well()
    assert list(root.own().iterdir()) == [newest]


def test_with_sync_strange_files_in_a_save_are_left_alone(root: Root, strange: Maker) -> None:
    """They can't be synced, and opening one could take for ever."""
    save = root.hf(1)
    strange(save / "odd")
    watch = root.watch("-sync")
    root.wait_until_published(save, 1, watch)
    watch.end().well()


@pytest.mark.parametrize("link", LINKS_TO_NOTHING, ids=lambda maker: maker.__name__)
def test_a_link_to_nothing_beside_the_root_changes_nothing(
    root: Root, publish: Program, link: Maker
) -> None:
    """Unknown names directly under the root are somebody else's."""
    for name in ("latest", "exec.old"):
        link(root.path / name)
    save = root.hf(1)
    root.publish(save, 1)
    root.assert_resolves_to(save)
    root.prune(1).well()


@pytest.mark.parametrize("link", LINKS_TO_NOTHING, ids=lambda maker: maker.__name__)
def test_without_the_claims_that_a_link_leads_to_nothing_is_removed(
    root: Root, publish: Program, link: Maker
) -> None:
    """They may not be mounted here: who is loading what can't be told."""
    link(root.path / "runs")
    for step in (1, 2):
        root.publish(root.hf(step), step)
    root.assert_resolves_to(root.own() / "checkpoint-2")
    root.prune(1).ended_with(1).says(root.path / "runs")
    assert root.published_steps() == [1, 2]


def test_pub_may_be_a_link_to_a_folder(root: Root, tmp_path: Path) -> None:
    """Somebody put the log on other storage; then it must be there."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    root.pub.symlink_to(elsewhere)
    save = root.hf(1)
    root.publish(save, 1)
    root.assert_resolves_to(save)
    assert [path.name for path in elsewhere.iterdir()] == [
        entry_name(EPOCH, 1, root.relative(save))
    ]


def test_a_save_may_be_a_link_to_a_save(root: Root, tmp_path: Path) -> None:
    """Written on fast storage, say; it is published under the link's name."""
    real = root.hf(5)
    moved = real.rename(tmp_path / "checkpoint-5")
    real.symlink_to(moved)
    watch = root.watch()
    root.wait_until_published(real, 5, watch)
    watch.end().well()
    root.assert_resolves_to(real)
