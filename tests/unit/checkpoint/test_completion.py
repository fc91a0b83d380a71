"""A save is complete when its framework's marker is right, and hostile markers are "not yet"."""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from dispatch.checkpoint import FRAMEWORKS, Framework, parse_framework
from dispatch.checkpoint.look import FILE_BYTES_MAX
from dispatch.errors import InvalidInputError, UnavailableError
from tests.unit.stores import ScriptedStore, make_save, plain_store, raising, trainer_state

HF, DCP = Framework.hf, Framework.dcp
STATE = b'{"epoch": 1.5, "global_step": 500, "log_history": [{"loss": 0.25, "step": 500}]}'


class Save:
    """One save of step 500 with its weights, whose markers a test writes.

    Args:
        root: The checkpoint root.
        store: Its store.
    """

    def __init__(self, root: Path, store: ScriptedStore) -> None:
        self.folder = root / "exec/1.1.0/checkpoint-500"
        self.folder.mkdir(parents=True)
        (self.folder / "model.safetensors").write_bytes(b"weights")
        self.store = store

    def path(self, name: str) -> Path:
        """Where a file of it is."""
        return self.folder / name

    def is_complete(self, framework: Framework = HF, step: int = 500) -> bool:
        """Ask the rule."""
        return framework.missing(self.store, b"exec/1.1.0/checkpoint-500", step) is None

    def is_complete_with(self, state: bytes) -> bool:
        """Ask the rule about a trainer state."""
        self.path("trainer_state.json").write_bytes(state)
        return self.is_complete()


@pytest.fixture
def save(root: Path, store: ScriptedStore) -> Save:
    """A save without any marker yet."""
    return Save(root, store)


COMPLETE = {
    "as Trainer writes it": trainer_state(500),
    "nothing but the step": b'{"global_step":500}',
    "NaN and infinities": b'{"a": NaN, "global_step": 500, "b": [Infinity, {"c": -Infinity}]}',
    "other text than ASCII": '{"name": "na\u00efve \U0001f600", "global_step": 500}'.encode(),
    "a lone surrogate, escaped": b'{"name": "\\ud800", "global_step": 500}',
    "white space around": b" \n\t\r" + STATE + b" \n",
    "the last of two steps": b'{"global_step": 1, "global_step": 500}',
    "an escaped key": b'{"global\\u005fstep": 500}',
    "numbers beyond 64 bits elsewhere": b'{"total_flos": 1e999, "n": %d, "global_step": 500}'
    % 10**100,
}

NOT_YET = {
    "empty": b"",
    "white space": b"   \n",
    "zeros, as a crash leaves them": bytes(len(STATE)),
    "no step": b'{"epoch": 1}',
    "another step": b'{"global_step": 501}',
    "a float": b'{"global_step": 500.0}',
    "an exponent": b'{"global_step": 5e2}',
    "text": b'{"global_step": "500"}',
    "true": b'{"global_step": true}',
    "null": b'{"global_step": null}',
    "a list": b'{"global_step": [500]}',
    "NaN": b'{"global_step": NaN}',
    "Infinity": b'{"global_step": Infinity}',
    "negative": b'{"global_step": -500}',
    "leading zeros": b'{"global_step": 0500}',
    "a plus": b'{"global_step": +500}',
    "beyond 64 bits": b'{"global_step": %d}' % (500 + 2**64),
    "beyond what int() reads": b'{"global_step": ' + b"1" * 5000 + b"}",
    "5000 digits elsewhere": b'{"n": ' + b"1" * 5000 + b', "global_step": 500}',
    "the first of two steps": b'{"global_step": 500, "global_step": 1}',
    "the step one level down": b'{"state": {"global_step": 500}}',
    "another spelling of the key": b'{"Global_Step": 500}',
    "a list at the top": b'[{"global_step": 500}]',
    "a number at the top": b"500",
    "text at the top": b'"global_step"',
    "null at the top": b"null",
    "two documents": STATE + STATE,
    "junk behind": STATE + b"\0",
    "a byte order mark": b"\xef\xbb\xbf" + STATE,
    "UTF-16": STATE.decode().encode("utf-16"),
    "UTF-32": STATE.decode().encode("utf-32"),
    "bytes that are not UTF-8": b'{"a": "\xff", "global_step": 500}',
    "a surrogate, encoded": b'{"a": "\xed\xa0\x80", "global_step": 500}',
    "100,000 brackets": b'{"global_step": 500, "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "100,000 open brackets": b"[" * 100_000,
    "100,000 objects": b'{"global_step":' * 100_000,
    "single quotes": b"{'global_step': 500}",
    "a comma too many": b'{"global_step": 500,}',
    "a control character in text": b'{"a": "\n", "global_step": 500}',
}


@pytest.mark.parametrize("state", COMPLETE.values(), ids=COMPLETE)
def test_a_state_that_python_reads_and_names_the_step_is_complete(save: Save, state: bytes) -> None:
    """Trainer writes what Python's json writes, so that is what counts."""
    assert save.is_complete_with(state)
    assert not save.is_complete(step=501)


