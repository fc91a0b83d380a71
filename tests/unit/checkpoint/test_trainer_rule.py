"""A save of Trainer has what it shows to be part of it; what can't be missing isn't asked for."""

import json

import pytest

from dispatch.checkpoint import Framework, Look
from dispatch.errors import UnavailableError
from dispatch.testing.memory import MemoryStore
from dispatch.testing.nodes import Folder, Link, Pipe, parent_of
from tests.unit.stores import trainer_state

SAVE = b"exec/a/checkpoint-500"
MODEL = ("config.json", "generation_config.json", "training_args.bin")
SHARDS = tuple(f"model-0000{number}-of-00003.safetensors" for number in (1, 2, 3))
INDEX = "model.safetensors.index.json"
ONE = ("optimizer.pt", "scheduler.pt", "rng_state.pth")
TWO = ("optimizer.pt", "scheduler.pt", "rng_state_0.pth", "rng_state_1.pth")


def index_of(*names: str) -> bytes:
    """Write an index as `save_pretrained` does: each tensor with its file."""
    tensors = {f"layer.{place}": name for place, name in enumerate((*names, *names))}
    return json.dumps({"metadata": {"total_size": 1}, "weight_map": tensors}).encode()


class Save:
    """A save of step 500 in memory, with a right state."""

    def __init__(self, *names: str, **contents: bytes) -> None:
        self.store = MemoryStore()
        self.add("trainer_state.json", trainer_state(500))
        for name in names:
            self.add(name, index_of(*SHARDS) if name == INDEX else b"content")

    def add(self, name: str, content: object = b"content") -> None:
        """Make a file, or what else may have a name."""
        folder, last = parent_of(self.store.folder, SAVE + b"/" + name.encode())
        folder.inner[last] = content  # type: ignore[assignment]

    def remove(self, name: str) -> None:
        """Take a name away."""
        folder, last = parent_of(self.store.folder, SAVE + b"/" + name.encode())
        del folder.inner[last]

    def missing(self, ranks: int | None = None) -> str | None:
        """Ask the rule what it lacks."""
        return Framework.hf.missing(self.store, SAVE, 500, ranks)

    def may_grow(self) -> bool:
        """Ask the rule whether others may still write."""
        return Framework.hf.judge(Look(self.store, SAVE, 500)).may_grow


WHOLE = {
    "one process": (*MODEL, "model.safetensors", *ONE),
    "two processes": (*MODEL, "model.safetensors", *TWO),
    "the model only": (*MODEL, "model.safetensors"),
    "weights of an older version": (*MODEL, "pytorch_model.bin", *ONE),
    "sharded": (*MODEL, *SHARDS, INDEX, *ONE),
    "an adapter": ("adapter_config.json", "adapter_model.safetensors", *ONE),
    "an adapter of an older version": ("adapter_model.bin", *ONE),
    "adapters in folders": ("first/adapter_model.safetensors", "second/adapter_model.bin", *ONE),
    "modules in folders": ("modules.json", "0_Transformer/model.safetensors", *ONE),
    "FSDP, sharded": (
        "pytorch_model_fsdp_0/.metadata", "pytorch_model_fsdp_0/__0_0.distcp",
        "optimizer_0/.metadata", "optimizer_0/__0_0.distcp", *TWO[1:],
    ),
    "FSDP, full": ("pytorch_model_fsdp.bin", "optimizer.bin", *TWO[1:]),
    "FSDP, by rank": ("pytorch_model_fsdp_rank0.bin", "optimizer_rank0.bin", *TWO[1:]),
    "DeepSpeed": (
        "latest", "zero_to_fp32.py", "global_step500/mp_rank_00_model_states.pt",
        "global_step500/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt", *TWO[2:],
    ),
    "DeepSpeed without ZeRO": ("latest", "global_step5/mp_rank_00_model_states.pt", *TWO[2:]),
    "XLA": ("pytorch_model.bin", "rank0-of-2-optimizer.pt", "scheduler.pt", *TWO[2:]),
    "a gradient scaler": ("model.safetensors", "scaler.pt", *ONE),
    "a tokenizer": ("model.safetensors", "tokenizer.json", "vocab.txt", "tokenizer.model", *ONE),
    "an optimizer and no random state": ("model.safetensors", "optimizer.pt"),
    "a name with a newline": ("odd\nfolder/model.safetensors",),
}  # fmt: skip


@pytest.mark.parametrize("names", WHOLE.values(), ids=WHOLE)
def test_what_a_trainer_writes_is_complete(names: tuple[str, ...]) -> None:
    """In each of its modes: no legitimate save waits for ever."""
    assert Save(*names).missing() is None


NEEDED = {
    "one process": ["model.safetensors", "optimizer.pt"],
    "two processes": ["model.safetensors", "optimizer.pt", "rng_state_0.pth", "rng_state_1.pth"],
    "the model only": ["model.safetensors"],
    "sharded": [*SHARDS, INDEX, "optimizer.pt"],
    "adapters in folders": ["optimizer.pt"],  # which adapters there are, nothing shows
    "FSDP, sharded": [
        "pytorch_model_fsdp_0/.metadata", "pytorch_model_fsdp_0/__0_0.distcp",
        "optimizer_0/.metadata", "rng_state_0.pth", "rng_state_1.pth",
    ],
    "DeepSpeed": [
        "global_step500/mp_rank_00_model_states.pt", "rng_state_0.pth", "rng_state_1.pth",
    ],
}  # fmt: skip


@pytest.mark.parametrize("mode", NEEDED)
def test_each_file_taken_away_is_missed_if_the_rest_shows_it(mode: str) -> None:
    """And those alone: a rotation deletes in any order, the state last or not."""
    missed = []
    for name in WHOLE[mode]:
        save = Save(*WHOLE[mode])
        save.remove(name)
        if save.missing():
            missed.append(name)
    assert sorted(missed) == sorted(NEEDED[mode])


