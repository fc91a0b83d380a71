"""Cases 45, 46, 47 and 49 of the shared list, and S3 roots by the real program, on the fake."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from dispatch.testing.s3fake import (
    ABORTED,
    ACCESS_DENIED,
    CONFLICT,
    EXPIRED_TOKEN,
    NOT_IMPLEMENTED,
    NOT_MODIFIED,
    SLOW_DOWN,
    After,
    Before,
    Keys,
    LoseReply,
    Refuse,
    Request,
    S3Fake,
    on,
)
from tests.cli.program import ATTEMPT, EPOCH, Ended, Environment, Program, Running, wait_for
from tests.cli.roots import entry_name
from tests.unit.adapters.credentials.scripted_http import Answer, ScriptedServer, scripted_server

BUCKET, ROOT = "runs", "s3://runs/job"
SAVE = f"exec/{ATTEMPT}/step-1"
OLD = Keys("oldaccess", "MARKEDoldsecret0123456789", "MARKEDoldtoken0123456789")
NEW = Keys("newaccess", "MARKEDnewsecret0123456789", "MARKEDnewtoken0123456789")
DEADLINE_S_MAX = 200.0  # a bound for an operation's 80 s
TRIES_MIN = 15  # in 80 s: pauses are 5 s at most


def variables_of(keys: Keys) -> dict[str, str | bytes | None]:
    """Give keys as an environment."""
    return {
        "AWS_ACCESS_KEY_ID": keys.access_key_id,
        "AWS_SECRET_ACCESS_KEY": keys.secret_access_key,
        "AWS_SESSION_TOKEN": keys.session_token,
    }


class Job:
    """A root on a fake, and the program with this Python, which has the extra."""

    def __init__(self, fake: S3Fake, scratch: Path) -> None:
        self.fake = fake
        self.scratch = scratch
        self.program = Program([sys.executable, "-m", "dispatch.cli.publish"], scratch)
        self.keys: Environment = variables_of(fake.keys)

    def save(self, step: int) -> str:
        """Write a save as PyTorch DCP does; return its location."""
        for name in ("model", ".metadata"):
            self.fake.put(BUCKET, f"job/exec/{ATTEMPT}/step-{step}/{name}", b"x")
        return f"{ROOT}/exec/{ATTEMPT}/step-{step}"

    def line(self, command: str, *more: str) -> tuple[str, ...]:
        """A command on the root."""
        return (command, "-checkpoint", ROOT, "-endpoint", self.fake.url, *more)

    def run(self, command: str, *more: str, environment: Environment | None = None) -> Ended:
        """Run a command on the root."""
        changes = {**self.keys, **(environment or {})}
        return self.program.run(*self.line(command, *more), environment=changes)

    def start(self, command: str, *more: str) -> Running:
        """Start a command on the root."""
        return self.program.start(*self.line(command, *more), environment=self.keys)

    def watch(self, *more: str) -> Running:
        """Start a watch."""
        watch = ("-framework", "dcp", "-interval", "50ms", "-settle", "0s", *more)
        return self.start("watch", *watch)

    def published(self) -> list[str]:
        """The names in pub/."""
        return [key.removeprefix("job/pub/") for key in self.fake.names(BUCKET, "job/pub/")]


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with S3Fake() as fake:
        fake.create_bucket(BUCKET)
        running = Job(fake, tmp_path)
        yield running
        running.program.kill_started()


def name_of(step: int) -> str:
    """Name the publication of a save, by the specification."""
    return entry_name(EPOCH, step, f"exec/{ATTEMPT}/step-{step}")


def test_all_commands_work_on_s3(job: Job) -> None:
    for step in (1, 2, 3):
        job.save(step)
    job.run("resolve").well().answers("")
    job.run("watch", "-framework", "dcp", "-settle", "0s", "-once").well().says("published step 3")
    job.run("publish", f"{ROOT}/{SAVE}", "1").well().says("already published")
    job.run("resolve").well().answers(f"{ROOT}/exec/{ATTEMPT}/step-3\n")
    assert job.run("log").well().out.count(b"\n") == 3
    job.run("prune", "-keep", "2").well()
    assert job.published() == [name_of(2), name_of(3)]
    assert job.fake.names(BUCKET, f"job/{SAVE}/") == []
    job.run("retract", "-yes", name_of(3)).well()
    job.run("retract", "-yes", name_of(3)).ended_with(1).says("is not published")
    assert json.loads(job.run("resolve", "-json").well().out)["save"] == (
        f"{ROOT}/exec/{ATTEMPT}/step-2"
    )


def test_an_execution_of_its_own_on_s3(job: Job) -> None:
    """Claimed, adopted, rolled back, refused and overtaken, as on a file system."""
    later, last = (
        {"DISPATCH_ATTEMPT": f"later-{n}", "DISPATCH_EPOCH": f"{EPOCH + n}"} for n in (1, 2)
    )
    flags = ("-framework", "dcp", "-settle", "0s", "-interval", "50ms")
    resumed = ("--", "sh", "-c", 'echo "$DISPATCH_RESUME" {out}')
    job.run("claim").well()
    saves = {step: job.save(step) for step in (1, 2)}
    ended = job.run("run", *flags, "-step-at-most", "1", *resumed, environment=later).well()
    ended.answers(f"{saves[1]} {ROOT}/exec/later-1\n").says("adopted step 2")
    job.run("resolve").well().answers(f"{saves[1]}\n")
    job.run("run", *flags, *resumed).ended_with(76).answers("").says("claimed by attempt 'later-1'")
    ready = job.scratch / "ready"
    script = """trap 'echo term; exit 0' TERM; touch "$1"; while :; do sleep 0.01; done"""
    asked = ("--", "sh", "-c", script, "sh", str(ready))
    running = job.start("run", *flags, "-attempt", "later-1", "-epoch", f"{EPOCH + 1}", *asked)
    wait_for(ready.exists, "the command")
    job.run("claim", environment=last).well()
    running.wait().ended_with(76).answers("term\n").says(f"of epoch {EPOCH + 2}")
    job.run("retract", "-claim", f"{EPOCH + 2}", "-yes").well()
    assert job.fake.names(BUCKET, f"job/runs/{EPOCH + 2:020d}") == []


def test_claims_that_can_not_be_listed_keep_no_save_on_s3_from_being_published(job: Job) -> None:
    flags = ("-framework", "dcp", "-settle", "0s", "-interval", "50ms")
    running = job.start("run", *flags, "--", "sleep", "60")
    running.wait_until_said("starting from scratch")
    job.fake.script(ACCESS_DENIED, on("ListObjectsV2", prefix="job/runs/"), times=None)
    running.wait_until_said("can't tell whether a newer execution runs")
    job.save(1)
    running.wait_until_said("published step 1")
    running.end(signal.SIGTERM).ended_with(128 + signal.SIGTERM)


def test_resolve_verifies_and_falls_back_on_s3(job: Job) -> None:
    """With what was passed over in the document; nothing is written."""
    for step in (1, 2, 3):
        job.run("publish", job.save(step), str(step)).well()
    for key in job.fake.names(BUCKET, f"job/exec/{ATTEMPT}/step-3/"):
        job.fake.remove(BUCKET, key)
    job.fake.remove(BUCKET, f"job/exec/{ATTEMPT}/step-2/.metadata")
    keys = job.fake.names(BUCKET)
    verify = ("-verify", "-framework", "dcp")
    job.run("resolve", *verify).ended_with(3).answers("").says("step-3", "is not there")
    ended = job.run("resolve", *verify, "-fallback").well().answers(f"{ROOT}/{SAVE}\n")
    ended.says("step-3: the save is not there", "step-2: the save has no .metadata")
    document = json.loads(job.run("resolve", "-json", *verify, "-fallback").well().out)
    assert document["save"] == f"{ROOT}/{SAVE}"
    assert [(refused["step"], refused["reason"]) for refused in document["passed_over"]] == [
        (3, "is not there"),
        (2, "has no .metadata"),
    ]
    job.run("resolve", "-step-at-most", "2").well().answers(f"{ROOT}/exec/{ATTEMPT}/step-2\n")
    assert job.fake.names(BUCKET) == keys


def test_a_save_on_s3_settles_between_two_looks(job: Job) -> None:
    """Several servers stamp objects, so their age isn't known: the last look waits."""
    job.save(1)
    early = job.run("watch", "-framework", "dcp", "-settle", "300ms", "-once").well()
    early.says("published step 1")
    lists = [request for request in job.fake.requests if request.query.get("list-type")]
    own = [request for request in lists if request.query.get("prefix", "").endswith("step-1/")]
    assert len(own) >= 2


