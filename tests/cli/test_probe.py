"""`publish probe` on folders: what it says, that it leaves nothing behind, however it ends."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.injection import calls, injecting
from tests.cli.mounts import Mounts, command
from tests.cli.program import Argument, Ended, Program, Running, wait_for
from tests.cli.roots import Root
from tests.cli.terminals import Terminal
from tests.cli.test_full_disks import use_up_inodes

SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
TOPICS = [
    "reachable", "listable", "writable", "folder sync", "exclusive creation", "race", "listing",
    "removal", "claims", "clock", "latency", "clean-up", "other probes",
]  # fmt: skip
NEED_WRITING = TOPICS[3:10]
WORD = "4103"


class Probed:
    """What a probe said."""

    def __init__(self, ended: Ended) -> None:
        self.ended = ended
        self.lines = ended.out.decode().splitlines()

    def states(self) -> dict[str, str]:
        """How each check came out, by its name."""
        rows = [line for line in self.lines if not line.startswith(" ")]
        return {row[6:26].strip(): row[:6].strip() for row in rows}

    def failed(self) -> list[str]:
        """The checks that say FAIL."""
        return [topic for topic, state in self.states().items() if state == "FAIL"]

    def warned(self) -> list[str]:
        """Those that say warn."""
        return [topic for topic, state in self.states().items() if state == "warn"]

    def of(self, topic: str) -> str:
        """Everything about one check, with what to do under it."""
        [place] = [n for n, line in enumerate(self.lines) if line[6:26].strip() == topic]
        after = self.lines[place + 1 : place + 2]
        advice = [line.strip() for line in after if line.startswith(" ")]
        return " | ".join([self.lines[place][26:], *advice])


def probe(root: Root | Path, program: Program, *more: Argument, prefix: object = ()) -> Probed:
    """Run a probe to its end; it says nothing but its answer."""
    path = root.path if isinstance(root, Root) else root
    prefix = [*prefix]  # type: ignore[misc]  # a sequence of words
    ended = program.run("probe", "-checkpoint", path, *more, prefix=prefix)
    said = [line for line in ended.err.splitlines() if not line.startswith(b"strace: ")]
    assert said == []
    return Probed(ended)


def contents(root: Path) -> list[str]:
    """List all there is below a root, each with the time of its last change."""
    return [f"{path.relative_to(root)} {path.lstat().st_mtime_ns}" for path in root.rglob("*")]


@pytest.fixture
def used(root: Root) -> Iterator[Root]:
    """A root with a publication; whatever a test does, nothing in it changes."""
    root.publish(root.hf(1), 1)
    before = contents(root.path)
    yield root
    assert contents(root.path) == before


# ------------------------------------------------------------------------------- one node


def test_of_a_good_root_all_is_ok_and_nothing_is_left(used: Root, publish: Program) -> None:
    probed = probe(used, publish)
    probed.ended.well()
    assert probed.states() == dict.fromkeys(TOPICS, "ok")
    assert probed.of("listable").startswith("1 publication, the latest of step 1 (")
    assert probed.of("race").startswith("1 of 16 creations of one name at once succeeded (")
    for call in ("look", "list", "create", "remove", "claim"):
        assert f"{call} " in probed.of("latency")


def test_neither_attempt_nor_epoch_are_needed(root: Root, publish: Program) -> None:
    nobody = {"DISPATCH_ATTEMPT": None, "DISPATCH_EPOCH": None}
    publish.run("probe", "-checkpoint", root.path, environment=nobody).well()


@pytest.mark.real
def test_the_type_of_the_file_system_is_named(root: Root, publish: Program) -> None:
    known = command("findmnt", "-n", "-o", "FSTYPE", "-T", root.path).decode().strip()
    assert probe(root, publish).of("reachable").startswith(f"{known} (")


def test_programs_are_given_one_document(used: Root, publish: Program) -> None:
    (used.path / ".probe-old").mkdir()
    ended = publish.run("probe", "-checkpoint", used.path, "-json").well()
    (used.path / ".probe-old").rmdir()
    document = json.loads(ended.out)
    assert (document["root"], document["ok"]) == (str(used), True)
    by_name = {check["check"]: check for check in document["checks"]}
    assert list(by_name) == TOPICS
    assert by_name["writable"]["seconds"] > 0
    assert by_name["other probes"]["state"] == "warn"
    assert ".probe-old" in by_name["other probes"]["found"]
    assert "Delete" in by_name["other probes"]["advice"]
    assert ended.err == b""


def test_a_root_that_is_not_there_is_a_fail_and_nothing_is_made(
    tmp_path: Path, publish: Program
) -> None:
    file = tmp_path / "file"
    file.touch()
    for path, said in ((tmp_path / "none", "does not exist"), (file, "is not a directory")):
        probed = probe(path, publish)
        probed.ended.ended_with(1)
        assert probed.failed() == ["reachable"]
        assert said in probed.of("reachable")
        assert "not checked: the root can't be reached" in probed.of("claims")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["-peer", "a/b"], "letters, digits"),
        (["-peer", ""], "letters, digits"),
        (["-timeout", "10"], "not a duration"),
        (["-region", "x"], "only roots on S3"),
        (["-keep", "1"], "unknown flag"),
        (["operand"], "takes no operands"),
    ],
)
def test_a_wrong_call_is_usage_and_writes_nothing(
    used: Root, publish: Program, flags: list[str], said: str
) -> None:
    ended = publish.run("probe", "-checkpoint", used.path, *flags)
    ended.ended_with(2).says(said).answers("")


def test_a_stray_name_in_pub_is_told_as_a_job_would_meet_it(root: Root, publish: Program) -> None:
    root.pub.mkdir()
    (root.pub / ".DS_Store").touch()
    probed = probe(root, publish)
    probed.ended.ended_with(1)
    assert probed.failed() == ["listable"]
    assert ".DS_Store" in probed.of("listable")
    assert root.names() == [".DS_Store"]


def test_a_folder_that_a_killed_probe_left_is_named_and_stays(root: Root, publish: Program) -> None:
    running = publish.start("probe", "-checkpoint", root.path, "-peer", WORD)
    wait_for((root.path / f".probe-{WORD}" / "first").exists, "the seat")
    running.kill()
    probed = probe(root, publish)
    probed.ended.well()
    assert probed.warned() == ["other probes"]
    assert f".probe-{WORD} |" in probed.of("other probes")
    assert [path.name for path in root.path.iterdir()] == [f".probe-{WORD}"]


# ------------------------------------------------------------------------------ bad roots


@pytest.mark.real
@pytest.mark.root
def test_a_root_that_is_mounted_read_only(used: Root, publish: Program, mounts: Mounts) -> None:
    probed = probe(mounts.read_only(used.path), publish)
    probed.ended.ended_with(1)
    assert probed.failed() == ["writable"]
    assert "EROFS" in probed.of("writable")
    assert probed.warned() == NEED_WRITING


@pytest.mark.real
def test_a_root_of_somebody_else(
    open_folder: Path, publish: Program, unprivileged: Program
) -> None:
    root = Root(open_folder / "ck", publish)
    root.publish(root.hf(1), 1)
    root.path.chmod(0o555)
    probed = probe(root, unprivileged)
    root.path.chmod(0o755)
    probed.ended.ended_with(1)
    assert probed.failed() == ["writable"]
    assert "EACCES" in probed.of("writable")
    assert probed.states()["listable"] == "ok"
    assert probed.warned() == NEED_WRITING


@pytest.mark.real
@pytest.mark.root
@pytest.mark.parametrize("spare", [0, 1, 5, 30])
def test_a_disk_that_fills_up(mounts: Mounts, publish: Program, spare: int) -> None:
    """At the folder, at the first name, and half-way: nothing stays, so that as much is free."""
    folder = mounts.tmpfs("size=4m,nr_inodes=120")
    root = Root(folder / "ck", publish)
    fillers = use_up_inodes(folder)
    for filler in fillers[:spare]:
        filler.unlink()
    probed = probe(root, publish)
    probed.ended.ended_with(1)
    assert "ENOSPC" in probed.of("writable" if spare < 2 else "listing")
    assert probed.states()["clean-up"] == "ok"
    assert list(root.path.iterdir()) == []
    assert os.statvfs(folder).f_ffree == spare


@pytest.mark.real
def test_a_file_system_without_symbolic_links(used: Root, publish: Program) -> None:
    """As vfat answers: everything but claims works."""
    probed = probe(used, publish, prefix=injecting("symlinkat", "error=EPERM"))
    probed.ended.ended_with(1)
    assert probed.failed() == ["claims"]
    assert "no symbolic links" in probed.of("claims")
    assert "Everything but claims works" in probed.of("claims")


@pytest.mark.real
@pytest.mark.parametrize("error", ["EINVAL", "EIO"])
def test_a_file_system_that_can_not_sync_folders(used: Root, publish: Program, error: str) -> None:
    """Told from one that can't be written, and it is cleaned up there, too."""
    probed = probe(used, publish, prefix=injecting("fsync", f"error={error}"))
    probed.ended.ended_with(1)
    assert probed.failed() == ["folder sync"]
    assert error in probed.of("folder sync")
    assert probed.warned() == ["exclusive creation", "race", "claims"]