@pytest.mark.parametrize("mode", WHOLE)
def test_a_save_whose_weights_are_gone_is_not_complete(mode: str) -> None:
    """However few other files are left: the state alone, too."""
    left = [name for name in WHOLE[mode] if name.endswith((".json", ".txt", ".py", ".model"))]
    while True:
        assert Save(*left).missing()
        if not left:
            break
        left.pop()


REASONS = {
    "holds no weights": Save(*ONE),
    "lacks model-00002-of-00003.safetensors, which model.safetensors.index.json names": Save(
        INDEX, SHARDS[0], SHARDS[2], *ONE
    ),
    "lacks model-00001-of-00003.safetensors, model-00002-of-00003.safetensors, "
    "model-00003-of-00003.safetensors, which model.safetensors.index.json names": Save(INDEX),
    "has a random state or a scheduler, and no optimizer": Save("model.safetensors", *ONE[1:]),
    "has no random state of rank 1": Save("model.safetensors", *TWO[:3]),
    "has no random state of rank 0": Save("model.safetensors", *TWO[:2], TWO[3]),
    "has no .metadata in pytorch_model_fsdp_0": Save(
        "pytorch_model_fsdp_0/__0_0.distcp", "optimizer.bin"
    ),
}


@pytest.mark.parametrize("reason", REASONS)
def test_what_is_missing_is_named(reason: str) -> None:
    assert REASONS[reason].missing() == reason


def test_what_is_wrong_with_the_state_is_named() -> None:
    save = Save("model.safetensors")
    save.add("checkpoint-is-incomplete.txt", Pipe())
    assert save.missing() == "holds checkpoint-is-incomplete.txt"
    save.add("trainer_state.json", trainer_state(501))
    assert save.missing() == "has a trainer_state.json of step 501"
    save.add("trainer_state.json", b"{")
    assert save.missing() == "has a trainer_state.json that is not whole"
    save.add("trainer_state.json", Folder())
    assert save.missing() == "has no trainer_state.json"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"weight_map": []}', b'{"metadata": {}}', index_of("a")[:-1]],
)
def test_an_index_that_is_not_whole_names_nothing(content: bytes) -> None:
    save = Save("model.safetensors")
    save.add(INDEX, content)
    assert save.missing() == f"has a {INDEX} that is not whole"


def test_an_index_names_files_beside_itself_and_odd_ones_are_missing() -> None:
    save = Save("part/" + SHARDS[0])
    save.add("part/" + INDEX, index_of(SHARDS[0]))
    assert save.missing() is None
    for odd in ("../x", "\ud800", ""):
        save.add("part/" + INDEX, index_of(SHARDS[0], odd))
        assert str(save.missing()).startswith("lacks part/")
    save.add("part/" + INDEX, b'{"weight_map": {"a": 5}}')
    assert save.missing() == f"lacks part/5, which part/{INDEX} names"


def test_a_large_index_names_the_first_three_that_are_missing() -> None:
    save = Save()
    save.add(INDEX, index_of(*(f"shard-{number:05}" for number in range(5000))))
    assert save.missing() == (
        f"lacks shard-00000, shard-00001, shard-00002 and 4997 more, which {INDEX} names"
    )


def test_only_a_regular_file_counts_and_links_are_followed() -> None:
    save = Save("real")
    for node in (Folder(), Pipe(), Link(b"nowhere"), Link(b"model.safetensors")):
        save.add("model.safetensors", node)
        assert save.missing() == "holds no weights"
    save.add("model.safetensors", Link(b"real"))
    assert save.missing() is None


@pytest.mark.parametrize(
    ("names", "ranks", "reason"),
    [
        (TWO, 2, None),
        (TWO, 3, "has no random state of rank 2"),
        (TWO, 1, "has no rng_state.pth"),
        (ONE, 1, None),
        (ONE, 2, "has no random state of rank 0"),
        ((*TWO, "rng_state_2.pth"), 2, "has a random state of rank 2, of 2 ranks"),
        ((*TWO, "rng_state_2.pth"), None, None),
        ((*TWO, "rng_state_3.pth"), None, "has no random state of rank 2"),
        ((*TWO, "rng_state_3.pth"), 4, "has no random state of rank 2"),
        ((), 8, None),  # save_only_model: the others write nothing
        (("optimizer.pt",), 2, "has no random state of rank 0"),
        ((*ONE, *TWO), 2, None),
        ((*ONE, TWO[3]), None, "has no random state of rank 0"),
    ],
)
def test_the_ranks_are_those_given_or_else_those_that_the_save_shows(
    names: tuple[str, ...], ranks: int | None, reason: str | None
) -> None:
    assert Save("model.safetensors", *names).missing(ranks) == reason


def test_a_rank_of_two_hundred_digits_is_soon_answered() -> None:
    save = Save("model.safetensors", *TWO, f"rng_state_{'9' * 200}.pth")
    assert save.missing() == "has no random state of rank 2"


def test_a_save_of_one_process_is_whole_with_its_marker_and_another_may_grow() -> None:
    assert not Save("model.safetensors").may_grow()
    assert not Save("model.safetensors", *ONE).may_grow()
    assert Save("model.safetensors", *TWO).may_grow()


def test_a_look_lists_the_save_once_and_only_when_the_state_is_right() -> None:
    save = Save("model.safetensors")
    look = Look(save.store, SAVE, 500)
    assert look.contents() is look.contents()
    save.add("trainer_state.json", b"")

    def fail(_: bytes) -> object:
        raise UnavailableError("nobody may list it")

    save.store.contents = fail  # type: ignore[method-assign, assignment]
    assert save.missing()