def test_a_dry_prune_names_what_the_real_one_removes_and_removes_nothing(job: Job) -> None:
    """Of five, the latest and the even ones stay."""
    for step in range(1, 6):
        job.run("publish", job.save(step), str(step)).well()
    before = job.fake.names(BUCKET)
    line = ("prune", "-keep-every", "2", "-keep", "1")
    dry = job.run(*line, "-dry-run").well()
    assert job.fake.names(BUCKET) == before
    goes = [
        *(f"entry {name_of(step)}" for step in (1, 3)),
        *(f"folder {ROOT}/exec/{ATTEMPT}/step-{step}" for step in (1, 3)),
    ]
    assert sorted(dry.out.decode().splitlines()) == goes
    wet = job.run(*line, "-v").well()
    assert sorted(wet.out.splitlines()) == sorted(dry.out.splitlines())
    assert job.published() == [name_of(step) for step in (2, 4, 5)]
    left = {key.split("/")[3] for key in job.fake.names(BUCKET, "job/exec/")}
    assert left == {"step-2", "step-4", "step-5"}


def test_a_watch_that_syncs_publishes_once_and_ends(job: Job) -> None:
    """What S3 has confirmed is durable: there is nothing to sync, and no error."""
    job.save(1)
    for _ in range(2):
        job.run("watch", "-framework", "dcp", "-sync", "-once").well()
    assert job.published() == [name_of(1)]


