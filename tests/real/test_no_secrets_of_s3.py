"""No secret is told by any call of S3, however it fails: by the library, and by the program.

`tests/real/s3_failures.py` has the table of what goes wrong. Each operation meets each row: in the
library, with all that an error report could hold; and one command after the other meets a row as
the real program, of which the streams are searched, and what the system shows of the process.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from dispatch.adapters.s3.answers import BY_CODE
from dispatch.adapters.s3.translation import _BAD_KEYS
from dispatch.testing.s3fake import S3Fake
from tests.cli.program import ATTEMPT, EPOCH, TIME_LIMIT_S
from tests.real.s3_failures import (
    ALL,
    AT_ANY,
    FAILURES,
    FAULT,
    JWT,
    KEYS,
    ROOT,
    SAVES,
    SECRET,
    TOKEN,
    Failure,
    name_of,
    of_each_kind,
    scene_of,
)
from tests.servers.certificates import Certificates

ALL_S_MAX = 280.0  # a bound for all of the table, on a machine that does other things, too

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

REPOSITORY = Path(__file__).parent.parent.parent
MARK = re.compile("marked|bWFya2Vk", re.IGNORECASE)  # as it is, and in base64
AT_ONCE = 3  # programs: they wait most of the time
CASES = [
    (failure.name, f"{operation} {at}".rstrip())
    for failure in FAILURES.values()
    for at, operations in failure.met.items()
    for operation in operations
]

# ----------------------------------------------------------------------------------- the library


def start_library(told: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the program that makes all calls; its streams go to one file."""
    with told.open("w") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.real.make_s3_calls", *arguments],
            cwd=REPOSITORY,
            env={"PATH": os.defpath, "HOME": str(told.parent)},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )


@pytest.fixture(scope="module")
def library(
    tmp_path_factory: pytest.TempPathFactory, ran: dict[str, Future[Ran]]
) -> Iterator[dict[str, str]]:
    """What the library told, with logging as Python leaves it and at DEBUG.

    All at once, and beside the programs: most of it is waiting.
    """
    folder = tmp_path_factory.mktemp("library")
    files = {(mode, half): folder / f"{half}{mode}" for mode in ("", "--debug") for half in "01"}
    started = [start_library(told, half, *mode.split()) for (mode, half), told in files.items()]
    try:
        for process in started:
            assert process.wait(timeout=ALL_S_MAX) == 0
        texts = {key: told.read_text("utf-8", "replace") for key, told in files.items()}
        yield {mode: texts[mode, "0"] + texts[mode, "1"] for mode in ("", "--debug")}
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.fixture(scope="module", params=["", "--debug"], ids=["as Python leaves it", "at DEBUG"])
def told(request: pytest.FixtureRequest, library: dict[str, str]) -> dict[str, str]:
    """What was told of each case, on both streams together."""
    parts = re.split(r"(?m)^case (.*)$", library[request.param])[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("name", FAILURES)
def test_no_secret_is_told_by_the_library(told: dict[str, str], name: str) -> None:
    found = [
        (case, line)
        for case in (f"{name}: {operation}" for failure, operation in CASES if failure == name)
        for line in told[case].splitlines()
        if MARK.search(line)
    ]
    assert found == []


def test_each_failure_is_the_one_that_its_name_says(told: dict[str, str]) -> None:
    """Else the test above would look at something else than it says."""
    assert len(told) == len(CASES)
    expected = {name: failure.kind for name, failure in FAILURES.items() if failure.kind}
    met = {}
    for name in expected:
        at = next(iter(FAILURES[name].met))
        gave, kind = told[f"{name}: resolve {at}".rstrip()].split(maxsplit=2)[:2]
        met[name] = kind if gave == "failed" else gave
    assert met == expected


def test_only_a_fault_is_a_fault(told: dict[str, str]) -> None:
    """Whatever a store answers is an error of ours: nobody is asked to report it."""
    faults = {case.partition(": ")[0] for case, text in told.items() if "failed fault" in text}
    assert faults == {FAULT.name}


def test_every_code_is_in_the_table() -> None:
    """A code that is added there is a row here."""
    assert {*BY_CODE, *_BAD_KEYS} <= FAILURES.keys()


def test_logging_was_on(library: dict[str, str]) -> None:
    assert "DEBUG:botocore" in library["--debug"]
    assert "DEBUG:" not in library[""]


# ----------------------------------------------------------------------------------- the program

COMMANDS = {
    "resolve": ("resolve",),
    "publish": ("publish", f"{ROOT}/{SAVES}/checkpoint-3", "3"),
    "log": ("log",),
    "retract": ("retract", "-yes", name_of(2)),
    "watch": ("watch", "-framework", "hf", "-once"),
    "prune": ("prune", "-keep", "1", "-v"),
    "probe": ("probe",),
    "claim": ("claim",),
    "run": ("run", "-framework", "hf", "-timeout", "2s", "--", "true"),
}
FLAGS = ((), ("-debug",), ("-json",), ("-debug", "-json"))
ROUND = list(itertools.product(ALL, FLAGS, (False, True)))
STRIDE = 5  # of no common factor with 72: each combination has its turn, none next to its like


@dataclass(frozen=True)
class Ran:
    """What a program left.

    Attributes:
        line: Its arguments.
        status: Its exit status.
        streams: What it wrote, both together.
        shown: What the system showed of it while it ran.
    """

    line: tuple[str, ...]
    status: int
    streams: str
    shown: frozenset[bytes]


def shown_of(pid: int) -> Iterator[bytes]:
    """Read what anybody may see of a process: its command line, and the names of its threads."""
    process = Path(f"/proc/{pid}")
    try:
        yield (process / "cmdline").read_bytes()
        for thread in (process / "task").iterdir():
            yield (thread / "comm").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        pass  # it has ended


def run(folder: Path, line: tuple[str, ...], variables: dict[str, str]) -> Ran:
    """Run the program to its end, and look at it meanwhile."""
    variables = {
        "PATH": os.defpath,
        "HOME": str(folder),
        "PYTHONPATH": str(REPOSITORY),
        "DISPATCH_ATTEMPT": ATTEMPT,
        "DISPATCH_EPOCH": str(EPOCH),
        **variables,
    }
    with (folder / "streams").open("w+b") as streams:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.real.hurried", *line],
            env=variables,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=streams,
            stderr=subprocess.STDOUT,
        )
        seen: set[bytes] = set()
        status = None
        for _ in range(int(TIME_LIMIT_S / 0.05)):
            seen.update(shown_of(process.pid))
            try:
                status = process.wait(0.05)
                break
            except subprocess.TimeoutExpired:
                pass
        process.kill()
        assert status is not None, f"{line} hung"
        streams.seek(0)
        text = streams.read().decode(errors="replace")
    return Ran(line, status, text, frozenset(seen))


def meet(number: int, failure: Failure, folder: Path, trusted: Certificates) -> Ran:
    """Let the next command in turn meet a failure, at its first request where there is a choice."""
    command, flags, logs = ROUND[number * STRIDE % len(ROUND)]
    with scene_of(number, failure, folder, trusted) as scene:
        at, operations = next(iter(failure.met.items()))
        if command not in operations:
            command = operations[number % len(operations)]
        if len(failure.met) == 1:
            scene.at = at
        name, *operands = COMMANDS[command]
        where = ("-checkpoint", scene.root, *scene.flags())
        operands = [operand.replace(ROOT, scene.root) for operand in operands]
        variables = {**scene.variables, **({"DISPATCH_TEST_LOGS": "yes"} if logs else {})}
        return run(folder, (name, *where, *flags, *operands), variables)


