"""The help pages, made from the catalog."""

from __future__ import annotations

from dispatch.cli import exitcodes
from dispatch.cli.publish.arguments import DURATION_FORM, Command, Flag
from dispatch.cli.publish.catalog import COMMANDS

_INTRODUCTION = """\
publish makes a training job's saves visible to its later executions, and finds the latest.

usage: publish COMMAND [-flag value]... [operands]

commands:
{commands}

A flag is written -name value, --name value, -name=value or --name=value. DISPATCH_ATTEMPT and
DISPATCH_EPOCH say which execution this is; -attempt and -epoch override them.

exit status:
{statuses}

example, in a job script:
  CKPT=/lustre/team/finetune
  RESUME=$(publish resolve -checkpoint "$CKPT") || exit 1
  publish watch -checkpoint "$CKPT" -framework hf &

`publish COMMAND -help` tells more; `publish -version` prints the version."""


def of_program() -> str:
    """The page of `publish -help`."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {c.name:{width}}  {c.summary}" for c in COMMANDS.values())
    statuses = "\n".join(f"  {code:<3}  {text}" for code, text in exitcodes.MEANINGS.items())
    return _INTRODUCTION.format(commands=commands, statuses=statuses)


def of_command(command: Command) -> str:
    """The page of `publish COMMAND -help`."""
    required = "".join(f" -{f.name} {f.value}" for f in command.flags if f.name in command.required)
    operands = "".join(f" {operand}" for operand in command.operands)
    operands += f" -- {command.rest}..." if command.rest else ""
    parts = [
        f"usage: publish {command.name}{required} [flags]{operands}{_instead(command)}",
        command.details,
        "flags:\n" + "\n".join(map(_flag, command.flags)),
    ]
    if any(flag.value == "DURATION" for flag in command.flags):
        parts.append(f"A DURATION is {DURATION_FORM}.")
    parts.append("example:\n" + "\n".join(f"  {line}" for line in command.example.splitlines()))
    return "\n\n".join(parts)


def _instead(command: Command) -> str:
    return "".join(f" | -{f.name} {f.value}" for f in command.flags if f.name == command.instead)


def _flag(flag: Flag) -> str:
    left = f"-{flag.name} {flag.value}".rstrip()
    default = f" Default: {flag.default}." if flag.default is not None else ""
    return f"  {left:20}  {flag.help}{default}"
