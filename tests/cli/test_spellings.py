"""How roots and saves may be spelled: what counts is the spelling, from the root on."""

from pathlib import Path

import pytest

from tests.cli.program import EPOCH, Program
from tests.cli.roots import Root, entry_name


def published(root: Root, relative: str | bytes) -> bool:
    """Whether exactly this was published, as step 1."""
    return root.names() == [entry_name(EPOCH, 1, relative)]


def test_a_save_may_be_relative_to_the_working_directory(root: Root, publish: Program) -> None:
    """As in any shell."""
    save = root.hf(1)
    arguments = ("publish", "-checkpoint", root.path, save.name, "1")
    publish.run(*arguments, cwd=root.own()).well().says(save)
    assert published(root, root.relative(save))


@pytest.mark.parametrize("tail", ["/", "//", "/.", "/./", "/trainer/.."])
def test_what_follows_a_save_and_means_nothing_is_dropped(
    root: Root, publish: Program, tail: str
) -> None:
    """A trailing slash is never encoded."""
    save = root.hf(1)
    (save / "trainer").mkdir()
    publish.run("publish", "-checkpoint", root.path, f"{save}{tail}", "1").well()
    assert published(root, root.relative(save))


@pytest.mark.parametrize(
    "spelling",
    [
        "../b/checkpoint-1",
        "../../exec/b/checkpoint-1",
        "./../b/./checkpoint-1",
        "../../../ck/exec/b/checkpoint-1",
    ],
)
def test_dots_are_taken_out(root: Root, publish: Program, spelling: str) -> None:
    """Relative to a folder below the root, through it, and through the folder above it."""
    root.own("a").mkdir(parents=True)
    save = root.hf(1, attempt="b")
    arguments = ("publish", "-checkpoint", root.path, spelling, "1")
    publish.run(*arguments, cwd=root.own("a")).well()
    assert published(root, root.relative(save))


def test_dots_after_a_link_are_refused(root: Root, publish: Program, tmp_path: Path) -> None:
    """The shell's way and the kernel's differ there, so nobody can tell what is meant."""
    elsewhere = tmp_path / "elsewhere/inner"
    elsewhere.mkdir(parents=True)
    (tmp_path / "elsewhere/checkpoint-1").mkdir()
    save = root.hf(1)
    (root.own() / "link").symlink_to(elsewhere)
    ended = publish.run(
        "publish", "-checkpoint", root.path, f"{root.own()}/link/../{save.name}", "1"
    )
    ended.ended_with(2).says("link/../checkpoint-1")
    assert root.names() == []


def test_a_root_spelled_through_a_link_is_the_same_root(
    root: Root, publish: Program, tmp_path: Path
) -> None:
    """Any mixture: root and save by the link, by the path, by dots."""
    save = root.hf(1)
    link = tmp_path / "link"
    link.symlink_to(root.path)
    above = tmp_path / "above"
    above.symlink_to(tmp_path)
    relative = root.relative(save)
    for as_root in (root.path, link, above / "ck", above / "link", tmp_path / "x/../ck"):
        (tmp_path / "x").mkdir(exist_ok=True)
        for as_save in (save, link / relative, above / "link" / relative):
            publish.run("publish", "-checkpoint", as_root, as_save, "1").well()
            assert published(root, relative)


def test_a_link_below_the_root_stays_as_it_is_spelled(
    root: Root, publish: Program, tmp_path: Path
) -> None:
    """Also one that leads back to the root, or out of it and in again."""
    save = root.hf(1)
    (root.path / "loop").symlink_to(root.path)
    (root.path / "exec/best").symlink_to(save)
    for spelling in (f"loop/{root.relative(save)}", "exec/best"):
        publish.run("publish", "-checkpoint", root.path, root.path / spelling, "1").well()
        assert published(root, spelling)
        root.assert_resolves_to(root.path / spelling)
        (root.pub / root.names()[0]).unlink()


def test_the_working_directory_is_spelled_as_the_shell_does(
    root: Root, publish: Program, tmp_path: Path
) -> None:
    """$PWD counts where it is right, so a link in it below the root stays."""
    save = root.hf(1)
    (root.path / "exec/current").symlink_to(root.own())
    shell = f'cd "{root.path}/exec/current" && publish publish -checkpoint {root} {save.name} 1'
    publish.in_bash(shell).well()
    assert published(root, f"exec/current/{save.name}")
    (root.pub / root.names()[0]).unlink()
    for wrong in ("/", "/nowhere", "relative", "", str(tmp_path / "file" / "x"), "a\nb"):
        arguments = ("publish", "-checkpoint", root.path, save.name, "1")
        publish.run(*arguments, cwd=root.path / "exec/current", environment={"PWD": wrong}).well()
        assert published(root, root.relative(save))


def test_a_working_directory_reached_from_outside_by_a_link_will_do(
    root: Root, publish: Program, tmp_path: Path
) -> None:
    """What follows the first ancestor that is the root itself is what counts."""
    save = root.hf(1)
    outside = tmp_path / "shortcut"
    outside.symlink_to(root.own())
    by_shell = publish.in_bash(
        f'cd "{outside}" && publish publish -checkpoint {root} {save.name} 1'
    )
    # Spelled through the shortcut the save never passes the root: the shell's spelling counts.
    by_shell.ended_with(2).says(outside / save.name, "not below the checkpoint root")
    publish.run("publish", "-checkpoint", root.path, save.name, "1", cwd=outside).well()
    assert published(root, root.relative(save))


