"""Where the examples of one page run: a folder with the roots, programs and files they name.

Pages write `/lustre/team/...` and `/home/you`; here these are folders of the test. `python
train.py` is a stub of a trainer, `make` only looks whether it could, and `srun` runs its command;
everything else is real.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dispatch.checkpoint import open_store
from tests.docs.pages import ROOT, Command

PROGRAMS = Path(__file__).parent / "programs"
SEPARATOR = "\x1e"
TIME_OUT_S = 60

FIRST, SECOND = "1.4101.0.9f3a", "2.4102.0.77c1"
SAVES = [(FIRST, 500), (FIRST, 1000), (SECOND, 1100), (SECOND, 1200), (FIRST, 1500)]
"""What is published in the example root, in the order it was published."""
UNPUBLISHED = (SECOND, 1300)

AGE = re.compile(r"(?<= )\d+[smhd](?= |$)", re.MULTILINE)


@dataclass(frozen=True)
class Built:
    """What `make dist` builds, and the program that the tests run."""

    wheel: Path
    pyz: Path
    publish: Path


def complete_save(folder: Path, step: int) -> None:
    """Write a save as Trainer does."""
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "trainer_state.json").write_text(f'{{"global_step": {step}}}', encoding="utf-8")


def script(path: Path, text: str) -> None:
    """Write a program of the shell."""
    path.write_text(f"#!/bin/bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


class Sandbox:
    """One page's folder, environment and example root."""

    def __init__(self, folder: Path, built: Built) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.team = folder / "team"
        self.root = self.team / "finetune"
        self._programs = folder / "programs"
        for path in (self.home, self.root, self._programs):
            path.mkdir(parents=True)
        self._write_programs(built)
        self._fill_root()
        self.env = {
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "PATH": f"{self._programs}:/usr/local/bin:/usr/bin:/bin",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_DEPS": "1",
            "PIP_NO_INDEX": "1",
            "PIP_QUIET": "1",
            "PIP_TARGET": str(folder / "installed"),
            "PYTHON_OF_TESTS": sys.executable,
            "SLURM_JOB_ID": "4103",
        }

    def _write_programs(self, built: Built) -> None:
        python = f'exec "{sys.executable}" "$@"'
        script(self._programs / "publish", f'exec "{built.publish}" "$@"')
        script(self._programs / "python3", python)
        script(
            self._programs / "python",
            f'case $1 in train*.py) shift; set -- "{PROGRAMS / "train.py"}" "$@";; esac\n{python}',
        )
        script(self._programs / "srun", 'exec "$@"')
        script(
            self._programs / "make",
            f'/usr/bin/make --dry-run -C "{ROOT}" "$@" >/dev/null || exit\n'
            f'[ "$1" != dist ] || {{ mkdir -p dist; cp "{built.wheel}" "{built.pyz}" dist/; }}',
        )

    def _fill_root(self) -> None:
        log = open_store(self.root)
        for attempt, step in [*SAVES, UNPUBLISHED]:
            complete_save(self.root / "exec" / attempt / f"checkpoint-{step}", step)
        for attempt, step in SAVES:
            epoch = 1_000_000 if attempt == FIRST else 2_000_000
            log.publish(epoch, step, f"exec/{attempt}/checkpoint-{step}")

    def here(self, text: str) -> str:
        """Name the folders of the test instead of the page's."""
        return text.replace("/lustre/team", str(self.team)).replace("/home/you", str(self.home))

    def there(self, text: str) -> str:
        """Name the page's folders instead of the test's."""
        return text.replace(str(self.team), "/lustre/team").replace(str(self.home), "/home/you")

    def bash(self, text: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a script; both streams together, as the page names things."""
        run = subprocess.run(
            ["/bin/bash", "-c", self.here(text)],
            cwd=self.home,
            env={**self.env, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
            timeout=TIME_OUT_S,
        )
        return subprocess.CompletedProcess(run.args, run.returncode, self.there(run.stdout))

    def typed(self, commands: list[Command]) -> list[str]:
        """Run commands in one shell, as a person types them; what each prints."""
        separated = f'__status=$?; printf "{SEPARATOR}"; (exit $__status)\n'
        run = self.bash("".join(f"{command.command}\n{separated}" for command in commands))
        printed = run.stdout.split(SEPARATOR)
        assert len(printed) == len(commands) + 1, run.stdout
        return printed[:-1]


def same(printed: str, expected: str) -> bool:
    """Compare what was printed with a page: ages and columns differ, and … is any text."""

    def plain(text: str) -> list[str]:
        return [re.sub(r" +", " ", line).strip() for line in AGE.sub("0s", text).splitlines()]

    lines, patterns = plain(printed), plain(expected)
    return len(lines) == len(patterns) and all(
        re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), line)
        for line, pattern in zip(lines, patterns, strict=True)
    )


def find_publish() -> Path:
    """Find the program under test: the installed wheel's where make names it."""
    named = os.environ.get("DISPATCH_TEST_PUBLISH")
    return Path(named) if named else Path(sys.executable).parent / "publish"


def python_of(publish: Path) -> Path:
    """Find the Python that `publish` is installed in."""
    return publish.parent / "python"


def build(folder: Path) -> Built:
    """Build what `make dist` does."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    subprocess.run(
        [sys.executable, str(ROOT / "tools/build_pyz.py"), str(folder / "publish.pyz")], check=True
    )
    [wheel] = folder.glob("*.whl")
    publish = find_publish()
    assert shutil.which(publish), f"there is no program {publish}: run the tests through make"
    return Built(wheel, folder / "publish.pyz", publish)
