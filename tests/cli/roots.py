"""A checkpoint root, and the saves that trainers write below it."""

import base64
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tests.cli.program import ATTEMPT, EPOCH, Argument, Ended, Program, Running, wait_for

INTERVAL = "50ms"
"""From one scan to the next; tests wait for what a scan does, never for the interval."""


def entry_name(epoch: int, step: int, path: str | bytes) -> str:
    """Name a publication, by the specification and not by the product's own code."""
    encoded = base64.b32encode(os.fsencode(path)).decode().rstrip("=")
    return f"{epoch:020d}-{step:020d}-{encoded}"


class Root:
    """A checkpoint root that one execution after another uses."""

    def __init__(self, path: Path, program: Program) -> None:
        if not path.is_dir():
            path.mkdir()
        self.path = path
        self.program = program

    def __str__(self) -> str:
        return str(self.path)

    # -- saves

    def own(self, attempt: str = ATTEMPT) -> Path:
        """Where an execution writes."""
        return self.path / "exec" / attempt

    def hf(self, step: int, state: str | bytes | None = None, attempt: str = ATTEMPT) -> Path:
        """Write a save as Trainer does: its state last."""
        save = self.own(attempt) / f"checkpoint-{step}"
        save.mkdir(parents=True, exist_ok=True)
        (save / "model.safetensors").write_bytes(b"weights")
        if state is None:
            state = f'{{"epoch": 0.5, "global_step": {step}, "log_history": []}}'
        (save / "trainer_state.json").write_bytes(os.fsencode(state))
        return save

    def dcp(self, step: int, attempt: str = ATTEMPT) -> Path:
        """Write a save as PyTorch DCP does: its metadata renamed into place last."""
        save = self.own(attempt) / f"step-{step}"
        save.mkdir(parents=True, exist_ok=True)
        (save / "__0_0.distcp").write_bytes(b"shard")
        (save / ".metadata.tmp").write_bytes(b"metadata")
        (save / ".metadata.tmp").rename(save / ".metadata")
        return save

    # -- publications

    @property
    def pub(self) -> Path:
        """Where the entries are."""
        return self.path / "pub"

    def names(self) -> list[str]:
        """List what is in pub/, in the order of names."""
        return sorted(path.name for path in self.pub.iterdir()) if self.pub.exists() else []

    def relative(self, save: Path) -> str:
        """Give a save's path from the root on."""
        return str(save.relative_to(self.path))

    def entry(self, save: Path, step: int, epoch: int = EPOCH) -> Path:
        """Give the entry that publishes a save."""
        return self.pub / entry_name(epoch, step, self.relative(save))

    def write_entry(self, path: str | bytes, step: int, epoch: int = EPOCH) -> Path:
        """Make an entry without the program."""
        self.pub.mkdir(exist_ok=True)
        entry = self.pub / entry_name(epoch, step, path)
        entry.touch()
        return entry

    def published_steps(self) -> list[int]:
        """List the steps of all entries, ascending within each epoch."""
        return [int(name[21:41]) for name in self.names()]

    # -- commands

    def publish(self, save: Path, step: int, epoch: int = EPOCH) -> Ended:
        """Publish one save by hand, with success."""
        identity = {"DISPATCH_EPOCH": str(epoch)}
        arguments = ("publish", "-checkpoint", self.path, save, str(step))
        return self.program.run(*arguments, environment=identity).well()

    def resolve(self) -> bytes:
        """Ask for the save to resume from; its path, or nothing."""
        ended = self.program.run("resolve", "-checkpoint", self.path).well()
        assert not ended.out or ended.out.endswith(b"\n")
        return ended.out.removesuffix(b"\n")

    def assert_resolves_to(self, save: Path) -> None:
        """Compare the answer of resolve, byte for byte."""
        assert self.resolve() == os.fsencode(save)

    def prune(self, keep: int | str, *more: str) -> Ended:
        """Prune, whatever comes of it."""
        return self.program.run("prune", "-checkpoint", self.path, "-keep", str(keep), *more)

    def watch(
        self,
        *more: str,
        framework: str = "hf",
        attempt: str = ATTEMPT,
        prefix: Sequence[Argument] = (),
        stderr: IO[bytes] | None = None,
    ) -> Running:
        """Start a watch that scans often, and that waits for nothing to settle unless told."""
        settle = () if "-settle" in more else ("-settle", "0s")
        flags = ("-framework", framework, "-interval", INTERVAL, *settle, *more)
        return self.program.start(
            "watch", "-checkpoint", self.path, *flags,
            environment={"DISPATCH_ATTEMPT": attempt}, prefix=prefix, stderr=stderr,
        )  # fmt: skip

    def wait_until_published(self, save: Path, step: int, watch: Running) -> None:
        """Wait for a watch to publish a save."""
        entry = self.entry(save, step)
        what = f"the publication of {save.name}"
        wait_for(lambda: entry.exists() or not watch.is_running(), what)
        assert entry.exists(), f"watch ended early: {watch.said()!r}"

    def let_a_scan_pass(self, watch: Running, step: int, framework: str = "hf") -> Path:
        """Write a good save and wait for it: a scan has then passed over every lower step."""
        save = self.hf(step) if framework == "hf" else self.dcp(step)
        self.wait_until_published(save, step, watch)
        return save
