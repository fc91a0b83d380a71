"""The command line that both trainers have."""

from __future__ import annotations

import argparse
from pathlib import Path


def parser(about: str) -> argparse.ArgumentParser:
    """Options that are spelled as Trainer's own examples spell them."""
    options = argparse.ArgumentParser(description=about, allow_abbrev=False)
    options.add_argument("--output_dir", type=Path, required=True, help="where saves are written")
    options.add_argument(
        "--resume_from_checkpoint",
        metavar="SAVE",
        help="a save's folder, or True for the highest-numbered one in the output folder",
    )
    options.add_argument("--max_steps", type=int, default=1000, help="where training ends")
    options.add_argument(
        "--save_steps", type=int, default=5, help="steps from one save to the next"
    )
    options.add_argument(
        "--save_total_limit", type=int, help="older saves than so many are deleted"
    )
    options.add_argument(
        "--step_seconds", type=float, default=0.1, help="how long one step takes at least"
    )
    return options
