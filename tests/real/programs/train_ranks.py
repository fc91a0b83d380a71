"""The job script's trainer on two ranks: the demo's real Trainer, of which rank 1 is slow.

Before it writes its random state rank 1 waits for LATE_SECONDS, and besides for as long as there
is a file ``hold`` in the folder that DISPATCH_TEST_CONTROL names; it says so with a file ``held``.
A file ``finish`` ends training after a last save.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from demo import settings, transformers_trainer

CONTROL = Path(os.environ["DISPATCH_TEST_CONTROL"])
STEP_SECONDS = 0.2
LATE_SECONDS = 0.7  # what the notes measured with
POLL_SECONDS = 0.02

torch_save = torch.save


def save_late(content: object, file: Any, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - torch's own interface
    """Do as `torch.save` does, later."""
    if isinstance(file, str) and Path(file).name == "rng_state_1.pth":
        time.sleep(LATE_SECONDS)
        while (CONTROL / "hold").exists():
            (CONTROL / "held").write_text(Path(file).parent.name, encoding="utf-8")
            time.sleep(POLL_SECONDS)
    torch_save(content, file, *arguments, **options)


class Finishing(TrainerCallback):  # type: ignore[misc]  # transformers isn't there to mypy
    """Ends training when the test says so, on both ranks at the same step."""

    def on_step_end(
        self,
        _args: TrainingArguments,
        _state: TrainerState,
        control: TrainerControl,
        **_: object,
    ) -> None:
        told = torch.tensor(int((CONTROL / "finish").exists()))
        torch.distributed.all_reduce(told, op=torch.distributed.ReduceOp.MAX)
        if told:
            control.should_save = True
            control.should_training_stop = True


def main() -> None:
    (CONTROL / f"pid-{os.environ['RANK']}").write_text(str(os.getpid()), encoding="utf-8")
    torch.save = save_late
    options = settings.parser("As the job script calls it.").parse_args()
    options.step_seconds = STEP_SECONDS
    transformers_trainer.train(options, [Finishing()])
    torch.distributed.barrier()  # else who is first takes the meeting point with it
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