@pytest.mark.real
def test_an_exclusive_creation_that_is_ignored(used: Root, publish: Program) -> None:
    """By a file system that lets O_EXCL pass, as some network file systems did."""
    script = (
        "import os; from dispatch.adapters.posix import filesystem as f; "
        "f._CREATE_FLAGS &= ~os.O_EXCL; from dispatch.cli.publish.start import main; main()"
    )
    program = Program([sys.executable, "-c", script], used.path.parent)
    probed = probe(used, program)
    probed.ended.ended_with(1)
    assert probed.failed() == ["exclusive creation"]
    assert "O_EXCL" in probed.of("exclusive creation")
    assert "nothing is lost or overwritten" in probed.of("exclusive creation")
    assert "Claims don't hold" in probed.of("exclusive creation")


@pytest.mark.real
def test_a_name_that_can_not_be_removed_is_named(root: Root, publish: Program) -> None:
    probed = probe(root, publish, prefix=injecting("unlinkat", "error=EACCES"))
    probed.ended.ended_with(1)
    assert probed.failed() == ["removal", "clean-up"]
    [left] = root.path.iterdir()
    assert f"left behind in {root}: {left.name}/" in probed.of("clean-up")
    assert "Delete it by hand" in probed.of("clean-up")


@pytest.mark.real
def test_a_file_system_that_hangs_is_named_and_left_in_time(root: Root, publish: Program) -> None:
    """What had no answer may be made yet, so it says where to look."""
    slow = injecting("mkdirat", "delay_enter=12000000:when=1")
    probed = probe(root, publish, "-timeout", "4s", prefix=slow)
    probed.ended.ended_with(1)
    assert probed.failed() == ["writable"]
    assert "no answer from" in probed.of("writable")
    assert "may be made yet" in probed.of("clean-up")
    assert "has stopped answering" in probed.of("claims")