@pytest.mark.parametrize(("addressing", "path"), [("virtual", "/job"), ("path", "/runs/job")])
def test_a_bucket_stands_where_addressing_says(addressing: str, path: str, tmp_path: Path) -> None:
    """Through the fake as a proxy: no name server need know the bucket's host."""
    domain = "store.invalid"
    host = f"{BUCKET}.{domain}" if addressing == "virtual" else domain
    with S3Fake(domain=domain) as fake:
        fake.create_bucket(BUCKET)
        job = Job(fake, tmp_path)
        named = ("-endpoint", f"http://{domain}", "-insecure-http", "-proxy", fake.url)
        at_root = ("-checkpoint", ROOT, *named, "-addressing", addressing)
        for command, *more in (("publish", job.save(1), "1"), ("resolve",)):
            job.program.run(command, *at_root, *more, environment=job.keys).well()
        assert job.published() == [name_of(1)]
        assert {request.headers["host"] for request in fake.requests} == {host}
        keyed = [request for request in fake.requests if request.key]
        assert keyed
        assert all(request.path.startswith(f"{path}/") for request in keyed)


# ------------------------------------------------------------------------- case 45


@pytest.mark.parametrize("fault", [CONFLICT, ABORTED, LoseReply()], ids=["409", "aborted", "lost"])
def test_a_conflict_or_a_lost_reply_is_tried_again(job: Job, fault: Refuse | LoseReply) -> None:
    save = job.save(1)
    job.fake.script(fault, on("PutObject"))
    job.run("publish", save, "1").well()
    assert job.published() == [name_of(1)]
    assert job.fake.counts()["PutObject"] == 2


