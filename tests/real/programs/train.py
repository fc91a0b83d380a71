"""The job script's ``train.py``: the demo's real Trainer, which a test can hold and finish.

DISPATCH_TEST_CONTROL names a folder that the test and this program talk through: a file ``hold``
stops the next save half-way, which is said with a file ``held``; a file ``finish`` ends training
after a last save. The program leaves its process id there.
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
STEP_SECONDS = 0.3
STEPS_MAX = 10_000  # more than there is time for
HELD_FILE = "scheduler.pt"  # weights and optimizer are written before it, the state after it

torch_save = torch.save


def save_or_hold(content: object, file: Any, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - torch's own interface
    """Do as `torch.save` does, or wait for ever in the middle of a save."""
    if isinstance(file, str) and Path(file).name == HELD_FILE and (CONTROL / "hold").exists():
        (CONTROL / "held").write_text(Path(file).parent.name, encoding="utf-8")
        while True:
            time.sleep(1)
    torch_save(content, file, *arguments, **options)


class Finishing(TrainerCallback):  # type: ignore[misc]  # transformers isn't there to mypy
    """Ends training when the test says so."""

    def on_step_end(
        self,
        _args: TrainingArguments,
        _state: TrainerState,
        control: TrainerControl,
        **_: object,
    ) -> None:
        if (CONTROL / "finish").exists():
            control.should_save = True
            control.should_training_stop = True


def main() -> None:
    (CONTROL / "pid").write_text(str(os.getpid()), encoding="utf-8")
    torch.save = save_or_hold
    options = settings.parser("As the job script calls it.").parse_args()
    options.step_seconds = STEP_SECONDS
    options.max_steps = STEPS_MAX
    transformers_trainer.train(options, [Finishing()])


if __name__ == "__main__":
    main()
