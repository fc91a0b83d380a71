"""`claim`, and what the other commands make of claims."""

import json
from collections.abc import Mapping

import pytest

from tests.cli.program import ATTEMPT, EPOCH, Program
from tests.cli.roots import Root
from tests.cli.terminals import Terminal

NEWER = EPOCH + 1
OTHER: Mapping[str, str] = {"DISPATCH_ATTEMPT": "other"}
LATER: Mapping[str, str] = {"DISPATCH_ATTEMPT": "later", "DISPATCH_EPOCH": str(NEWER)}


def claims(root: Root) -> dict[str, str]:
    """What runs/ holds, as anybody can read it."""
    runs = root.path / "runs"
    return {path.name: str(path.readlink()) for path in runs.iterdir()} if runs.exists() else {}


def claim(root: Root, publish: Program, **environment: str) -> None:
    publish.run("claim", "-checkpoint", root.path, environment=environment).well()


def test_a_claim_is_a_link_that_holds_the_attempt(root: Root, publish: Program) -> None:
    ended = publish.run("claim", "-checkpoint", root.path).well().answers("")
    assert ended.err.decode() == f"publish: epoch {EPOCH} belongs to attempt {ATTEMPT!r}\n"
    assert claims(root) == {f"{EPOCH:020d}": ATTEMPT}


def test_claiming_again_is_well(root: Root, publish: Program) -> None:
    """Every rank of an execution may."""
    for _ in range(2):
        claim(root, publish)
    assert len(claims(root)) == 1


def test_a_second_start_of_the_same_epoch_is_told_to_end(root: Root, publish: Program) -> None:
    claim(root, publish)
    ended = publish.run("claim", "-checkpoint", root.path, environment=OTHER)
    ended.ended_with(76).answers("")
    ended.says(f"epoch {EPOCH} belongs to attempt {ATTEMPT!r}, not to 'other'")
    assert claims(root) == {f"{EPOCH:020d}": ATTEMPT}


def test_an_execution_that_was_overtaken_is_told_to_end(root: Root, publish: Program) -> None:
    """And leaves no claim."""
    claim(root, publish, **LATER)
    ended = publish.run("claim", "-checkpoint", root.path).ended_with(76)
    ended.says(f"epoch {NEWER} is claimed by attempt 'later', above this execution's {EPOCH}")
    ended.says("made by mistake is taken back by `publish retract -claim`")
    assert claims(root) == {f"{NEWER:020d}": "later"}


def test_programs_get_one_document_and_the_kind(root: Root, publish: Program) -> None:
    ended = publish.run("claim", "-checkpoint", root.path, "-json").well()
    assert json.loads(ended.out) == {"epoch": EPOCH, "attempt": ATTEMPT}
    assert json.loads(ended.err)["event"] == "claimed"
    refused = publish.run("claim", "-checkpoint", root.path, "-json", environment=OTHER)
    assert json.loads(refused.ended_with(76).err)["kind"] == "epoch-taken"


@pytest.mark.parametrize("variable", ["DISPATCH_ATTEMPT", "DISPATCH_EPOCH"])
def test_a_claim_needs_an_attempt_and_an_epoch(root: Root, publish: Program, variable: str) -> None:
    ended = publish.run("claim", "-checkpoint", root.path, environment={variable: None})
    ended.ended_with(2).says(variable)
    assert claims(root) == {}


def test_a_name_in_runs_that_is_no_claim_stops_a_claim_and_nothing_else(
    root: Root, publish: Program
) -> None:
    (root.path / "runs").mkdir()
    (root.path / "runs" / "stray").touch()
    publish.run("claim", "-checkpoint", root.path).ended_with(1).says("'stray'")
    save = root.hf(1)
    publish.run("publish", "-checkpoint", root.path, save, "1").well()
    publish.run("resolve", "-checkpoint", root.path).well().answers(f"{save}\n")
    publish.run("prune", "-checkpoint", root.path, "-keep", "1").well()


# ------------------------------------------------------------------------- publishing


def test_publishing_under_anothers_epoch_is_refused(root: Root, publish: Program) -> None:
    """By both; nothing is written."""
    claim(root, publish)
    save = root.hf(1, attempt="other")
    line = ("publish", "-checkpoint", root.path, save, "1")
    publish.run(*line, environment=OTHER).ended_with(76).says(f"belongs to attempt {ATTEMPT!r}")
    watch = ("watch", "-checkpoint", root.path, "-framework", "hf", "-once")
    publish.run(*watch, environment=OTHER).ended_with(76).says(f"belongs to attempt {ATTEMPT!r}")
    assert root.names() == []


def test_by_hand_no_attempt_is_needed(root: Root, publish: Program) -> None:
    claim(root, publish)
    line = ("publish", "-checkpoint", root.path, root.hf(1), "1")
    publish.run(*line, environment={"DISPATCH_ATTEMPT": None}).well()
    publish.run(*line).well().says("already published")