def test_a_conflict_for_ever_is_never_there_already(job: Job) -> None:
    """A watch ends at its time-out, with an error, and nothing counts as published."""
    job.save(1)
    job.fake.script(CONFLICT, on("PutObject"), times=None)
    ended = job.watch("-timeout", "2s").wait().ended_with(1)
    assert b"published" not in ended.err.replace(b"published, ", b"")
    ended.says("no answer from", f"pub/{name_of(1)}")
    assert job.published() == []


@pytest.mark.timeout(300)
def test_a_conflict_for_ever_ends_at_the_real_deadline(tmp_path: Path) -> None:
    """As unavailable, and never as there already: by hand, and before a watch's own time-out.

    This one waits for the whole 80 s of an operation, all its programs at once: no flag shortens
    them, and what is to be shown is that the program comes to its end by itself, and how.
    """
    waits: dict[str, tuple[Refuse, str, str]] = {
        "conflict": (CONFLICT, "publish", "store-unavailable"),
        "aborted": (ABORTED, "publish", "store-unavailable"),
        "watched": (CONFLICT, "watch", "store-unavailable"),
        "fault": (SLOW_DOWN, "publish", "outcome-unknown"),  # one of them may have done it
    }
    with ExitStack() as stack:
        jobs: dict[str, tuple[Job, Running]] = {}
        for name, (fault, command, _) in waits.items():
            (tmp_path / name).mkdir()
            job = Job(stack.enter_context(S3Fake()), tmp_path / name)
            stack.callback(job.program.kill_started)
            job.fake.create_bucket(BUCKET)
            job.fake.add_keys(OLD)
            job.keys = variables_of(OLD)
            save = job.save(1)
            job.fake.script(fault, on("PutObject"), times=None)
            jobs[name] = (
                job,
                job.watch("-json")
                if command == "watch"
                else job.start("publish", "-json", save, "1"),
            )
        for name, (job, running) in jobs.items():
            ended = running.wait(DEADLINE_S_MAX).ended_with(1).answers("")
            [line] = ended.err.splitlines()
            said = json.loads(line)
            assert (name, said["kind"]) == (name, waits[name][2])
            assert f"PutObject {ROOT}/pub/{name_of(1)}, again and again for 80 s" in said["message"]
            assert "already" not in said["message"]
            assert b"MARKED" not in ended.err
            assert job.published() == []
            assert job.fake.counts()["PutObject"] > TRIES_MIN


# ------------------------------------------------------------------------- case 46


@pytest.mark.parametrize("fault", [NOT_MODIFIED, NOT_IMPLEMENTED], ids=["304", "501"])
def test_a_store_that_does_not_honour_the_condition_never_creates(job: Job, fault: Refuse) -> None:
    save = job.save(1)
    job.fake.script(fault, on("PutObject"))
    ended = job.run("publish", save, "1").ended_with(1)
    ended.says(str(fault.status), "PutObject")
    assert b"published step" not in ended.err
    assert job.published() == []
    job.run("resolve").well().answers("")


def let_it_ignore(fake: S3Fake) -> None:
    """Let each PUT overwrite: what is there is gone when it comes."""

    def overwrite(request: Request) -> Before:
        return Before(lambda: fake.remove(BUCKET, request.key))

    fake.script(overwrite, on("PutObject"), times=None)


def let_it_answer_304(fake: S3Fake) -> None:
    """Let a PUT of what is there be answered as a GET would be."""

    def is_there(request: Request) -> bool:
        return on("PutObject")(request) and fake.get(BUCKET, request.key) is not None

    fake.script(NOT_MODIFIED, is_there, times=None)


def let_it_refuse(fake: S3Fake) -> None:
    """Refuse each PUT with a condition, and all of ours have one."""
    fake.script(NOT_IMPLEMENTED, on("PutObject"), times=None)


