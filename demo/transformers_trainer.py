"""The real Hugging Face Trainer, training a tiny, randomly initialised GPT-2 on the CPU.

Run by the Python of `.venv-frameworks`, with nothing of ours but this folder. Nothing is
downloaded: the model comes from a configuration and the tokens from a random generator.
"""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}  # before the imports

import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from demo import reports, settings

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

TOKENS, LENGTH, EXAMPLES = 128, 16, 64
WIDTH, LAYERS, HEADS = 32, 2, 2


class Examples(torch.utils.data.Dataset):  # type: ignore[misc]  # torch isn't there to mypy
    """Random tokens, the same in every run."""

    def __len__(self) -> int:
        return EXAMPLES

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        chance = torch.Generator().manual_seed(index)
        tokens = torch.randint(0, TOKENS, (LENGTH,), generator=chance)
        return {"input_ids": tokens, "labels": tokens}


class Reporting(TrainerCallback):  # type: ignore[misc]  # transformers isn't there to mypy
    """Writes the lineage into the state, keeps the pace, and saves on SIGTERM and goes on."""

    def __init__(self, step_seconds: float) -> None:
        self._step_seconds = step_seconds
        self._is_terminated = False
        signal.signal(signal.SIGTERM, self._terminate)

    def _terminate(self, *_: object) -> None:
        self._is_terminated = True

    def on_train_begin(
        self,
        _args: TrainingArguments,
        state: TrainerState,
        _control: TrainerControl,
        **_: object,
    ) -> None:
        """Add this execution to the lineage, which a resumed state brings along."""
        state.log_history.append(reports.link_to_log(state.global_step))
        reports.emit("started", step=state.global_step)

    def on_step_end(
        self,
        _args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **_: object,
    ) -> None:
        """Ask for a save when SIGTERM came during the step."""
        time.sleep(self._step_seconds)
        if self._is_terminated:
            self._is_terminated = False
            reports.emit("terminated", step=state.global_step)
            control.should_save = True

    def on_save(
        self,
        _args: TrainingArguments,
        state: TrainerState,
        _control: TrainerControl,
        **_: object,
    ) -> None:
        """Tell of the save, which is complete and followed by its rotation."""
        reports.emit("saved", step=state.global_step)


def train(options: argparse.Namespace, callbacks: Sequence[TrainerCallback] = ()) -> None:
    """Train as the command line says, with further ``callbacks``."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=TOKENS,
            n_positions=2 * LENGTH,
            n_embd=WIDTH,
            n_layer=LAYERS,
            n_head=HEADS,
            bos_token_id=0,
            eos_token_id=0,
        )
    )
    arguments = TrainingArguments(
        output_dir=os.fspath(options.output_dir),
        max_steps=options.max_steps,
        save_strategy="steps",
        save_steps=options.save_steps,
        save_total_limit=options.save_total_limit,
        per_device_train_batch_size=4,
        logging_steps=1,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=Examples(),
        callbacks=[Reporting(options.step_seconds), *callbacks],
    )
    trainer.remove_callback(PrinterCallback)
    resume = options.resume_from_checkpoint
    trainer.train(resume_from_checkpoint=True if resume == "True" else resume)


def main() -> None:
    """Run the program."""
    options = settings.parser(__doc__.partition("\n")[0]).parse_args()
    reports.report_removals()
    train(options)


if __name__ == "__main__":
    main()