@pytest.mark.parametrize("state", NOT_YET.values(), ids=NOT_YET)
def test_a_hostile_state_is_not_yet_complete_and_no_error(save: Save, state: bytes) -> None:
    """Whatever stands there may be overwritten by the whole state a moment later."""
    assert not save.is_complete_with(state)
    assert save.is_complete_with(STATE)


@pytest.mark.parametrize("cut", range(len(STATE)))
def test_a_state_cut_at_any_byte_is_not_yet_complete(save: Save, cut: int) -> None:
    """Trainer writes it in place, so a scan does see it partial."""
    assert not save.is_complete_with(STATE[:cut])


def test_true_is_not_step_one(root: Path, store: ScriptedStore) -> None:
    """In Python True equals 1."""
    path = make_save(root, 1)
    (root / os.fsdecode(path) / "trainer_state.json").write_bytes(b'{"global_step": true}')
    assert HF.missing(store, path, 1) == "has a trainer_state.json that is not whole"


def test_the_greatest_step_can_be_complete(root: Path, store: ScriptedStore) -> None:
    """2^64-1 is a step like any other."""
    path = make_save(root, 2**64 - 1)
    assert HF.missing(store, path, 2**64 - 1) is None


def make_folder(path: Path) -> None:
    """Make a folder where a file is expected, with something in it."""
    path.mkdir()
    (path / "x").touch()


def make_socket(path: Path) -> None:
    """Make a socket, by a short name, since its address is."""
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


NO_FILES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _: None,
    "a folder": make_folder,
    "a FIFO": os.mkfifo,
    "a socket": make_socket,
    "a dangling link": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link through a file": lambda path: path.symlink_to("/etc/passwd/x"),
    "a link to a folder": lambda path: path.symlink_to("/"),
    "a device without an end": lambda path: path.symlink_to("/dev/zero"),
    "an empty device": lambda path: path.symlink_to("/dev/null"),
    "a terminal": lambda path: path.symlink_to("/dev/tty"),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("make", NO_FILES.values(), ids=NO_FILES)
def test_a_marker_that_is_no_file_is_not_yet_complete_and_blocks_nobody(
    save: Save, make: Callable[[Path], object]
) -> None:
    """A FIFO without a writer, or a device, would hold the watch for ever."""
    make(save.path("trainer_state.json"))
    make(save.path(".metadata"))
    assert not save.is_complete(HF)
    assert not save.is_complete(DCP)


def test_a_marker_may_be_a_link_to_a_file(save: Save) -> None:
    """What the link leads to is what the framework would read."""
    save.path("real").write_bytes(STATE)
    save.path("trainer_state.json").symlink_to("real")
    save.path(".metadata").symlink_to("real")
    assert save.is_complete(HF)
    assert save.is_complete(DCP)


def test_a_marker_of_more_than_256_mib_is_not_read(save: Save) -> None:
    """No Trainer writes one; reading it could take the node's memory."""
    save.path("trainer_state.json").write_bytes(STATE)
    os.truncate(save.path("trainer_state.json"), FILE_BYTES_MAX + 1)
    assert not save.is_complete()


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_save_that_is_not_there_or_no_folder_is_not_complete(
    root: Path, store: ScriptedStore, framework: Framework
) -> None:
    """It went away between the listing and the look."""
    assert framework.missing(store, b"exec/gone/checkpoint-500", 500)
    (root / "file").touch()
    assert framework.missing(store, b"file", 500)