HOLDS = "nothing is lost or overwritten"
MODES: dict[str, tuple[Callable[[S3Fake], object], dict[str, tuple[str, ...]]]] = {
    "honours": (lambda _: None, {}),
    "ignores": (
        let_it_ignore,
        {
            "exclusive creation": ("ignores the condition", HOLDS, "Claims don't hold"),
            "claims": ("'one' was claimed first", "Claims don't hold"),
        },
    ),
    "304": (
        let_it_answer_304,
        {
            "exclusive creation": ("304", "not as S3 does (with 412)", HOLDS, "claims can't"),
            "claims": ("304", "Everything but claims works"),
        },
    ),
    "501": (
        let_it_refuse,
        {"writable": ("501", "refuses the condition", "nothing can be published or claimed")},
    ),
}


@pytest.mark.parametrize("mode", MODES)
def test_a_probe_tells_how_a_store_treats_the_condition(job: Job, mode: str) -> None:
    """And makes nothing in pub/ at any moment, and leaves nothing anywhere."""
    job.fake.put(BUCKET, f"job/pub/{name_of(7)}")
    change, expected = MODES[mode]
    change(job.fake)
    ended = job.run("probe", "-json").ended_with(1 if expected else 0)
    checks = {check["check"]: check for check in json.loads(ended.out)["checks"]}
    failed = {name: check for name, check in checks.items() if check["state"] == "FAIL"}
    assert failed.keys() == expected.keys()
    for name, words in expected.items():
        said = f"{failed[name]['found']}. {failed[name]['advice']}"
        assert [word for word in words if word not in said] == []
    changing = {"PutObject", "DeleteObject", "DeleteObjects"}
    changed = {r.key.rpartition("/")[0] for r in job.fake.requests if r.operation in changing}
    assert len(changed) == 1
    assert changed.pop().startswith("job/.probe-")
    assert job.fake.names(BUCKET) == [f"job/pub/{name_of(7)}"]
    job.run("resolve").well().answers(f"{ROOT}/exec/{ATTEMPT}/step-7\n")


