"""Cases 45, 46, 47 and 49 of the shared list, and S3 roots by the real program, on the fake."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dispatch.testing.s3fake import (
    ABORTED,
    ACCESS_DENIED,
    CONFLICT,
    NOT_IMPLEMENTED,
    NOT_MODIFIED,
    Keys,
    LoseReply,
    Refuse,
    S3Fake,
    on,
)
from tests.cli.program import ATTEMPT, EPOCH, Ended, Environment, Program, Running, wait_for
from tests.cli.roots import entry_name

BUCKET, ROOT = "runs", "s3://runs/job"
SAVE = f"exec/{ATTEMPT}/step-1"
OLD = Keys("oldaccess", "MARKEDoldsecret0123456789", "MARKEDoldtoken0123456789")
NEW = Keys("newaccess", "MARKEDnewsecret0123456789", "MARKEDnewtoken0123456789")
EXPIRED = Refuse(403, "ExpiredToken", "The provided token has expired.")


class Job:
    """A root on a fake, and the program with this Python, which has the extra."""

    def __init__(self, fake: S3Fake, scratch: Path) -> None:
        self.fake = fake
        self.scratch = scratch
        self.program = Program([sys.executable, "-m", "dispatch.cli.publish"], scratch)
        self.keys: dict[str, str | bytes | None] = {
            "AWS_ACCESS_KEY_ID": fake.keys.access_key_id,
            "AWS_SECRET_ACCESS_KEY": fake.keys.secret_access_key,
        }

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

    def watch(self, *more: str) -> Running:
        """Start a watch."""
        watch = ("-framework", "dcp", "-interval", "50ms", *more)
        return self.program.start(*self.line("watch", *watch), environment=self.keys)

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
    job.run("watch", "-framework", "dcp", "-once").well().says("published step 3")
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


def test_keys_that_stay_expired_end_the_watch_without_a_secret(job: Job, tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    write_keys(path, OLD)
    job.fake.add_keys(OLD)
    job.save(1)
    watch = job.watch("-creds", f"file:{path}")
    watch.wait_until_said("published step 1")
    job.fake.script(EXPIRED, on(), times=None)
    ended = watch.wait().ended_with(1)
    ended.says("expired", OLD.access_key_id)
    assert b"MARKED" not in ended.err + ended.out


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
    watch = job.watch("-timeout", "500ms")
    watch.wait_until_said("published step 1")
    job.fake.script(Refuse(503, "SlowDown"), on(), times=None)
    watch.wait().ended_with(1).says("no answer from")
    wait_for(lambda: not watch.is_running(), "its end")
