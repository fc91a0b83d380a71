"""docs/reference/cli.md, made from the program: python -m tests.docs.cli_page writes it."""

import subprocess
from pathlib import Path

from dispatch.cli import exitcodes
from dispatch.cli.publish.catalog import COMMANDS
from tests.docs.pages import ROOT
from tests.docs.sandbox import find_publish

PAGE = ROOT / "docs/reference/cli.md"

HEAD = """\
# Command line

What `publish -help` and `publish COMMAND -help` print. This page is made from the program:
`python -m tests.docs.cli_page` writes it, and a test compares the two.

Every flag works as `-name value`, `--name value`, `-name=value` and `--name=value`; there are no
abbreviations. `--` ends the flags. stdout carries only the answer, byte for byte as it was
published; everything else goes to stderr, one line for each event, with `publish: ` before it. With
`-json` the answer is one JSON document and each line on stderr a JSON object.

## Exit status

| status | meaning |
|---|---|
{statuses}

Treat any other status as a failure. `resolve`, `publish`, `prune`, `log` and `retract` die of
SIGTERM and SIGINT, as programs do; so does `probe`, once what it made is removed; `watch` looks
once more and ends well. `run` ends with the status of its command, or 128 and the signal that
killed it: see [run](run.md). Which error gives which status is in [errors](errors.md).
"""


def help_of(publish: Path, *command: str) -> str:
    """Ask the program."""
    run = subprocess.run(
        [publish, *command, "-help"], check=True, stdout=subprocess.PIPE, encoding="utf-8"
    )
    return run.stdout


def render(publish: Path) -> str:
    """Make the whole page."""
    statuses = "\n".join(f"| {code} | {text} |" for code, text in exitcodes.MEANINGS.items())
    parts = [HEAD.format(statuses=statuses)]
    parts.append(f"## publish -help\n\n```text\n{help_of(publish)}```\n")
    parts += [
        f"## publish {name} -help\n\n```text\n{help_of(publish, name)}```\n" for name in COMMANDS
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(render(find_publish()), encoding="utf-8")