def test_a_probe_of_a_bucket_says_who_asks_and_through_what(job: Job, tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    end = "2999-01-02T03:04:05Z"
    keys = {"access_key_id": job.fake.keys.access_key_id, "expires_at": end}
    path.write_text(json.dumps({**keys, "secret_access_key": job.fake.keys.secret_access_key}))
    named = ("-creds", f"file:{path}", "-endpoint", "http://store.invalid", "-insecure-http")
    line = ("probe", "-checkpoint", ROOT, *named, "-proxy", job.fake.url)
    ended = job.program.run(*line).well()
    for part in (f"from file:{path}; they end at {end}", job.fake.url, "http://store.invalid"):
        assert part.encode() in ended.out
    assert job.fake.keys.secret_access_key.encode() not in ended.out


def test_a_probe_without_keys_says_what_was_tried(job: Job) -> None:
    ended = job.run("probe", "-creds", "file:/no/such/keys").ended_with(1)
    assert b"FAIL  credentials         no credentials for the store; tried file:/no" in ended.out
    assert job.fake.requests == []


def test_a_probe_sees_a_clock_that_is_off(job: Job) -> None:
    """Long before S3 refuses anything for it."""
    job.fake.skew_s = 120.0
    ended = job.run("probe").well()
    assert b"warn  clock               this node's is " in ended.out
    assert b"behind the store's" in ended.out


@pytest.mark.parametrize("operation", ["PutObject", "ListObjectsV2", "HeadObject", "DeleteObject"])
def test_a_probe_survives_lost_replies_and_leaves_nothing(job: Job, operation: str) -> None:
    """Of its first and of its last requests of each kind."""
    for skip in (0, 1, 30):
        if operation != "HeadObject" or skip == 0:
            job.fake.script(LoseReply(), on(operation, prefix="job/.probe-"), skip=skip)
    job.run("probe").well()
    assert job.fake.names(BUCKET) == []


def test_a_probe_that_is_signalled_leaves_no_key(job: Job) -> None:
    """It comes with the first, with one half-way, and with the first removal."""
    for operation, skip in (("PutObject", 0), ("PutObject", 30), ("DeleteObject", 0)):
        reached = Event()
        job.fake.script(After(reached.set), on(operation), skip=skip)
        running = job.program.start(*job.line("probe"), environment=job.keys)
        assert reached.wait(60)
        ended = running.end()
        assert ended.status in {-signal.SIGTERM, 0}  # 0: it was at its end
        assert job.fake.names(BUCKET) == []


# ------------------------------------------------------------------------- case 47


def write_keys(path: Path, keys: Keys) -> None:
    """Rotate a file of keys, as an agent does: by renaming."""
    content = {
        "access_key_id": keys.access_key_id,
        "secret_access_key": keys.secret_access_key,
        "session_token": keys.session_token,
    }
    new = path.with_suffix(".new")
    new.write_text(json.dumps(content))
    new.replace(path)


def test_keys_that_expire_in_the_middle_of_a_watch_are_renewed(job: Job, tmp_path: Path) -> None:
    """The second save is published without a restart."""
    path = tmp_path / "keys.json"
    write_keys(path, OLD)
    job.fake.add_keys(OLD)
    job.save(1)
    watch = job.watch("-creds", f"file:{path}")
    watch.wait_until_said("published step 1")
    job.fake.add_keys(NEW)
    write_keys(path, NEW)
    job.fake.remove_keys(OLD.access_key_id)
    job.save(2)
    watch.wait_until_said("published step 2")
    ended = watch.end().well()
    assert b"MARKED" not in ended.err + ended.out


class Agent:
    """What gives keys when it is asked, and nobody sees when it has others: a container's service.

    It gives the old ones, while `next` is None.
    """

    def __init__(self, server: ScriptedServer) -> None:
        self._server = server
        self.next: Keys | None = None
        server.script = {"GET /keys": lambda _: Answer(200, self._given())}
        self.flags = ("-creds", "instance")
        self.variables = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/keys"}

    def _given(self) -> dict[str, str]:
        keys = self.next or OLD
        token = keys.session_token or ""
        names = ("AccessKeyId", "SecretAccessKey", "Token")
        return dict(zip(names, (keys.access_key_id, keys.secret_access_key, token), strict=True))

    @property
    def times_asked(self) -> int:
        """How often it gave keys."""
        return len(self._server.asked)


@pytest.fixture
def agent() -> Iterator[Agent]:
    with scripted_server() as server:
        yield Agent(server)


def end_old_keys(fake: S3Fake, status: int) -> float:
    """Let the old keys end in a second, by the fake's clock, as S3 says it or as others do."""
    end = fake.now() + 1.0
    if status == EXPIRED_TOKEN.status:
        fake.add_keys(replace(OLD, expires_at=end))
    else:
        fake.script(
            replace(EXPIRED_TOKEN, status=status),
            lambda request: is_old(request) and fake.now() >= end,
            times=None,
        )
    return end


def is_old(request: Request) -> bool:
    """Whether the old keys signed it."""
    return f"Credential={OLD.access_key_id}/" in request.headers["authorization"]


@pytest.mark.parametrize("status", [400, 403])
def test_keys_that_end_after_a_time_are_renewed_exactly_once(
    job: Job, agent: Agent, status: int
) -> None:
    """The source gives the old ones as long as they live, and is asked when the store refuses."""
    job.fake.add_keys(OLD)
    job.fake.add_keys(NEW)
    job.save(1)
    job.keys = agent.variables
    watch = job.watch(*agent.flags)
    watch.wait_until_said("published step 1")
    end = end_old_keys(job.fake, status)
    assert agent.times_asked == 1
    agent.next = NEW
    wait_for(lambda: agent.times_asked > 1, "a renewal")
    assert job.fake.now() >= end
    job.save(2)
    watch.wait_until_said("published step 2")
    ended = watch.end().well()
    assert b"MARKED" not in ended.err + ended.out
    assert agent.times_asked == 2
    signed = "".join("o" if is_old(request) else "n" for request in job.fake.requests)
    assert re.fullmatch("o+n+", signed)
    assert job.published() == [name_of(1), name_of(2)]


@pytest.mark.parametrize("status", [400, 403])
def test_keys_that_stay_expired_end_the_watch_without_a_secret(
    job: Job, agent: Agent, status: int
) -> None:
    """Their source is asked once more, and gives the same."""
    job.fake.add_keys(OLD)
    job.save(1)
    job.keys = agent.variables
    watch = job.watch(*agent.flags)
    watch.wait_until_said("published step 1")
    end_old_keys(job.fake, status)
    ended = watch.wait().ended_with(1)
    ended.says("instance", "expired", OLD.access_key_id)
    assert b"MARKED" not in ended.err + ended.out
    assert agent.times_asked == 2


# ------------------------------------------------------------------------- case 49

PROXIES = {
    "HTTP_PROXY": "not a url",
    "http_proxy": "http://127.0.0.1:1",
    "HTTPS_PROXY": "http://127.0.0.1:1",
    "https_proxy": "http://127.0.0.1:1",
    "ALL_PROXY": "http://127.0.0.1:1",
}


def test_proxies_of_the_environment_are_never_used_nor_parsed(job: Job) -> None:
    job.run("publish", job.save(1), "1", environment=PROXIES).well()
    job.run("resolve", environment={**PROXIES, "NO_PROXY": ""}).well()


def test_the_proxy_that_is_named_carries_the_traffic(job: Job) -> None:
    """NO_PROXY notwithstanding: the endpoint's name leads nowhere, and all goes to the proxy."""
    endpoint = "http://store.invalid"
    named = ("-endpoint", endpoint, "-insecure-http", "-proxy", job.fake.url)
    environment = {**job.keys, **PROXIES, "NO_PROXY": "*", "no_proxy": "store.invalid"}
    save = job.save(1)
    for line in (("publish", save, "1"), ("resolve",)):
        command, *operands = line
        run = job.program.run(
            command, "-checkpoint", ROOT, *named, *operands, environment=environment
        )
        run.well()
    assert {request.headers["host"] for request in job.fake.requests} == {"store.invalid"}


@pytest.mark.parametrize(
    "proxy", ["http://user:MARKED@127.0.0.1:1", "http://127.0.0.1:1/path", "127.0.0.1:1"]
)
def test_a_proxy_that_is_more_than_a_url_is_refused(job: Job, proxy: str) -> None:
    ended = job.run("resolve", "-proxy", proxy).ended_with(2).says("proxy")
    assert b"MARKED" not in ended.err
    assert job.fake.requests == []


# ------------------------------------------------------------------------- settings


def test_the_environment_says_where_the_store_is_and_a_flag_overrides_it(job: Job) -> None:
    job.save(1)
    closed = "http://127.0.0.1:1"
    for variables in (
        {"AWS_ENDPOINT_URL_S3": job.fake.url, "AWS_ENDPOINT_URL": closed},
        {"AWS_ENDPOINT_URL": job.fake.url, "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "x"},
        {"AWS_ENDPOINT_URL": job.fake.url, "AWS_REGION": "", "AWS_DEFAULT_REGION": "us-east-1"},
    ):
        resolve = ("resolve", "-checkpoint", ROOT)
        job.program.run(*resolve, environment={**job.keys, **variables}).well()
    job.run(
        "resolve", environment={"AWS_ENDPOINT_URL_S3": closed, "AWS_ENDPOINT_URL": closed}
    ).well()
    job.run("resolve", environment={"AWS_REGION": "eu-west-1"}).ended_with(1).says(
        "in region us-east-1"
    )
    job.run("resolve", "-region", "us-east-1", environment={"AWS_REGION": "eu-west-1"}).well()


def test_creds_may_be_repeated(job: Job, tmp_path: Path) -> None:
    """In the order in which they were given; one that is absent gives way."""
    absent = f"file:{tmp_path}/absent.json"
    job.run("resolve", "-creds", absent, "-creds", "env").well()
    job.run("resolve", "-creds", f"{absent} env").well()
    job.run("resolve", "-creds", absent).ended_with(1).says("no credentials", absent)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["-addressing", "both"], "auto, path, virtual"),
        (["-ca-file", "/no/such/file"], "/no/such/file"),
        (["-creds", "MARKED"], "-creds"),
        (["-region", "a", "-region", "b"], "given twice"),
    ],
)
def test_a_wrong_setting_is_usage(job: Job, flags: list[str], said: str) -> None:
    job.run("resolve", *flags).ended_with(2).says(said).answers("")


