"""A small trainer with the folder layout and the order of writing of Hugging Face Trainer.

It fits a line to noisy points with the standard library alone, and really resumes: weights,
momentum and random state come from the save. What matters here is as measured on Trainer 5.24:

- A save is the folder ``checkpoint-<step>``, under its final name from the start. The weights are
  written under a temporary name and renamed; every other file is written in place; the state
  comes last. Nothing is synced.
- ``save_total_limit`` removes the oldest by modification time, or by number when all are younger
  than a second apart, and never the newest in that order. It looks at every save in the folder,
  whoever wrote it.
- ``--resume_from_checkpoint True`` takes the highest number, complete or not.
- SIGTERM is trapped: the step under way is finished and saved. Then training goes on, as that of a
  real run does that its scheduler only believes to have ended. With ``--last_save_seconds`` that
  save takes as long as is said, and training ends with it.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import struct
import tempfile
import time
from functools import partial
from pathlib import Path

from demo import reports, settings

LOAD_SECONDS = 0.7  # a real trainer loads its libraries, its model and its data first
FILE_SECONDS = 0.01  # and a save takes a while
SLOW_FILES = 6  # of a save: all but the weights
LEARNING_RATE, MOMENTUM = 0.05, 0.9
SLOPE, OFFSET, NOISE = 3.0, -1.0, 0.1  # of the points
ORDERED_BY_TIME_SECONDS = 1.0  # saves that lie closer together are ordered by number


class Model:
    """A line, its momentum, and the points still to come."""

    def __init__(self) -> None:
        self.weights = [0.0, 0.0]
        self.momentum = [0.0, 0.0]
        self.chance = random.Random(0)

    def train_one_step(self) -> float:
        """Take one step down the squared error of one point; the error before it."""
        x = self.chance.uniform(-1, 1)
        y = SLOPE * x + OFFSET + self.chance.gauss(0, NOISE)
        error = self.weights[0] * x + self.weights[1] - y
        for index, gradient in enumerate((error * x, error)):
            self.momentum[index] = MOMENTUM * self.momentum[index] + gradient
            self.weights[index] -= LEARNING_RATE * self.momentum[index]
        return error * error


def pack_weights(weights: list[float]) -> bytes:
    """``weights`` in the safetensors format."""
    data = struct.pack(f"<{len(weights)}d", *weights)
    tensor = {"dtype": "F64", "shape": [len(weights)], "data_offsets": [0, len(data)]}
    header = json.dumps({"line": tensor}).encode()
    return struct.pack("<Q", len(header)) + header + data


def unpack_weights(content: bytes) -> list[float]:
    """What `pack_weights` packed."""
    (length,) = struct.unpack_from("<Q", content)
    return [value for (value,) in struct.iter_unpack("<d", content[8 + length :])]


def write_slowly(path: Path, content: bytes, seconds: float) -> None:
    """Write a file in place, half of it first."""
    half = len(content) // 2
    with path.open("wb", buffering=0) as file:
        file.write(content[:half])
        time.sleep(seconds)
        file.write(content[half:])


class Trainer:
    """One run of training.

    Attributes:
        model: What is trained.
        step: Steps done so far, over all executions of this lineage.
        history: As Trainer's `log_history`; the lineage is in it.
        last_save_seconds: How long the save on SIGTERM takes, which then ends training; None: it
            is a save like any other, and training goes on.
    """

    def __init__(self, folder: Path, save_steps: int, save_total_limit: int | None) -> None:
        self.last_save_seconds: float | None = None
        self.model = Model()
        self.step = 0
        self.history: list[reports.Event] = []
        self._folder = folder
        self._save_steps = save_steps
        self._save_total_limit = save_total_limit
        self._is_terminated = False

    def terminate(self, *_: object) -> None:
        """Handle SIGTERM: save after the step under way."""
        self._is_terminated = True

    def resume(self, save: Path) -> None:
        """Go back to what ``save`` holds.

        Raises:
            OSError: The save isn't complete.
        """
        state = json.loads((save / reports.STATE_NAME).read_bytes())
        self.step, self.history = state["global_step"], state["log_history"]
        self.model.weights = unpack_weights((save / "model.safetensors").read_bytes())
        self.model.momentum = json.loads((save / "optimizer.pt").read_bytes())
        version, internal, spare = json.loads((save / "rng_state.pth").read_bytes())
        self.model.chance.setstate((version, tuple(internal), spare))

    def train(self, max_steps: int, step_seconds: float) -> None:
        """Train and save until ``max_steps``."""
        self.history.append(reports.link_to_log(self.step))
        attempts = [event["attempt"] for event in self.history if "attempt" in event]
        reports.emit("started", step=self.step, attempts=attempts)
        while self.step < max_steps:
            time.sleep(step_seconds)
            loss = self.model.train_one_step()
            self.step += 1
            self.history.append({"loss": loss, "step": self.step})
            is_due = self.step % self._save_steps == 0 or self.step == max_steps
            if self._is_terminated:
                self._is_terminated = False
                reports.emit("terminated", step=self.step)
                if self.last_save_seconds is not None:
                    self._save(self.last_save_seconds / SLOW_FILES)
                    return
                self._save()
            elif is_due:
                self._save()

    def _save(self, file_seconds: float = FILE_SECONDS) -> None:
        write = partial(write_slowly, seconds=file_seconds)
        save = self._folder / f"checkpoint-{self.step}"
        save.mkdir(parents=True, exist_ok=True)
        write(save / "config.json", b'{"model_type": "line"}')
        with tempfile.NamedTemporaryFile(dir=save, prefix=".tmp", delete=False) as file:
            file.write(pack_weights(self.model.weights))
        Path(file.name).rename(save / "model.safetensors")
        write(save / "training_args.bin", json.dumps(str(self._folder)).encode())
        write(save / "optimizer.pt", json.dumps(self.model.momentum).encode())
        write(save / "scheduler.pt", json.dumps({"last_epoch": self.step}).encode())
        write(save / "rng_state.pth", json.dumps(self.model.chance.getstate()).encode())
        state = {"global_step": self.step, "log_history": self.history}
        write(save / reports.STATE_NAME, json.dumps(state, indent=2).encode())
        self._rotate()
        reports.emit("saved", step=self.step)

    def _rotate(self) -> None:
        saves = reports.saves_in(self._folder)
        ages = {save: age for save in saves if (age := modified_s(save)) is not None}
        if ages and max(ages.values()) - min(ages.values()) >= ORDERED_BY_TIME_SECONDS:
            saves = sorted(ages, key=ages.__getitem__)
        if self._save_total_limit:
            for save in saves[: -self._save_total_limit]:
                shutil.rmtree(save, ignore_errors=True)


def modified_s(save: Path) -> float | None:
    """When a folder was last modified; None when it is gone."""
    try:
        return save.stat().st_mtime
    except FileNotFoundError:
        return None


def main() -> None:
    """Run the program."""
    parser = settings.parser(__doc__.partition("\n")[0])
    parser.add_argument(
        "--last_save_seconds", type=float, help="how long the save on SIGTERM takes, the last then"
    )
    options = parser.parse_args()
    trainer = Trainer(options.output_dir, options.save_steps, options.save_total_limit)
    trainer.last_save_seconds = options.last_save_seconds
    signal.signal(signal.SIGTERM, trainer.terminate)
    reports.report_removals()
    time.sleep(LOAD_SECONDS)
    if options.resume_from_checkpoint == "True":
        trainer.resume(reports.saves_in(options.output_dir)[-1])
    elif options.resume_from_checkpoint:
        trainer.resume(Path(options.resume_from_checkpoint))
    trainer.train(options.max_steps, options.step_seconds)


if __name__ == "__main__":
    main()
