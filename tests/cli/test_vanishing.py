"""Folders, markers and roots that come, go and change while the program looks."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from tests.cli.injection import calls, injecting
from tests.cli.mounts import Mounts
from tests.cli.program import Ended, Program
from tests.cli.roots import Root

LOOKING = "openat,newfstatat,getdents64"


@pytest.mark.real
@pytest.mark.parametrize("error", ["ENOENT", "ENOTDIR", "ELOOP"])
def test_what_is_gone_at_any_look_of_a_scan_is_passed_over(
    root: Root, publish: Program, tmp_path: Path, error: str
) -> None:
    """Each look below the execution's folder fails once, as if it had been removed just then."""
    root.hf(5)
    once = ("watch", "-framework", "hf", "-once", "-checkpoint")
    found = calls(publish, tmp_path / "trace", LOOKING, *once, root.path)
    looks = {
        (name, line.split('"')[1])
        for name, _, line in found
        if '"exec/1.4101.0' in line and "ENOENT" not in line
    }
    assert len(looks) >= 4
    for place, (name, path) in enumerate(sorted(looks)):
        each = Root(tmp_path / f"root{place}", publish)
        save = each.hf(5)
        publish.run(*once, each.path, prefix=injecting(name, f"error={error}", path)).well()
        publish.run(*once, each.path).well()
        assert each.names() == [each.entry(save, 5).name]


def test_saves_that_come_and_go_all_the_time_disturb_nobody(root: Root, seed: int) -> None:
    """Written, rewritten, renamed, replaced and removed under two watches."""
    chance = random.Random(seed)
    watches = [root.watch(), root.watch()]
    root.let_a_scan_pass(watches[0], 1)
    for step in range(2, 400):
        save = root.hf(step)
        match chance.randrange(6):
            case 0:
                shutil.rmtree(save)
            case 1:
                (save / "trainer_state.json").unlink()
            case 2:
                save.rename(root.own() / f"checkpoint-{step}-old")
            case 3:
                shutil.rmtree(save)
                save.write_bytes(b"a file")
            case 4:
                (save / "trainer_state.json").write_text("{")
            case _:
                pass
    for watch in watches:
        root.let_a_scan_pass(watch, 400)
        ended = watch.end().well()
        assert b"error" not in ended.err, f"seed {seed}"
    published = root.published_steps()
    whole = {
        int(path.parent.name.split("-")[1])
        for path in root.own().glob("checkpoint-*/trainer_state.json")
        if path.read_text() != "{" and not path.parent.name.endswith("-old")
    }
    assert whole <= set(published)


def test_a_published_save_that_disappears_is_warned_of_once(root: Root) -> None:
    """With the likely cause; what a prune took is no such thing."""
    watch = root.watch()
    first = root.let_a_scan_pass(watch, 1)
    second = root.let_a_scan_pass(watch, 2)
    shutil.rmtree(first)
    watch.wait_until_said("published save is gone")
    root.entry(second, 2).unlink()  # a prune removes the entry first
    shutil.rmtree(second)
    root.let_a_scan_pass(watch, 3)
    root.let_a_scan_pass(watch, 4)
    ended = watch.end().well()
    assert ended.err.count(b"published save is gone") == 1
    ended.says(f"gone: {first}", "save_total_limit")


def test_a_save_that_is_retracted_is_not_published_again(root: Root, publish: Program) -> None:
    """Not by the watch that published it."""
    watch = root.watch()
    save = root.let_a_scan_pass(watch, 1)
    publish.run("retract", "-checkpoint", root.path, "-yes", root.names()[0]).well()
    root.let_a_scan_pass(watch, 2)
    root.let_a_scan_pass(watch, 3)
    watch.end().well()
    assert save.exists()
    assert root.published_steps() == [2, 3]


def test_a_root_that_is_removed_ends_the_watch(root: Root) -> None:
    """Named as missing."""
    watch = root.watch()
    root.let_a_scan_pass(watch, 1)
    root.path.rename(root.path.with_name("moved"))
    watch.wait().ended_with(1).says(root.path, "does not exist")


def test_a_root_that_is_replaced_ends_the_watch(root: Root) -> None:
    """Another folder of the same name is another root; nothing is written to either."""
    watch = root.watch()
    root.let_a_scan_pass(watch, 1)
    watch.send(signal.SIGSTOP)
    moved = root.path.rename(root.path.with_name("moved"))
    root.path.mkdir()
    root.hf(2)
    watch.send(signal.SIGCONT)
    watch.wait().ended_with(1).says(root.path, "no longer the folder it was")
    assert root.names() == []
    assert len(list((moved / "pub").iterdir())) == 1


