"""`-json`: one document on stdout, one object on each line of stderr, whatever happens."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import EPOCH, Argument, Ended, Program
from tests.cli.roots import Root

Json = Any


def messages(ended: Ended) -> list[dict[str, Json]]:
    """Read stderr, every line of it."""
    assert not ended.err or ended.err.endswith(b"\n")
    found = [json.loads(line) for line in ended.err.splitlines()]
    for message in found:
        assert isinstance(message["message"], str)
        assert message["level"] in {"info", "warning", "error"}
    return found


def document(ended: Ended) -> Json:
    """Read stdout, one document on one line."""
    assert ended.out.count(b"\n") == 1
    assert ended.out.endswith(b"\n")
    return json.loads(ended.out)


def described(root: Root, save: Path, step: int) -> dict[str, Json]:
    """Say what a document holds about one publication."""
    return {
        "entry": root.entry(save, step).name,
        "epoch": EPOCH,
        "step": step,
        "save": str(save),
    }


def test_resolve_answers_the_publication_or_null(root: Root, publish: Program) -> None:
    """A document either way."""
    arguments = ("resolve", "-json", "-checkpoint", root.path)
    assert document(publish.run(*arguments).well()) == {"save": None}
    save = root.hf(5)
    root.publish(save, 5)
    ended = publish.run(*arguments).well()
    assert document(ended) == described(root, save, 5)
    assert ended.err == b""


def test_publish_answers_whether_it_created_the_entry(root: Root, publish: Program) -> None:
    """And tells the same on stderr, as an event."""
    save = root.hf(5)
    for created, event in ((True, "published"), (False, "already-published")):
        ended = publish.run("publish", "-json", "-checkpoint", root.path, save, "5").well()
        assert document(ended) == {"created": created, **described(root, save, 5)}
        [message] = messages(ended)
        assert message["event"] == event
        assert message["level"] == "info"
        assert message["save"] == str(save)


def test_watch_once_answers_what_it_published(root: Root, publish: Program) -> None:
    """Ascending, and an empty list for nothing."""
    saves = [root.hf(step) for step in (9, 10)]
    arguments = ("watch", "-json", "-once", "-checkpoint", root.path, "-framework", "hf")
    ended = publish.run(*arguments).well()
    assert document(ended) == [
        described(root, save, step) for step, save in zip((9, 10), saves, strict=True)
    ]
    assert [message["event"] for message in messages(ended)] == ["published", "published"]
    assert document(publish.run(*arguments).well()) == []


def test_log_answers_a_list_newest_first(root: Root, publish: Program) -> None:
    """With the marks as booleans and the date as a number."""
    arguments = ("log", "-json", "-checkpoint", root.path)
    assert document(publish.run(*arguments).well()) == []
    old, new = root.hf(50), root.hf(5, attempt="newer")
    root.publish(old, 50, EPOCH - 1)
    root.publish(new, 5)
    first, second = document(publish.run(*arguments).well())
    written = pytest.approx(root.entry(new, 5).stat().st_mtime)
    assert first == {
        **described(root, new, 5), "latest": True, "outranked": False, "written": written,
    }  # fmt: skip
    assert (second["step"], second["latest"], second["outranked"]) == (50, False, True)


def test_prune_answers_what_it_removed_and_left(root: Root, publish: Program) -> None:
    """The same for a dry run, but for its mark."""
    old, linked, new = root.hf(1), root.own("b"), root.hf(3)
    linked.symlink_to(root.own())
    root.publish(old, 1)
    root.publish(linked / old.name, 2)
    root.publish(new, 3)
    arguments = ("prune", "-json", "-checkpoint", root.path, "-keep", "1")
    dry, wet = (publish.run(*arguments, *more).well() for more in (["-dry-run"], []))
    assert document(dry) == {**document(wet), "dry_run": True}
    answer = document(wet)
    assert answer["entries"] == [root.entry(old, 1).name, root.entry(linked / old.name, 2).name]
    assert answer["folders"] == [str(old)]
    [skipped] = answer["skipped"]
    assert skipped["folder"] == str(linked / old.name)
    assert "symbolic link" in skipped["reason"]
    assert skipped["failed"] is False
    [message] = messages(wet)
    assert (message["event"], message["folder"]) == ("left", skipped["folder"])


def test_warnings_are_objects(root: Root, publish: Program) -> None:
    """An overtaken run is told by fields."""
    root.publish(root.hf(1), 1, EPOCH + 5)
    ended = publish.run("publish", "-json", "-checkpoint", root.path, root.hf(2), "2").well()
    [_, warning] = messages(ended)
    assert warning["level"] == "warning"
    assert warning["event"] == "overtaken"
    assert (warning["epoch"], warning["latest_epoch"]) == (EPOCH, EPOCH + 5)


def test_a_long_watch_has_no_document_but_every_line_is_an_object(root: Root) -> None:
    """Publications, warnings and the error that ends it."""
    watch = root.watch("-json")
    save = root.let_a_scan_pass(watch, 1)
    watch.wait_until_said("published")
    (save / "trainer_state.json").unlink()
    save.rename(root.path / "gone")
    watch.wait_until_said("disappeared")
    root.path.rename(root.path.with_name("moved"))
    ended = watch.wait().ended_with(1)
    assert ended.out == b""
    kinds = [message.get("event") or message["kind"] for message in messages(ended)]
    assert kinds == ["published", "disappeared", "root-missing"]


Case = tuple[Sequence[Argument], int, str]


@pytest.mark.parametrize(
    ("arguments", "status", "kind"),
    [
        (["resolve", "-json", "-checkpoint", "/does/not/exist"], 1, "root-missing"),
        (["resolve", "-json", "-checkpoint", "/etc/passwd"], 1, "root-not-a-directory"),
        (["resolve", "-json", "-checkpoint=/", "-region", "x"], 2, "invalid-input"),
        (["resolve", "-json", "-checkpoint", "relative"], 2, "invalid-input"),
        (["resolve", "-json"], 2, "invalid-input"),
        (["reslove", "--json"], 2, "invalid-input"),
        (["-json"], 2, "invalid-input"),
        (["-json", "resolve", "-nonsense"], 2, "invalid-input"),
        (["watch", "-json", "-checkpoint=/", "-framework=x"], 2, "invalid-input"),
    ],
)
def test_an_error_is_one_object_with_its_kind(
    publish: Program, arguments: Sequence[Argument], status: int, kind: str
) -> None:
    """Also one of usage, and stdout stays empty."""
    ended = publish.run(*arguments).ended_with(status).answers("")
    [message] = messages(ended)
    assert (message["level"], message["kind"]) == ("error", kind)


def junk(root: Root) -> None:
    """Leave a stray name in pub/."""
    root.pub.mkdir()
    (root.pub / "junk").touch()


def file_for_pub(root: Root) -> None:
    """Put a file where pub/ belongs."""
    root.pub.touch()


@pytest.mark.parametrize(
    ("spoil", "kind"), [(junk, "malformed-entry"), (file_for_pub, "store-unavailable")]
)
@pytest.mark.parametrize("command", ["resolve", "log", "prune"])
def test_an_error_of_the_store_has_its_kind(
    root: Root, publish: Program, command: str, spoil: Callable[[Root], None], kind: str
) -> None:
    """One object, stdout empty."""
    spoil(root)
    more = ["-keep", "1"] if command == "prune" else []
    ended = publish.run(command, "-json", "-checkpoint", root.path, *more)
    [message] = messages(ended.ended_with(1).answers(""))
    assert message["kind"] == kind


def test_bytes_that_are_no_utf8_are_lone_surrogates(root: Root, publish: Program) -> None:
    """The entry's name has the exact bytes; the document stays ASCII."""
    attempt = b"\xff\xe9t\xc3\xa9"
    save = Path(os.fsdecode(os.fsencode(root.path) + b"/exec/" + attempt + b"/checkpoint-1"))
    save.mkdir(parents=True)
    root.publish(save, 1)
    ended = publish.run("resolve", "-json", "-checkpoint", root.path).well()
    assert ended.out.isascii()
    assert document(ended)["save"] == os.fsencode(save).decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    "arguments",
    [
        ["-json", "-version"],
        ["-version", "-json"],
        ["-json", "-help"],
        ["resolve", "-help", "-json"],
    ],
)
def test_help_and_version_are_documents_too(publish: Program, arguments: list[str]) -> None:
    """The same text, as a string."""
    plain = publish.run(*(word for word in arguments if word != "-json")).well()
    assert document(publish.run(*arguments).well()) == {"text": plain.out.decode().rstrip("\n")}


