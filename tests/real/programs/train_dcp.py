"""The job script's trainer with `torch.distributed.checkpoint`: two gloo processes.

What it trains is a trace: for each step, which execution took it, in a tensor whose one row each
rank holds. So a save shows by its values whose steps are in it, and both ranks' must agree. It
saves to a folder, or to S3 when the output is one there: PyTorch takes both.

DISPATCH_TEST_CONTROL names a folder that the test and this program talk through: after a file
``hold``, rank 1 stops in its next save with its shard written, and says so with a file ``held``; a
file ``finish`` ends training after a last save. Each process leaves its id there.

SIGTERM ends none of them: they go on beside whatever replaces them.

With ``--read SAVE`` it prints what a save holds.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demo import reports

if TYPE_CHECKING:
    import torch

RANKS = 2
STEPS_MAX = 10_000  # more than there is time for
SAVE_STEPS = 5
STEP_SECONDS = 0.15
POLL_SECONDS = 0.02
TERMINATED = b'{"event": "terminated"}\n'
State = dict[str, "torch.Tensor"]


def control(name: str) -> Path:
    """A file in the folder that the test gave."""
    return Path(os.environ["DISPATCH_TEST_CONTROL"]) / name


def launch() -> int:
    """Start both ranks, and end both when one fails, as torchrun does; the status."""
    signal.signal(signal.SIGTERM, lambda *_: os.write(1, TERMINATED))
    meeting = control("meeting")
    ranks = [
        subprocess.Popen(
            [sys.executable, *sys.argv],
            env={**os.environ, "RANK": str(rank), "MEETING": f"file://{meeting}"},
        )
        for rank in range(RANKS)
    ]
    while any(rank.poll() is None for rank in ranks):
        if any(rank.poll() for rank in ranks):
            for rank in ranks:
                rank.kill()
            return 1
        time.sleep(POLL_SECONDS)
    return max(rank.returncode for rank in ranks)


def run(options: argparse.Namespace, rank: int, saving: type[Saving]) -> None:
    """Be one rank."""
    import torch
    from torch import distributed

    signal.signal(signal.SIGTERM, lambda *_: None)
    control(f"pid-{rank}").write_text(str(os.getpid()), encoding="utf-8")
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=os.environ["MEETING"], rank=rank, world_size=RANKS
    )
    train(options, rank, saving)
    distributed.barrier()
    distributed.destroy_process_group()


class Saving:
    """Its saves, in the form that the environment names: ``sync`` or ``async``.

    Attributes:
        STEP: What the step is called in a save.
        step: The last step that was trained or loaded.
    """

    STEP = "step"

    def __init__(self, options: argparse.Namespace, trace: torch.Tensor) -> None:
        from torch import distributed

        self.step = 0
        self._options = options
        self._trace = trace
        self._group = distributed.new_group(
            backend="gloo"
        )  # a save must not take turns with `agree`
        self._running: Any = None

    def load(self) -> None:
        """Load the save that it was told, if any."""
        import torch.distributed.checkpoint as dcp

        if self._options.resume_from_checkpoint:
            state = self._state()
            dcp.load(state, checkpoint_id=self._options.resume_from_checkpoint)
            self.step = int(state[self.STEP])

    def save(self, *, is_last: bool) -> None:
        """Save after some steps, and after the last; when an earlier save has ended."""
        import torch.distributed.checkpoint as dcp

        if self.step % SAVE_STEPS and not is_last:
            return
        self.wait()
        how = dcp.async_save if os.environ["DISPATCH_TEST_SAVING"] == "async" else dcp.save
        target = f"{self._options.output_dir}/step-{self.step}"
        saved = how(self._state(), checkpoint_id=target, process_group=self._group)
        self._running = saved if how is dcp.async_save else None

    def wait(self) -> None:
        """Wait until the last save has ended."""
        if self._running:
            self._running.result()

    def _state(self) -> State:
        import torch

        return {"trace": self._trace, self.STEP: torch.tensor(self.step)}


def train(options: argparse.Namespace, rank: int, saving: type[Saving]) -> None:
    """Train and save until told to finish."""
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor

    let_hold(rank)
    mesh = init_device_mesh("cpu", (RANKS,))
    empty = torch.zeros(RANKS, STEPS_MAX, dtype=torch.int64)
    trace = distribute_tensor(empty, mesh, [Shard(0)])
    saves = saving(options, trace)
    saves.load()
    tell("started", saves.step, trace.full_tensor(), rank)

    execution = int(os.environ["DISPATCH_EPOCH"])
    for step in range(saves.step + 1, STEPS_MAX):
        time.sleep(STEP_SECONDS)
        trace.to_local()[0, step] = execution
        saves.step = step
        is_last = agree(is_told=control("finish").exists())
        saves.save(is_last=is_last)
        if is_last:
            break
    saves.wait()


def agree(*, is_told: bool) -> bool:
    """Whether any rank was told: all must take the same turn."""
    import torch
    from torch import distributed

    told = torch.tensor(int(is_told))
    distributed.all_reduce(told, op=distributed.ReduceOp.MAX)
    return bool(told)


def let_hold(rank: int) -> None:
    """Have rank 1 held in the next save, once its shard is written, when the test says so."""
    import torch.distributed.checkpoint as dcp

    write_data = dcp.FileSystemWriter.write_data  # the writer to S3 inherits it

    def write_or_hold(writer: Any, *arguments: Any) -> Any:  # noqa: ANN401 - torch's own interface
        written = write_data(writer, *arguments)
        if rank == 1 and control("hold").exists():
            written.wait()
            name = str(writer.path).rpartition("/")[2]
            control("held").write_text(name, encoding="utf-8")
            while True:
                time.sleep(1)
        return written

    dcp.FileSystemWriter.write_data = write_or_hold


def read(save: str, saving: type[Saving]) -> None:
    """Print what a save holds, without the processes that wrote it."""
    import torch
    import torch.distributed.checkpoint as dcp

    trace = torch.zeros(RANKS, STEPS_MAX, dtype=torch.int64)
    state: State = {"trace": trace, saving.STEP: torch.tensor(0)}
    dcp.load(state, checkpoint_id=save, no_dist=True)
    tell("read", int(state[saving.STEP]), trace, 0)


def tell(event: str, step: int, trace: torch.Tensor, rank: int) -> None:
    """Print a step and both rows of the trace up to it, once."""
    if rank == 0:
        rows = [row[1 : step + 1].tolist() for row in trace]
        beyond = int(trace[:, step + 1 :].abs().sum())
        reports.emit(event, step=step, rows=rows, beyond=beyond)


def main(saving: type[Saving] = Saving) -> int:
    """Read a save, be one rank, or start both."""
    options = argparse.ArgumentParser(allow_abbrev=False)
    options.add_argument("--output_dir")
    options.add_argument("--resume_from_checkpoint")
    options.add_argument("--read")
    given = options.parse_args()
    if given.read:
        read(given.read, saving)
    elif "RANK" in os.environ:
        run(given, int(os.environ["RANK"]), saving)
    else:
        return launch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