@pytest.mark.real
@pytest.mark.root
def test_a_file_system_mounted_over_the_root_ends_the_watch(root: Root, mounts: Mounts) -> None:
    """Saves would go to one of them, publications to the other."""
    watch = root.watch()
    root.let_a_scan_pass(watch, 1)
    mounts.tmpfs("size=1m", root.path)
    ended = watch.wait().ended_with(1)
    ended.says(root.path, "no longer the folder it was", "Another file system was mounted")
    assert list(root.path.iterdir()) == []


@pytest.mark.real
@pytest.mark.root
def test_a_file_system_unmounted_from_the_root_ends_the_watch(
    mounts: Mounts, publish: Program
) -> None:
    """What is below it is an empty folder, and not the root."""
    root = Root(mounts.tmpfs("size=1m"), publish)
    watch = root.watch()
    root.let_a_scan_pass(watch, 1)
    mounts.unmount_last()
    watch.wait().ended_with(1).says(root.path, "no longer the folder it was")
    assert list(root.path.iterdir()) == []


@pytest.mark.real
@pytest.mark.root
def test_a_prune_never_crosses_into_another_mount(
    root: Root, mounts: Mounts, tmp_path: Path
) -> None:
    """Neither another file system nor another place of the same one; left by rule, status 0."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    saves = [root.hf(step) for step in (1, 2, 3, 4)]
    for step, save in enumerate(saves, start=1):
        (save / "inner").mkdir()
        root.publish(save, step)
    mounts.tmpfs("size=1m", saves[0] / "inner")
    (saves[0] / "inner/precious").touch()
    mounts.bind(elsewhere, saves[1] / "inner")
    ended = root.prune(1, "-v").well()
    for save in saves[:2]:
        ended.says(f"publish: left {save}: another file system is mounted in it")
        assert (save / "inner/precious").exists()
        assert (save / "trainer_state.json").exists()
    assert ended.out.splitlines()[-1] == b"folder " + os.fsencode(saves[2])
    assert root.published_steps() == [4]


def test_entries_that_come_and_go_never_make_an_answer_wrong(
    root: Root, publish: Program, seed: int
) -> None:
    """While one process publishes upwards and prunes, resolve names the latest or a later one."""
    chance = random.Random(seed)
    for step in range(1, 200):
        root.write_entry(f"exec/a/checkpoint-{step}", step)
    latest = step = 199
    process = publish.start("resolve", "-checkpoint", root.path)
    answers: list[tuple[int, Ended]] = []
    while len(answers) < 30:
        step += 1
        root.write_entry(f"exec/a/checkpoint-{step}", step)
        if step % 2:
            (root.pub / root.names()[0]).unlink()
        if chance.random() < 0.1:  # in bursts: without a rest there may be no answer at all
            time.sleep(chance.random() * 0.02)
        if not process.is_running():
            answers.append((latest, process.wait()))
            latest = step
            process = publish.start("resolve", "-checkpoint", root.path)
    process.wait()
    for floor, ended in answers:
        if ended.status:
            ended.ended_with(1).says("changed during each of 10 listings")
        else:
            assert int(ended.out.rsplit(b"-", 1)[1]) >= floor, f"seed {seed}"
    assert any(ended.status == 0 for _, ended in answers), f"seed {seed}"


def test_a_working_directory_that_is_gone_matters_to_relative_paths_alone(
    root: Root, publish: Program, tmp_path: Path
) -> None:
    """A shell can stand in a folder that somebody removed."""
    save = root.hf(1)
    gone = tmp_path / "gone"
    inside = f'mkdir "{gone}" && cd "{gone}" && rmdir "{gone}" && '
    publish.in_bash(f"{inside} publish publish -checkpoint {root} {save} 1").well()
    publish.in_bash(f"{inside} publish resolve -checkpoint {root}").well().answers(f"{save}\n")
    own = save.parent
    publish.in_bash(
        f"{inside} publish watch -checkpoint {root} -framework hf -once -saves {own}"
    ).well()
    for command in (
        f"publish -checkpoint {root} checkpoint-1 1",
        f"watch -checkpoint {root} -framework hf -once -saves saves",
    ):
        ended = publish.in_bash(f"{inside} publish {command}").ended_with(2)
        ended.says("working directory no longer exists")
    publish.in_bash(f"{inside} publish resolve -checkpoint ck").ended_with(2).says("not absolute")
    assert root.published_steps() == [1]
