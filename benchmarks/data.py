"""Roots full of publications and saves, in temporary folders."""

import os
from base64 import b32encode
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

SAVES_PER_EXECUTION = 1000
STEPS_PER_SAVE = 500
LINKS_MAX = 60_000
"""Of one file; ext4 allows 65,000."""

STATE = '{{"epoch": 0.5, "global_step": {step}, "log_history": []}}'


def entry_names() -> Iterator[str]:
    """Yield the names of entries as executions of a thousand saves each make them, ascending."""
    execution = 0
    while True:
        execution += 1
        epoch = execution * 10**6
        for save in range(1, SAVES_PER_EXECUTION + 1):
            step = save * STEPS_PER_SAVE
            path = f"exec/{execution}.{4100 + execution}.0/checkpoint-{step}"
            body = b32encode(path.encode()).rstrip(b"=").decode()
            yield f"{epoch:020d}-{step:020d}-{body}"


def fill_with_entries(folder: Path, count: int) -> None:
    """Make ``folder``, with so many entries.

    They are links to a few empty files, which are made and removed faster than files: a listing
    reads names alone, and can't tell.
    """
    folder.mkdir(parents=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        first = ""
        for number, name in enumerate(islice(entry_names(), count)):
            if number % LINKS_MAX == 0:
                first = name
                os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, dir_fd=handle))
            else:
                os.link(first, name, src_dir_fd=handle, dst_dir_fd=handle)
    finally:
        os.close(handle)


def fill_with_saves(folder: Path, count: int) -> None:
    """Make ``folder``, with so many complete saves of the Trainer (small ones)."""
    folder.mkdir(parents=True)
    for step in range(1, count + 1):
        save = folder / f"checkpoint-{step}"
        save.mkdir()
        (save / "model.safetensors").write_bytes(b"weights")
        (save / "trainer_state.json").write_text(STATE.format(step=step), encoding="ascii")
