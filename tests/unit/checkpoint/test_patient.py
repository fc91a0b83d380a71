"""A patient store is the store, and says what it waited for when nothing comes."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dispatch.adapters.system.patience import ThreadPatience
from dispatch.checkpoint.patient import PatientStore
from dispatch.errors import UnavailableError
from tests.unit.stores import InlinePatience, LostPatience, ScriptedStore, make_save

SAVE = b"exec/1.1.0/checkpoint-1"


@pytest.fixture
def patient(root: Path, store: ScriptedStore) -> PatientStore:
    """A store with one save and one name in pub/, by whichever patience."""
    make_save(root, 1)
    store.create("pub", "name")
    return PatientStore(store, InlinePatience(), 30)


def test_it_answers_what_the_store_answers(
    root: Path, store: ScriptedStore, patient: PatientStore
) -> None:
    """Each method once."""
    patient.check()
    assert patient.names("pub") == (["name"], False)
    assert patient.create("pub", "other") is True
    assert patient.remove("pub", ["other", "gone"]) == (["other"], {})
    assert list(patient.written("pub", ["gone", "name"])) == ["name"]
    assert patient.claim("runs", "1", "a") == "a"
    assert patient.claim("runs", "1", "b") == "a"
    assert patient.claimed("runs", "1") == "a"
    assert patient.claim_all("runs", {"1": "b", "3": "b"}) == {"1": "a", "3": "b"}
    assert patient.claimed("runs", "2") is None
    assert patient.access() == store.access()
    assert patient.children(b"exec/1.1.0", b"check") == [b"checkpoint-1"]
    assert patient.has_save(SAVE)
    assert patient.read(SAVE, b"model.safetensors", 100) == b"weights 1"
    assert patient.has_file(SAVE, b"model.safetensors")
    assert not patient.has_name(SAVE, b"gone")
    names = [b"model.safetensors", b"trainer_state.json"]
    assert sorted(patient.contents(SAVE).states) == names
    assert patient.location(SAVE) == bytes(root) + b"/" + SAVE
    assert patient.relative(bytes(root) + b"/x/y") == b"x/y"
    assert set(patient.sync_save(SAVE)) == {
        SAVE + b"/model.safetensors",
        SAVE + b"/trainer_state.json",
        SAVE,
        b"exec/1.1.0",
        b"exec",
        b".",
    }


Call = Callable[[PatientStore], object]
WAITS: dict[str, Call] = {
    "looking at the root": lambda p: p.check(),
    "listing pub/": lambda p: p.names("pub"),
    "creating pub/x": lambda p: p.create("pub", "x"),
    "removing from pub/": lambda p: p.remove("pub", ["x"]),
    "looking at pub/": lambda p: p.written("pub", ["x"]),
    "claiming runs/1": lambda p: p.claim("runs", "1", "a"),
    "claiming in fates/": lambda p: p.claim_all("fates", {"1": "a"}),
    "reading runs/1": lambda p: p.claimed("runs", "1"),
    "looking how the root is reached": lambda p: p.access(),
    "listing exec/\udcff": lambda p: p.children(b"exec/\xff", b""),
    "looking at exec/a": lambda p: p.has_save(b"exec/a"),
    "reading exec/a/b": lambda p: p.read(b"exec/a", b"b", 1),
    "looking at exec/a/b": lambda p: p.has_file(b"exec/a", b"b"),
    "looking at exec/a/c": lambda p: p.has_name(b"exec/a", b"c"),
    "listing all of exec/a": lambda p: p.contents(b"exec/a"),
    "syncing exec/a": lambda p: next(p.sync_save(b"exec/a")),
    "looking for the root": lambda p: p.relative(b"/x"),
}


@pytest.mark.parametrize(("doing", "call"), WAITS.items(), ids=WAITS)
def test_a_call_that_never_ends_is_named(
    root: Path, store: ScriptedStore, doing: str, call: Call
) -> None:
    """With the root and how long it was waited for."""
    with pytest.raises(UnavailableError) as caught:
        call(PatientStore(store, LostPatience(0), 1.5))
    assert str(caught.value) == f"no answer from '{root}' for 1.5 s while {doing}"
    assert caught.value.kind == "store-silent"
    assert isinstance(caught.value.__cause__, TimeoutError)


def test_syncing_is_waited_for_file_by_file(
    store: ScriptedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large save takes long; it is silent only when no file gets done."""

    def sync_save(_self: ScriptedStore, save: bytes) -> Iterator[bytes]:
        yield from (b"1", b"2", b"3")

    monkeypatch.setattr(ScriptedStore, "sync_save", sync_save)
    patience = LostPatience(answered=2)
    durable = PatientStore(store, patience, 10).sync_save(b"a")
    assert [next(durable), next(durable)] == [b"1", b"2"]
    with pytest.raises(UnavailableError):
        next(durable)


def test_it_works_with_threads(root: Path, store: ScriptedStore) -> None:
    """As in production: the calls come from another thread, one after the other."""
    make_save(root, 1)
    patient = PatientStore(store, ThreadPatience(), 60)
    assert patient.has_save(SAVE)
    assert patient.create("pub", "x") is True
    assert patient.create("pub", "x") is False