@pytest.fixture(scope="module")
def ran(
    tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> Iterator[dict[str, Future[Ran]]]:
    """One program for each kind of failure."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        futures = {
            failure.name: pool.submit(
                meet, number, failure, tmp_path_factory.mktemp("program"), certificates
            )
            for number, failure in enumerate(of_each_kind())
        }
        yield futures
        pool.shutdown(cancel_futures=True)


def assert_silent(ran: Ran) -> None:
    """Find no secret in what it wrote and showed, and find that it ran."""
    assert [line for line in ran.streams.splitlines() if MARK.search(line)] == []
    assert ran.shown
    assert [text for text in ran.shown if MARK.search(text.decode())] == []


@pytest.mark.parametrize("name", [failure.name for failure in of_each_kind()])
def test_no_secret_is_told_by_the_program(ran: dict[str, Future[Ran]], name: str) -> None:
    """And whatever a store answers, nobody sees a traceback."""
    told = ran[name].result()
    assert_silent(told)
    is_expected = name == FAULT.name
    assert ("Please report" in told.streams) == is_expected, told.streams
    if FAILURES[name].kind and not is_expected:
        is_usage = FAILURES[name].kind == "invalid-input" and told.line[0] != "probe"
        assert told.status == (2 if is_usage else 1), told.streams


def test_each_command_met_failures_with_each_flag_and_with_logs(
    ran: dict[str, Future[Ran]],
) -> None:
    """The turns come round."""
    every = [future.result() for future in ran.values()]
    assert {told.line[0] for told in every} == set(ALL)
    met = {(told.line[0], "-json" in told.line, "-debug" in told.line) for told in every}
    assert len(met) == len(ALL) * len(FLAGS)
    assert {told.line[0] for told in every if "DEBUG:botocore" in told.streams} == set(ALL)


# ------------------------------------------------------------------- the report of a fault


@pytest.mark.parametrize(
    ("command", "flags"), list(zip(COMMANDS, itertools.cycle(FLAGS), strict=False))
)
def test_a_fault_in_botocore_is_reported_by_its_places(
    tmp_path: Path, certificates: Certificates, command: str, flags: tuple[str, ...]
) -> None:
    """What was being done, the kind of fault and where, and with -debug our way there.

    Its words, its notes and its causes hold the headers that were being sent.
    """
    with scene_of(0, FAULT, tmp_path, certificates) as scene:
        name, *operands = COMMANDS[command]
        where = ("-checkpoint", scene.root, *scene.flags())
        told = run(tmp_path, (name, *where, *flags, *operands), scene.variables)
    assert_silent(told)
    assert told.status == 1
    lines = told.streams.splitlines()
    assert f"fault while running {command}: " in lines[-1]
    assert "AssertionError during " in lines[-1]
    assert "hurried.py" in lines[-1].partition(" raised at ")[2]
    is_traced = any("Traceback" in line for line in lines)
    assert is_traced == ("-debug" in flags)
    if "-json" in flags:
        assert all(json.loads(line)["message"] for line in lines)


# ------------------------------------------------------------------- secrets on the command line

VAULT = "vault:https://v/s/a?auth=approle&role_id=r"
TYPED = {
    "a secret id in a vault's URL": ["-creds", f"{VAULT}&secret_id=marked"],
    "a secret id in the place of its file": ["-creds", f"{VAULT}&secret_id_file=marked"],
    "a token in a vault's URL": ["-creds", f"{VAULT}&token=marked"],
    "a JWT in the place of its file": ["-creds", f"vault:https://v/s/a?auth=kubernetes&jwt={JWT}"],
    "a secret in a vault's fragment": ["-creds", f"{VAULT}&secret_id_file=/f#marked"],
    "a password of a vault": ["-creds", "vault:https://u:marked@v/s/a?auth=kubernetes&role=r"],
    "a password of a vault's proxy": ["-creds", f"{VAULT}&proxy=http://u:marked@p"],
    "a query of a vault's proxy": ["-creds", f"{VAULT}&secret_id_file=/f&proxy=http://p/?marked"],
    "a secret behind a source": ["-creds", "env:marked"],
    "a source without quotes": ["-creds", "env", f"{VAULT}&secret_id=marked"],
    "a source by a mistyped flag": [f"-cred={VAULT}&secret_id=marked"],
    "a password of a proxy": ["-proxy", "http://u:marked@p"],
    "a password alone of a proxy": ["-proxy", "http://:marked@p"],
    "a password of a proxy without a scheme": ["-proxy", "u:marked@p"],
    "a password in the place of a port": ["-proxy", "http://p:marked"],
    "a query of a proxy": ["-proxy", "http://p/?marked"],
    "a fragment of a proxy": ["-proxy", "http://p#marked"],
    "a proxy by a mistyped flag": ["-proxi=http://u:marked@p"],
    "a proxy for a switch": ["-insecure-http=http://u:marked@p"],
    "a proxy before the command": [],
    "a password of an endpoint": ["-endpoint", "https://u:marked@h"],
    "a password alone of an endpoint": ["-endpoint", "https://:marked@h"],
    "a password of an endpoint without a scheme": ["-endpoint", "u:marked@h"],
    "a signature of an endpoint": ["-endpoint", "https://h/?X-Amz-Signature=marked"],
    "a fragment of an endpoint": ["-endpoint", "https://h#marked"],
    "an endpoint of the environment": [],
    "keys in a root": [],
}


@pytest.mark.parametrize("name", TYPED)
def test_a_secret_that_was_typed_is_refused_and_not_repeated(
    tmp_path: Path, fake: S3Fake, name: str
) -> None:
    """By usage, before anything is asked; one command after the other, with each of the flags."""
    number = list(TYPED).index(name)
    command, flags, logs = ROUND[number * STRIDE % len(ROUND)]
    first, *operands = COMMANDS[command]
    root = ROOT.replace("//", f"//AKIA:{SECRET}@") if name == "keys in a root" else ROOT
    variables = {"AWS_ACCESS_KEY_ID": "ASIA", "AWS_SECRET_ACCESS_KEY": SECRET}
    if name == "an endpoint of the environment":
        variables["AWS_ENDPOINT_URL_S3"] = fake.url.replace("//", "//:marked@")
    elif "-endpoint" not in TYPED[name]:
        variables["AWS_ENDPOINT_URL_S3"] = fake.url
    if logs:
        variables["DISPATCH_TEST_LOGS"] = "yes"
    line = [first, "-checkpoint", root, *flags, *TYPED[name], *operands]
    if name == "a proxy before the command":
        line.insert(0, "-proxy=http://u:marked@p")
    told = run(tmp_path, tuple(line), variables)
    assert told.status == 2, told.streams
    assert [text for text in told.streams.splitlines() if MARK.search(text)] == []
    assert fake.requests == []


@pytest.fixture
def fake() -> Iterator[S3Fake]:
    """A store that should not be asked."""
    with S3Fake() as running:
        running.add_keys(KEYS)
        yield running


# ------------------------------------------------------------------------------ the search itself


def test_the_mark_is_found_where_it_is() -> None:
    """What is marked is marked, and the search finds it."""
    assert all(map(MARK.search, (SECRET, TOKEN, JWT, "x MARKED x", "Basic bWFya2VkLWtleQ==")))


def test_a_program_that_tells_is_found_out(tmp_path: Path, certificates: Certificates) -> None:
    """A secret in an argument is seen in the process's command line, and one in an answer, too."""
    with scene_of(0, Failure("none", lambda _: None), tmp_path, certificates) as scene:
        scene.fake.put("runs", f"job/pub/{SECRET}")
        line = ("resolve", "-checkpoint", scene.root, *scene.flags())
        told = run(tmp_path, line, {**scene.variables})
        assert MARK.search(told.streams)
        told = run(tmp_path, (*line, SECRET), {**scene.variables})
    assert any(MARK.search(text.decode()) for text in told.shown)


def test_met_nowhere_in_particular_is_met_by_all() -> None:
    assert tuple(AT_ANY[""]) == ALL
    assert {operation for _, operation in CASES if " " not in operation} == set(ALL)