def test_an_overtaken_execution_still_publishes(root: Root, publish: Program) -> None:
    """Its late saves are harmless, and may be the best so far."""
    claim(root, publish)
    claim(root, publish, **LATER)
    root.hf(1)
    watch = ("watch", "-checkpoint", root.path, "-framework", "hf", "-once")
    publish.run(*watch).well().says("published step 1")


def test_a_claim_that_can_not_be_read_is_warned_of(root: Root, publish: Program) -> None:
    """Nothing is lost by publishing."""
    (root.path / "runs").mkdir()
    (root.path / "runs" / f"{EPOCH:020d}").write_text("a file")
    line = ("publish", "-checkpoint", root.path, root.hf(1), "1")
    publish.run(*line).well().says("warning: whether epoch", "is claimed can't be told")
    assert len(root.names()) == 1


# ------------------------------------------------------------------------- pruning


def three_saves(root: Root) -> None:
    for step in (1, 2, 3):
        root.publish(root.hf(step), step)


@pytest.mark.parametrize("more", [(), ("-dry-run",)])
def test_a_prune_removes_nothing_while_an_execution_may_be_loading(
    root: Root, publish: Program, more: tuple[str, ...]
) -> None:
    """It says so, and ends well."""
    three_saves(root)
    claim(root, publish, **LATER)
    line = ["prune", "-checkpoint", str(root.path), "-keep", "1", *more]
    publish.run(*line, environment=LATER).well().says("this execution has published nothing yet")
    publish.run(*line).well().says(f"epoch {NEWER} is claimed, above", "it was overtaken")
    assert len(root.names()) == 3
    document = json.loads(publish.run(*line, "-json").well().out)
    assert document["entries"] == []
    assert "overtaken" in document["held"]


def test_once_it_has_published_others_may_go(root: Root, publish: Program) -> None:
    three_saves(root)
    claim(root, publish, **LATER)
    save = root.hf(1, attempt="later")
    publish.run("publish", "-checkpoint", root.path, save, "1", environment=LATER).well()
    line = ("prune", "-checkpoint", root.path, "-keep", "1")
    publish.run(*line).well().says("it was overtaken")
    ended = publish.run(*line, "-json", environment=LATER).well()
    assert len(json.loads(ended.out)["entries"]) == 3
    assert json.loads(ended.out)["held"] is None
    assert list((root.path / "fates").iterdir()) == []


# ------------------------------------------------------------------------- taking a claim back


def test_a_mistyped_claim_is_taken_back(root: Root, publish: Program) -> None:
    """With its resume point, which the next to claim that epoch must not follow."""
    claim(root, publish)
    claim(root, publish, **LATER)
    (root.path / "runs" / f"{NEWER:020d}.resume").symlink_to("-")
    line = ("retract", "-checkpoint", root.path, "-claim", str(NEWER))
    publish.run(*line).ended_with(2).says("no terminal")
    ended = publish.run(*line, "-yes", "-json").well()
    document = json.loads(ended.out)
    retracted = {"epoch": NEWER, "attempt": "later", "resume": "-"}
    assert document == {"retracted": retracted, "before": NEWER, "after": EPOCH}
    assert claims(root) == {f"{EPOCH:020d}": ATTEMPT}
    publish.run(*line, "-yes").ended_with(1).says(f"epoch {NEWER} is not claimed")


def test_a_person_is_asked(root: Root, publish: Program, terminal: Terminal) -> None:
    claim(root, publish)
    line = ("retract", "-checkpoint", root.path, "-claim", str(EPOCH))
    for answer, status, left in (("no", 1, 1), ("yes", 0, 0)):
        running = publish.start(*line, stdin=terminal.slave, stderr=terminal.slave)
        terminal.wait_until_shown("Type yes:" if answer == "no" else "nothing was retracted")
        terminal.type(f"{answer}\n")
        running.wait().ended_with(status)
        assert len(claims(root)) == left


@pytest.mark.parametrize("epoch", ["", "x", "-1", str(2**64)])
def test_an_epoch_that_is_none_is_refused(root: Root, publish: Program, epoch: str) -> None:
    line = ("retract", "-checkpoint", root.path, f"-claim={epoch}", "-yes")
    publish.run(*line).ended_with(2).says("-claim")


def test_an_entry_or_a_claim(root: Root, publish: Program) -> None:
    """Not neither, and not both."""
    retract = ("retract", "-checkpoint", root.path, "-yes")
    publish.run(*retract).ended_with(2).says("retract takes ENTRY or -claim; given: none")
    both = publish.run(*retract, "-claim", "1", "name").ended_with(2)
    both.says("retract takes no operands; given: 'name'")
