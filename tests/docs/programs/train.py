"""A stub of a trainer, for the examples: two saves, and one more on SIGTERM when it waits for it.

`--output_dir OUT` is laid out as Trainer does, `--out OUT` as DCP does in its folder `checkpoint`.
With TRAIN_UNTIL_SIGNAL set it trains until SIGTERM, takes its time, and saves once more.
"""

import os
import signal
import sys
import time
from pathlib import Path

SLOW_S = 0.5
WAIT_S_MAX = 20
POLL_S = 0.01
CATCHES_SIGTERM = 1 << (signal.SIGTERM - 1)


def watcher_is_up() -> bool:
    """Whether the job script's `publish watch` takes SIGTERM by now: real training lasts longer."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            status = dict(
                line.split(":\t", 1) for line in (process / "status").read_text().splitlines()
            )
            command = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it ended meanwhile
        if int(status["PPid"]) == os.getppid() and b"watch" in command:
            return bool(int(status["SigCgt"], 16) & CATCHES_SIGTERM)
    return False


def save(arguments: list[str], step: int) -> None:
    """Write one save, its marker last."""
    out = Path(arguments[arguments.index("--out") + 1 if "--out" in arguments else 1])
    if "--out" in arguments:
        folder = out / "checkpoint" / f"step-{step}"
        folder.mkdir(parents=True)
        (folder / ".metadata").write_bytes(b"metadata")
    else:
        folder = out / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"weights")
        (folder / "trainer_state.json").write_text(f'{{"global_step": {step}}}', encoding="utf-8")


def main() -> None:
    """Train."""
    arguments = sys.argv[1:]
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    deadline = time.monotonic() + WAIT_S_MAX
    while not watcher_is_up() and time.monotonic() < deadline:
        time.sleep(POLL_S)
    sys.stdout.write(f"trained with {' '.join(arguments)}\n")
    sys.stdout.flush()
    save(arguments, 2100)
    save(arguments, 2200)
    if "TRAIN_UNTIL_SIGNAL" in os.environ:
        signal.sigwait([signal.SIGTERM])
        time.sleep(SLOW_S)  # a watcher that got the signal too has ended by now
        save(arguments, 2300)


main()