# --------------------------------------------------------------------------------- signals


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, int]]:
    """Where to meet a probe: its first and last calls that change something, and some others."""
    folder = tmp_path_factory.mktemp("moments")
    (folder / "root").mkdir()
    program = Program([sys.executable, "-m", "dispatch.cli.publish"], folder)
    which = "mkdirat,openat,fsync,symlinkat,unlinkat,rmdir"
    found = calls(program, folder / "trace", which, "probe", "-checkpoint", folder / "root")
    changing = [
        (name, number)
        for name, number, line in found
        if (".probe-" in line or name == "fsync" or "O_CREAT" in line) and "O_DIRECTORY" not in line
    ]
    assert len(changing) > 150
    chosen = dict.fromkeys([*changing[:12], *changing[12:-8:9], *changing[-8:]])
    return list(chosen)


@pytest.mark.real
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", SIGNALS[:2], ids=lambda number: number.name)
def test_a_signal_at_any_call_ends_it_once_nothing_is_left(
    used: Root, moments: list[tuple[str, int]], tmp_path: Path, number: signal.Signals
) -> None:
    """With the status of that signal, and the checks so far."""
    program = Program([sys.executable, "-m", "dispatch.cli.publish"], tmp_path)
    for name, count in moments:
        prefix = injecting(name, f"signal={number.name}:when={count}")
        probed = probe(used, program, prefix=prefix)
        assert probed.ended.status == -number, (name, count, probed.lines)
        assert probed.failed() == []
        names = [path.name for path in used.path.iterdir()]
        assert sorted(names) == ["exec", "pub"], (name, count)