INCOMPLETE = "checkpoint-is-incomplete.txt"
MARKS: dict[str, Callable[[Path], object]] = {
    "a file": lambda path: path.touch(),
    "a folder": lambda path: path.mkdir(),
    "a FIFO": os.mkfifo,
    "a dangling link": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("make", MARKS.values(), ids=MARKS)
def test_a_save_that_is_marked_incomplete_is_not_complete(
    save: Save, make: Callable[[Path], object]
) -> None:
    """Anything of that name counts."""
    make(save.path(INCOMPLETE))
    assert not save.is_complete_with(STATE)


def test_the_incomplete_mark_is_looked_for_after_the_state(save: Save) -> None:
    """A rewrite that begins between the two looks is seen, since it sets the mark first."""
    save.store.after("read", save.path(INCOMPLETE).touch)
    assert not save.is_complete_with(STATE)
    assert save.store.calls == ["read", "contents"]


def test_a_mark_that_goes_between_the_looks_was_of_an_earlier_write(save: Save) -> None:
    """The state was whole already, and the mark is gone: complete."""
    mark = save.path(INCOMPLETE)
    mark.touch()
    save.store.after("read", mark.unlink)
    assert save.is_complete_with(STATE)


def test_the_mark_does_not_matter_to_dcp(save: Save) -> None:
    """Each framework has its own marker, and only that."""
    save.path(INCOMPLETE).touch()
    save.path(".metadata").write_bytes(b"metadata")
    assert save.is_complete(DCP)
    assert not save.is_complete(HF)


@pytest.mark.parametrize("name", [".metadata.tmp", "metadata", ".metadata~", ".METADATA"])
def test_dcp_is_complete_only_with_its_metadata(save: Save, name: str) -> None:
    """Shards and temporary names are not enough; the rename is."""
    save.path("__0_0.distcp").write_bytes(b"shard")
    save.path(name).write_bytes(b"metadata")
    assert not save.is_complete(DCP)
    save.path(name).rename(save.path(".metadata"))
    assert save.is_complete(DCP)


def test_a_state_that_does_not_fit_in_memory_is_not_yet_complete(save: Save) -> None:
    """One folder with a monstrous marker must not end the watch over all others."""
    save.path("trainer_state.json").write_bytes(STATE)
    save.store.before("read", raising(MemoryError()))
    assert not save.is_complete()
    assert save.is_complete()


@pytest.mark.parametrize("method", ["read", "contents"])
def test_a_failure_to_look_is_an_error(save: Save, method: str) -> None:
    """Unknown is neither complete nor "not yet"."""
    save.path("trainer_state.json").write_bytes(STATE)
    save.store.before(method, raising(UnavailableError("looking: EIO (input/output error)")))
    with pytest.raises(UnavailableError):
        save.is_complete()


@pytest.mark.parametrize(
    ("folder", "step"),
    [
        (b"checkpoint-0", 0),
        (b"checkpoint-500", 500),
        (b"checkpoint-0006", 6),
        (b"checkpoint-18446744073709551615", 2**64 - 1),
        (b"checkpoint-" + b"0" * 200 + b"1", 1),
        (b"checkpoint-18446744073709551616", None),
        (b"checkpoint-" + b"1" * 200, None),
        (b"checkpoint-", None),
        (b"checkpoint", None),
        (b"checkpoint-500-hf", None),
        (b"checkpoint-500.bak", None),
        (b"checkpoint-500 ", None),
        (b"checkpoint-500\n", None),
        (b"checkpoint- 500", None),
        (b"checkpoint-+500", None),
        (b"checkpoint--500", None),
        (b"checkpoint-5_00", None),
        (b"checkpoint-5e2", None),
        (b"checkpoint-0x1", None),
        (b"checkpoint-500.0", None),
        ("checkpoint-\u0665".encode(), None),
        ("checkpoint-5\u00b2".encode(), None),
        (b"checkpoint-5\xff", None),
        (b"tmp-checkpoint-500", None),
        (b"Checkpoint-500", None),
        (b"checkpoint_500", None),
        (b"step-500", None),
        (b"", None),
    ],
)
def test_only_the_exact_form_of_a_folder_s_name_is_a_save(folder: bytes, step: int | None) -> None:
    """Converted, backed-up and staged folders are passed over without an error."""
    assert HF.step_of(folder) == step
    assert DCP.step_of(folder.replace(b"checkpoint-", b"step-")) == (
        step if folder != b"step-500" else 500
    )


@pytest.mark.parametrize(
    ("saves_length", "digits"), [(13, 20), (101, 20), (102, 19), (120, 1), (121, 0), (500, 0)]
)
def test_the_room_that_is_left_for_steps_is_known_early(saves_length: int, digits: int) -> None:
    """133 bytes less the folder, a slash and the prefix; never more than 20, never below 0."""
    assert HF.room_for_steps(b"e" * saves_length, 133) == digits


def test_frameworks_are_known_by_name() -> None:
    """The names are those of the command line."""
    assert parse_framework("hf") is HF
    assert parse_framework("dcp") is DCP
    assert [framework.prefix for framework in FRAMEWORKS] == [b"checkpoint-", b"step-"]


@pytest.mark.parametrize("text", ["", "HF", "hf ", "torch"])
def test_an_unknown_framework_is_refused_with_those_there_are(text: str) -> None:
    """A typing error is found before training starts."""
    with pytest.raises(InvalidInputError) as caught:
        parse_framework(text)
    assert str(caught.value) == f"framework {text!r} is not one of: hf, dcp"


def test_the_state_used_here_is_json() -> None:
    """The cuts above are cuts of something whole."""
    assert json.loads(STATE)["global_step"] == 500


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_the_rule_never_holds_without_its_markers(root: Path, framework: Framework) -> None:
    """So that a removal which begins with them never leaves what looks complete."""
    assert framework.markers
    save = make_save(root, 7)
    for name in (".metadata", "__0.metadata", "__1.metadata"):
        (root / os.fsdecode(save) / name).write_bytes(b"metadata")
    assert framework.missing(plain_store(root), save, 7) is None
    for marker in framework.markers:
        (root / os.fsdecode(save + b"/" + marker)).unlink()
    assert framework.missing(plain_store(root), save, 7)
