"""`publish run`, and the small commands that tests run with it."""

from collections.abc import Sequence
from pathlib import Path

from tests.cli.program import Argument, Ended, Environment, Running, wait_for
from tests.cli.roots import INTERVAL, Root
from tests.real.attended import Recorder

SAVE = """
save() {
    mkdir -p "$DISPATCH_OUT/checkpoint-$1" &&
    echo weights > "$DISPATCH_OUT/checkpoint-$1/model.safetensors" &&
    echo '{"global_step": '$1'}' > "$DISPATCH_OUT/checkpoint-$1/new" &&
    mv "$DISPATCH_OUT/checkpoint-$1/new" "$DISPATCH_OUT/checkpoint-$1/trainer_state.json"
}
until_there() { for _ in $(seq 3000); do [ -e "$1" ] && return; sleep 0.01; done; exit 99; }
"""
"""Shell functions: save a step; wait for a file, 30 s at most."""


def shell(script: str, *arguments: Argument) -> list[Argument]:
    """Make a command of a script that may `save`."""
    return ["sh", "-c", SAVE + script, "sh", *arguments]


class Runs:
    """Runs at one root, without claims."""

    def __init__(self, root: Root) -> None:
        self.root = root

    def line(self, command: Sequence[Argument], flags: Sequence[Argument] = ()) -> list[Argument]:
        """Spell the command line."""
        always: list[Argument] = ["-checkpoint", self.root.path, "-framework", "hf", "-no-claim"]
        if "-interval" not in flags:
            always += ["-interval", INTERVAL]
        return ["run", *always, *flags, "--", *command]

    def record(
        self, recorder: Recorder, *flags: Argument, environment: Environment | None = None
    ) -> Running:
        """Start it with a command that writes its signals down, and wait until that does."""
        running = self.start(recorder.command, *flags, environment=environment)
        wait_for(lambda: recorder.is_ready() or not running.is_running(), "a recorder")
        return running

    def run(
        self,
        command: Sequence[Argument],
        *flags: Argument,
        environment: Environment | None = None,
        prefix: Sequence[Argument] = (),
    ) -> Ended:
        """Run it to its end."""
        line = self.line(command, flags)
        return self.root.program.run(*line, environment=environment, prefix=prefix)

    def start(
        self,
        command: Sequence[Argument],
        *flags: Argument,
        environment: Environment | None = None,
        prefix: Sequence[Argument] = (),
    ) -> Running:
        """Start it."""
        line = self.line(command, flags)
        return self.root.program.start(*line, environment=environment, prefix=prefix)


def wait_for_file(path: Path, running: Running) -> None:
    """Wait until a command has made a file."""
    wait_for(lambda: path.exists() or not running.is_running(), f"{path.name}")
    assert path.exists(), f"it ended early: {running.said()!r}"


def variables_of(text: bytes) -> dict[bytes, bytes]:
    """Read what `env -0` writes."""
    pairs = (line.partition(b"=") for line in text.split(b"\0") if line)
    return {name: value for name, _, value in pairs}