@pytest.mark.real
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_more_signals_never_cut_the_cleaning_short(
    used: Root, publish: Program, number: signal.Signals
) -> None:
    """One comes with each name that is removed, and with the folder."""
    probed = probe(used, publish, prefix=injecting("unlinkat", f"signal={number.name}"))
    assert probed.ended.status == -number
    assert "removal" not in probed.states() or "claims" not in probed.states()
    assert probed.of("clean-up") == "nothing is left behind"


def test_a_caller_that_cannot_wait_changes_nothing(used: Root, publish: Program) -> None:
    """SIGTERM again and again, as some schedulers send it."""
    running = publish.start("probe", "-checkpoint", used.path)
    wait_for(lambda: any(".probe-" in path.name for path in used.path.iterdir()), "its folder")
    while running.is_running():
        running.send(signal.SIGTERM)
    assert running.wait().status == -signal.SIGTERM


@pytest.mark.real
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_caller_that_ignores_signals_is_followed(
    used: Root, publish: Program, number: signal.Signals
) -> None:
    ignoring = ["sh", "-c", f"trap '' {number.name.removeprefix('SIG')}; exec \"$@\"", "sh"]
    signalled = injecting("symlinkat", f"signal={number.name}")
    probed = probe(used, publish, prefix=[*ignoring, *signalled])
    probed.ended.well()
    assert probed.states() == dict.fromkeys(TOPICS, "ok")


@pytest.mark.real
def test_what_a_signalled_probe_can_not_remove_is_named(root: Root, publish: Program) -> None:
    """Also where its answer is one document, which is not written then."""
    prefix = [
        *injecting("symlinkat", "signal=SIGTERM"),
        "-e", "trace=symlinkat,unlinkat", "-e", "inject=unlinkat:error=EACCES:when=33+",
    ]  # fmt: skip
    ended = publish.run("probe", "-checkpoint", root.path, "-json", prefix=prefix)
    ended.ended_with(-signal.SIGTERM).answers("")
    [left] = root.path.iterdir()
    ended.says("error", "left behind", left.name)


# -------------------------------------------------------------------------------- streams


def test_an_answer_that_can_not_be_written_ends_it_and_nothing_is_left(
    used: Root, publish: Program
) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = publish.run("probe", "-checkpoint", used.path, stdout=full)
    ended.ended_with(1).says("the answer could not be written", "ENOSPC")


@pytest.mark.real
def test_a_reader_that_goes_away_ends_it_and_nothing_is_left(used: Root, publish: Program) -> None:
    reader, writer = os.pipe()
    slow = injecting("symlinkat", "delay_enter=500000")
    line = ("probe", "-checkpoint", used.path)
    running = publish.start(*line, stdout=writer, prefix=slow)
    os.close(writer)
    assert b"reachable" in os.read(reader, 1 << 16)
    os.close(reader)
    running.wait().ended_with(1).says("EPIPE")