@pytest.mark.parametrize(
    "spelling", ["{tmp}/other", "/", "{tmp}", "{tmp}/ck2/x", "other", "s3://b/k"]
)
def test_a_save_outside_the_root_is_refused(
    root: Root, publish: Program, tmp_path: Path, spelling: str
) -> None:
    """With both paths, before anything is written."""
    (tmp_path / "other").mkdir()
    (tmp_path / "ck2/x").mkdir(parents=True)
    shown = spelling.format(tmp=tmp_path)
    ended = publish.run("publish", "-checkpoint", root.path, shown, "1", cwd=tmp_path)
    ended.ended_with(2).says(shown, root.path, "not below the checkpoint root")
    assert list(root.path.iterdir()) == []


@pytest.mark.parametrize("relative", ["", "/", "pub", "pub/x", "runs", "runs/1", "exec/../pub"])
def test_the_root_and_its_own_folders_are_no_saves(
    root: Root, publish: Program, relative: str
) -> None:
    """However they are spelled."""
    for name in ("pub/x", "runs/1", "exec"):
        (root.path / name).mkdir(parents=True)
    ended = publish.run("publish", "-checkpoint", root.path, f"{root}/{relative}", "1")
    ended.ended_with(2)
    assert root.names() == ["x"]


def test_a_save_with_a_newline_is_refused(root: Root, publish: Program) -> None:
    """A shell could not take it back; any other character will do."""
    odd = root.path / "a\nb"
    odd.mkdir()
    publish.run("publish", "-checkpoint", root.path, odd, "1").ended_with(2).says("newline")
    assert root.names() == []
    other = root.path / "a b\t'\"\\$(c)\x1b*"
    other.mkdir()
    root.publish(other, 1)
    root.assert_resolves_to(other)


def test_a_save_may_be_a_file(root: Root, publish: Program) -> None:
    """Some frameworks write one file."""
    save = root.path / "exec/model.ckpt"
    save.parent.mkdir()
    save.write_bytes(b"weights")
    root.publish(save, 1)
    root.assert_resolves_to(save)


def test_a_save_that_is_not_there_is_never_published(root: Root, publish: Program) -> None:
    """A typo must not become the latest publication."""
    missing = root.own() / "checkpoint-1"
    for attempt in range(2):
        ended = publish.run("publish", "-checkpoint", root.path, missing, "1")
        ended.ended_with(1).answers("").says(missing, "no save")
        assert not root.pub.exists(), attempt
        missing.parent.mkdir(parents=True, exist_ok=True)


@pytest.mark.parametrize("spelling", ["ck", "./ck", "../x", "~/ck", "ck/", "file:///ck"])
@pytest.mark.parametrize("command", ["resolve", "log"])
def test_a_relative_root_is_refused(
    root: Root, publish: Program, tmp_path: Path, command: str, spelling: str
) -> None:
    """A job's working directory isn't a person's."""
    ended = publish.run(command, "-checkpoint", spelling, cwd=tmp_path)
    ended.ended_with(2).answers("").says(repr(spelling), "not absolute")


@pytest.mark.parametrize("spelling", ["", "\n", "/tmp/a\nb"])
def test_a_root_that_is_no_path_is_refused(publish: Program, spelling: str) -> None:
    """An empty variable most of all."""
    publish.run("resolve", "-checkpoint", spelling).ended_with(2).answers("")
    publish.run("resolve", f"-checkpoint={spelling}").ended_with(2).answers("")


@pytest.mark.parametrize("spelling", ["s3:", "s3://", "s3://x", "s3://bucket//a", "s3:/bucket"])
@pytest.mark.parametrize(
    "arguments",
    [["resolve"], ["log"], ["prune", "-keep=1"], ["watch", "-framework=hf"], ["publish", "x", "1"]],
)
def test_a_root_that_is_no_bucket_is_refused(
    publish: Program, arguments: list[str], spelling: str
) -> None:
    """As usage, and never taken for a folder; a program without the extra says what it needs."""
    publish.run(*arguments, "-checkpoint", spelling).ended_with(2).answers("").says(spelling)


def test_saves_elsewhere_below_the_root_are_watched_with_a_warning(
    root: Root, publish: Program
) -> None:
    """Another execution may write there too; a folder inside one's own needs no warning."""
    elsewhere = root.path / "shared/checkpoint-1"
    elsewhere.mkdir(parents=True)
    (elsewhere / "model.safetensors").write_bytes(b"weights")
    (elsewhere / "trainer_state.json").write_text('{"global_step": 1}')
    watch = ("watch", "-checkpoint", root.path, "-framework", "hf", "-once", "-saves")
    ended = publish.run(*watch, "shared", cwd=root.path).well()
    ended.says("publish: warning: ", "shared", "another execution may write there too")
    assert published(root, "shared/checkpoint-1")
    inner = root.own() / "trainer/checkpoint-2"
    inner.mkdir(parents=True)
    (inner / "model.safetensors").write_bytes(b"weights")
    (inner / "trainer_state.json").write_text('{"global_step": 2}')
    assert b"warning" not in publish.run(*watch, inner.parent).well().err
    assert root.published_steps() == [1, 2]


@pytest.mark.parametrize("folder", ["", "pub", "runs", "pub/x", "runs/x"])
def test_saves_are_never_looked_for_in_the_roots_own_folders(
    root: Root, publish: Program, folder: str
) -> None:
    """Nor in the root itself."""
    watch = ("watch", "-checkpoint", root.path, "-framework", "hf", "-once", "-saves")
    publish.run(*watch, f"{root}/{folder}").ended_with(2)
    publish.run(*watch, "/elsewhere").ended_with(2).says("/elsewhere", "not below")