def test_plain_http_to_another_machine_is_refused(job: Job) -> None:
    flags = ("resolve", "-checkpoint", ROOT, "-endpoint", "http://store.example")
    job.program.run(*flags, environment=job.keys).ended_with(2).says("-insecure-http")


def test_a_folder_takes_no_flags_of_s3(job: Job, tmp_path: Path) -> None:
    ended = job.program.run("resolve", "-checkpoint", tmp_path, "-region", "x", "-creds", "env")
    ended.ended_with(2).says("only roots on S3 take -creds, -region")


def test_an_entry_that_cannot_be_removed_ends_a_prune_with_1(job: Job) -> None:
    for step in (1, 2):
        job.run("publish", job.save(step), str(step)).well()
    job.fake.script(ACCESS_DENIED, on("DeleteObject"))
    ended = job.run("prune", "-keep", "1").ended_with(1)
    ended.says(f"left {ROOT}/pub/{name_of(1)}", "access denied")
    assert len(job.fake.names(BUCKET, f"job/{SAVE}/")) == 2


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    """On a node with nothing but Python."""
    code = (
        "import sys; sys.modules['botocore'] = None; "
        "from dispatch.cli.publish.start import main; main()"
    )
    program = Program([sys.executable, "-c", code], tmp_path)
    ended = program.run("resolve", "-checkpoint", ROOT).ended_with(2)
    ended.says("pip install '.[s3]'", "botocore")