@pytest.mark.real
def test_what_takes_long_is_said_on_a_terminal(
    used: Root, publish: Program, terminal: Terminal
) -> None:
    """And the line is taken away before the check is told."""
    slow = injecting("symlinkat", "delay_enter=3000000:when=1")
    line = ("probe", "-checkpoint", used.path)
    running = publish.start(*line, prefix=slow, stdout=terminal.slave, stderr=terminal.slave)
    terminal.wait_until_shown("publish: probing: claims (2 s)")
    running.wait().well()
    shown = terminal.shown().replace(b"\r\n", b"\n")
    assert b"\r\x1b[Kok    claims" in shown
    assert shown.count(b"probing") == shown.count(b"probing: claims")


@pytest.mark.parametrize("folder", ["pub", "runs", "pub/"])
def test_a_folder_of_names_is_no_root(used: Root, publish: Program, folder: str) -> None:
    """A name of a probe in there would stop the jobs of the root around it."""
    (used.path / "runs").mkdir()
    ended = publish.run("probe", "-checkpoint", f"{used.path}/{folder}")
    ended.ended_with(2).says("is a folder of a root")
    (used.path / "runs").rmdir()


def test_a_time_out_without_end_is_none(used: Root, publish: Program) -> None:
    probe(used, publish, "-timeout", "99999999h").ended.well()


# ------------------------------------------------------------------------------- two nodes


def start_pair(root: Root, program: Program, count: int = 2) -> list[Running]:
    """Start probes of one word."""
    line = ("probe", "-checkpoint", root.path, "-peer", WORD, "-timeout", "20s")
    return [program.start(*line) for _ in range(count)]


def test_two_nodes_measure_each_other_and_leave_nothing(used: Root, publish: Program) -> None:
    probes = [Probed(running.wait().well()) for running in start_pair(used, publish)]
    seats = {probed.of("peer").split()[4] for probed in probes}
    assert seats == {"first", "second"}
    for probed in probes:
        assert list(probed.states()) == [*TOPICS[:11], "peer", "visibility", *TOPICS[11:]]
        assert set(probed.states().values()) == {"ok"}
        assert "in 10 rounds: so each way takes no longer" in probed.of("visibility")


def test_of_three_nodes_one_is_refused(used: Root, publish: Program) -> None:
    """Unless it comes when the others have ended: then nobody joins it."""
    (used.path / f".probe-{WORD}").mkdir()
    for seat in ("first", "second"):
        (used.path / f".probe-{WORD}" / seat).touch()
    [third] = start_pair(used, publish, 1)
    probed = Probed(third.wait().ended_with(1))
    assert probed.failed() == ["peer"]
    assert "two nodes have the word '4103' already" in probed.of("peer")
    assert len(list((used.path / f".probe-{WORD}").iterdir())) == 2
    for seat in ("first", "second"):
        (used.path / f".probe-{WORD}" / seat).unlink()
    (used.path / f".probe-{WORD}").rmdir()


def test_a_node_that_nobody_joins_fails_after_its_time_out(used: Root, publish: Program) -> None:
    probed = probe(used, publish, "-peer", WORD, "-timeout", "3s")
    probed.ended.ended_with(1)
    assert probed.failed() == ["peer"]
    assert "for 3 s" in probed.of("peer")
    assert probed.warned() == ["visibility"]


@pytest.mark.parametrize("number", [*SIGNALS, signal.SIGKILL], ids=lambda number: number.name)
def test_when_one_of_two_goes_the_other_ends_and_nothing_is_left(
    used: Root, publish: Program, number: signal.Signals
) -> None:
    """Also when the first of them was killed in the middle: the other takes all away."""
    line = ("probe", "-checkpoint", used.path, "-peer", WORD, "-timeout", "3s")
    folder = used.path / f".probe-{WORD}"
    first = publish.start(*line)
    wait_for((folder / "first").exists, "the first")
    first.send(signal.SIGSTOP)
    second = publish.start(*line)
    wait_for((folder / "second").exists, "the second")
    first.send(number)
    first.send(signal.SIGCONT)
    assert first.wait().status == -number
    probed = Probed(second.wait())
    if number == signal.SIGKILL:
        assert "no answer of another node" in probed.of("visibility")
    assert probed.states()["clean-up"] == "ok"