def test_an_unexpected_fault_is_one_line_with_the_traceback_behind_debug(
    root: Root, publish: Program, tmp_path: Path
) -> None:
    """It says what was being done and how to report it; every line is an object."""
    broken = tmp_path / "broken"
    broken.mkdir()
    # What nobody expects: a standard module that lacks a function.
    (broken / "sitecustomize.py").write_text("import os\ndel os.listdir\n")
    root.pub.mkdir()
    environment = {"PYTHONPATH": str(broken)}
    command = publish.line("resolve", "-checkpoint", root.path)
    plain = publish.run_anyhow(*command, environment=environment)
    assert plain.returncode == 1
    assert plain.stdout == b""
    assert plain.stderr.startswith(b"publish: error: fault while running resolve: AttributeError")
    assert plain.stderr.count(b"\n") == 1
    assert b"Please report it with the output of the same command and -debug." in plain.stderr
    shown = publish.run_anyhow(*command, b"-debug", environment=environment)
    assert b"publish: debug: Traceback (most recent call last):\n" in shown.stderr
    lines = publish.run_anyhow(*command, b"-debug", b"-json", environment=environment)
    levels = [json.loads(line)["level"] for line in lines.stderr.splitlines()]
    assert set(levels[:-1]) == {"debug"}
    assert levels[-1] == "error"