def test_a_hung_store_is_waited_for_and_named(job: Job) -> None:
    """A watch's time-out is the limit of its patience with S3, too."""
    job.save(1)
    watch = job.watch("-timeout", "5s")
    watch.wait_until_said("published step 1")
    job.fake.script(Refuse(503, "SlowDown"), on(), times=None)
    watch.wait().ended_with(1).says("no answer from")
    wait_for(lambda: not watch.is_running(), "its end")


def test_a_probe_of_a_bucket_that_is_missing_claims_to_have_left_nothing(job: Job) -> None:
    """There is nothing to delete by hand."""
    line = ("probe", "-checkpoint", "s3://nobucket/x", "-endpoint", job.fake.url)
    ended = job.program.run(*line, environment=job.keys).ended_with(1)
    assert b"there is no such bucket" in ended.out
    assert b"left behind in" not in ended.out
    assert b"Delete it by hand" not in ended.out


def test_a_file_of_certificates_without_any_is_a_usage_error(job: Job, tmp_path: Path) -> None:
    """Not a store that is tried for eighty seconds."""
    (tmp_path / "ca.json").write_text("{}")
    job.run("resolve", "-ca-file", str(tmp_path / "ca.json")).ended_with(2).says("in PEM form")


def test_an_answer_without_a_code_is_shown_once(job: Job) -> None:
    job.fake.script(Refuse(404, "", ""), on("ListObjectsV2"), times=None)
    assert b"404 404" not in job.run("resolve").ended_with(1).err
