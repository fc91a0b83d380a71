"""The job script's trainer with torchtitan's own `CheckpointManager`: as `train_dcp` otherwise.

It saves the model, in which the trace is, with torchtitan's optimizer and schedule beside it, to
``<output>/checkpoint/step-<n>``, and loads the save that it was told by ``initial_load_path``.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from tests.real.programs import train_dcp

if TYPE_CHECKING:
    import torch


class TitanSaving(train_dcp.Saving):
    """Its saves, by torchtitan; also the manager's ``train_state``."""

    STEP = "train_state.step"

    def __init__(self, options: argparse.Namespace, trace: torch.Tensor) -> None:
        import torch
        from torch.distributed.tensor import Shard, distribute_tensor
        from torchdata.stateful_dataloader import StatefulDataLoader
        from torchtitan.components.checkpoint import CheckpointManager
        from torchtitan.components.optimizer import LRSchedulersContainer, default_adamw
        from torchtitan.tools.logging import init_logger

        init_logger()
        self.step = 0
        model = torch.nn.Module()
        model.register_buffer("trace", trace)
        weights = distribute_tensor(torch.ones(2, 2), trace.device_mesh, [Shard(0)])
        model.weights = torch.nn.Parameter(weights)
        optimizers = default_adamw(implementation="for-loop").build(model_parts=[model])
        schedule = LRSchedulersContainer.Config(warmup_steps=2)
        self._manager = CheckpointManager.Config(
            enable=True,
            interval=train_dcp.SAVE_STEPS,
            keep_latest_k=0,
            initial_load_path=options.resume_from_checkpoint,
            initial_load_model_only=False,
            last_save_model_only=False,
            async_mode="async" if os.environ["DISPATCH_TEST_SAVING"] == "async" else "disabled",
        ).build(
            dataloader=StatefulDataLoader(range(train_dcp.STEPS_MAX)),
            model_parts=[model],
            optimizers=optimizers,
            lr_schedulers=schedule.build(optimizers=optimizers, training_steps=train_dcp.STEPS_MAX),
            states={"train_state": self},
            sd_adapter=None,
            base_folder=options.output_dir,
        )

    def load(self) -> None:
        """Load as torchtitan's trainer does."""
        self._manager.load()

    def save(self, *, is_last: bool) -> None:
        """Let the manager decide whether it is time."""
        self._manager.save(self.step, last_step=is_last)

    def wait(self) -> None:
        """Wait until the last save has ended, and end the manager."""
        self._manager.maybe_wait_for_saving()
        self._manager.close()

    def state_dict(self) -> dict[str, Any]:
        """What torchtitan's trainer saves of itself."""
        import torch

        return {"step": torch.tensor(self.step, dtype=torch.int32)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take it back."""
        self.step = int(state["step"])


if __name__ == "__main__":
    sys.exit(train_dcp.main(TitanSaving))
