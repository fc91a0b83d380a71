"""What each answer of S3 means, by script: a table, row by row, for each operation."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from dispatch.adapters.s3 import requests as s3_requests
from dispatch.adapters.s3.answers import BY_CODE, BY_STATUS, Answer, classify
from dispatch.errors import (
    CredentialsError,
    DispatchError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    UnknownOutcomeError,
)
from dispatch.model.removal import Aside, Left
from dispatch.testing.s3fake import (
    ABORTED,
    ACCESS_DENIED,
    CONFLICT,
    EXPIRED_TOKEN,
    INTERNAL_ERROR,
    NOT_IMPLEMENTED,
    NOT_MODIFIED,
    PRECONDITION_FAILED,
    SLOW_DOWN,
    KeepKeys,
    Keys,
    LoseReply,
    Refuse,
    Reset,
    S3Fake,
    Say,
    on,
)
from tests.unit.adapters.s3.roots import (
    BUCKET,
    PREFIX,
    SECRET,
    TOKEN,
    Bench,
    bench_on,
    credentials_of,
)

Fault = Refuse | Say | Reset | LoseReply
TEMPORARY = Keys("temporary", SECRET, TOKEN)
OTHERS = Keys("others", "s" * 20, "t" * 20)


def error_of(status: int, code: str) -> ClientError:
    """Make what botocore raises."""
    metadata: Any = {"HTTPStatusCode": status, "HTTPHeaders": {}}
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": metadata}, "X")


@pytest.mark.parametrize(("code", "answer"), BY_CODE.items())
def test_a_code_means_the_same_whatever_the_status(code: str, answer: Answer) -> None:
    assert classify(error_of(418, code)) is answer


@pytest.mark.parametrize(("status", "answer"), BY_STATUS.items())
def test_a_status_without_a_known_code(status: int, answer: Answer) -> None:
    assert classify(error_of(status, "Whatever")) is answer


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_fault_of_the_server_leaves_the_outcome_unknown(status: int) -> None:
    assert classify(error_of(status, "")) is Answer.UNKNOWN


@pytest.mark.parametrize("status", [301, 304, 400, 403, 405, 411, 501])
def test_anything_else_has_failed(status: int) -> None:
    assert classify(error_of(status, "Whatever")) is Answer.FAILED


# ------------------------------------------------------------------------- creating


@pytest.mark.parametrize("fault", [CONFLICT, ABORTED, INTERNAL_ERROR, SLOW_DOWN, Reset()])
def test_a_creation_is_tried_again(s3: Bench, fault: Fault) -> None:
    """And is a creation then, since nothing was done."""
    s3.fake.script(fault, on("PutObject"), times=3)
    assert s3.store.create("pub", "name") is True
    assert s3.asked() == ["PutObject"] * 4
    assert s3.clock.slept == [0.1, 0.2, 0.4]
    assert s3.names() == ["pub/name"]
    assert s3.quiet.count("in") == 4


@pytest.mark.parametrize("sent", [0, 5, 12, 17, 40, 90])
def test_a_lost_reply_ends_as_already_there(s3: Bench, sent: int) -> None:
    """Wherever it was cut off: one try made the name, whoever's it was."""
    s3.fake.script(LoseReply(sent), on("PutObject"))
    assert s3.store.create("pub", "name") is False
    assert s3.asked() == ["PutObject"] * 2
    assert s3.names() == ["pub/name"]


def test_a_page_of_some_proxy_is_no_answer(s3: Bench) -> None:
    """It is success to botocore; here it is tried again, and nothing is lost."""
    s3.fake.script(Say(200, b"<html>log in</html>"), on())
    assert s3.store.create("pub", "name") is True
    s3.fake.script(Say(200, b"<html>log in</html>"), on("ListObjectsV2"))
    assert s3.store.names("pub") == (["name"], True)
    s3.fake.script(Say(200, b""), on("HeadObject"))
    assert s3.store.has_file(b"pub", b"other") is False
    s3.fake.script(Say(200, b"<html>"), on("DeleteObject"))
    assert s3.store.remove("pub", ["name"]) == (["name"], {})
    s3.fake.script(Say(200, b"<html>"), on("GetObject"))
    assert s3.store.read(b"pub", b"other", 9) is None


def test_412_is_already_there(s3: Bench) -> None:
    s3.fake.script(PRECONDITION_FAILED, on("PutObject"))
    assert s3.store.create("pub", "name") is False
    assert s3.asked() == ["PutObject"]


@pytest.mark.parametrize("fault", [CONFLICT, ABORTED])
def test_409_until_the_deadline_is_not_there_and_not_exists(s3: Bench, fault: Refuse) -> None:
    """Nothing was written, and nobody says otherwise."""
    s3.fake.script(fault, on("PutObject"), times=None)
    with pytest.raises(UnavailableError) as caught:
        s3.store.create("pub", "name")
    assert caught.value.kind == "store-unavailable"
    assert "409" in str(caught.value)
    assert s3.clock.now <= s3_requests.OPERATION_S
    assert s3.clock.now > s3_requests.OPERATION_S - s3_requests.PAUSE_S_MAX
    assert s3.names() == []


@pytest.mark.parametrize("fault", [INTERNAL_ERROR, Reset()])
def test_an_unknown_outcome_until_the_deadline_is_said_to_be_unknown(
    s3: Bench, fault: Fault
) -> None:
    s3.fake.script(fault, on("PutObject"), times=None)
    with pytest.raises(UnknownOutcomeError) as caught:
        s3.store.create("pub", "name")
    assert caught.value.kind == "outcome-unknown"


@pytest.mark.parametrize("fault", [INTERNAL_ERROR, Reset()])
def test_a_read_that_fails_until_the_deadline_has_changed_nothing(s3: Bench, fault: Fault) -> None:
    s3.fake.script(fault, on("ListObjectsV2"), times=None)
    with pytest.raises(UnavailableError):
        s3.store.names("pub")


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (NOT_MODIFIED, RefusedError),
        (NOT_IMPLEMENTED, RefusedError),
        (ACCESS_DENIED, RefusedError),
        (Refuse(405, "MethodNotAllowed"), UnavailableError),
        (Refuse(400, "InvalidRequest"), UnavailableError),
        (Refuse(307, "TemporaryRedirect"), UnavailableError),
        (Say(302, b"", "text/html"), UnavailableError),
        (Refuse(404, "NoSuchBucket"), NotFoundError),
        (Refuse(403, "SignatureDoesNotMatch"), CredentialsError),
        (Refuse(403, "InvalidAccessKeyId"), CredentialsError),
    ],
)
def test_anything_else_is_an_error_and_never_created(
    s3: Bench, fault: Fault, error: type[DispatchError]
) -> None:
    """With one request, and the action and the key in the message."""
    s3.fake.script(fault, on("PutObject"))
    with pytest.raises(error) as caught:
        s3.store.create("pub", "name")
    assert s3.asked() == ["PutObject"]
    assert f"PutObject s3://{BUCKET}/{PREFIX}/pub/name" in str(caught.value)


# ------------------------------------------------------------------------- keys


@pytest.mark.parametrize(
    "fault", [EXPIRED_TOKEN, Refuse(403, "ExpiredToken"), Refuse(403, "InvalidAccessKeyId")]
)
@pytest.mark.parametrize("operation", ["PutObject", "ListObjectsV2", "HeadObject"])
def test_keys_that_expired_are_renewed_once(fault: Refuse, operation: str) -> None:
    """Whatever the store calls it; a HEAD's answer doesn't even have a code."""
    fake = S3Fake()
    fake.add_keys(TEMPORARY)
    fake.add_keys(OTHERS)
    with bench_on(fake, TEMPORARY) as s3:
        s3.keys.next = [credentials_of(OTHERS)]
        s3.fake.script(fault, on(operation))
        asks: dict[str, Callable[[], object]] = {
            "PutObject": lambda: s3.store.create("pub", "name"),
            "ListObjectsV2": lambda: s3.store.names("pub"),
            "HeadObject": lambda: s3.store.written("pub", ["name"]),
        }
        asks[operation]()
        assert s3.keys.renewals == 1
        assert s3.asked() == [operation] * 2
        assert s3.clock.slept == []


def test_keys_that_are_unknown_by_now_are_renewed_whatever_is_known_of_their_end() -> None:
    """A key without a token or an end can be removed, and its source give another."""
    fake = S3Fake()
    fake.add_keys(OTHERS)
    with bench_on(fake, Keys("removed", SECRET)) as s3:
        s3.keys.next = [credentials_of(OTHERS)]
        assert s3.store.names("pub") == ([], True)
        assert (s3.keys.renewals, s3.asked()) == (1, ["ListObjectsV2"] * 2)


def test_keys_that_are_refused_again_are_not_renewed_twice() -> None:
    fake = S3Fake()
    fake.add_keys(TEMPORARY)
    fake.add_keys(OTHERS)
    with bench_on(fake, TEMPORARY) as s3:
        s3.keys.next = [credentials_of(OTHERS)]
        s3.fake.script(EXPIRED_TOKEN, on("ListObjectsV2"), times=2)
        with pytest.raises(CredentialsError) as caught:
            s3.store.names("pub")
        assert (s3.keys.renewals, caught.value.kind) == (1, "credentials-refused")


def test_the_same_keys_again_end_it() -> None:
    """With what their source says, and no secret anywhere in it."""
    fake = S3Fake()
    fake.add_keys(replace(TEMPORARY, expires_at=0.0))
    with bench_on(fake, TEMPORARY) as s3:
        s3.keys.next = [CredentialsError("they have expired", kind="credentials-expired")]
        with pytest.raises(CredentialsError, match="they have expired") as caught:
            s3.store.names("pub")
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
        shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        inner = [line for line in shown.format() if "dispatch/adapters" in line]
        assert inner
        assert not [line for line in inner if SECRET in line or TOKEN in line]


def test_a_source_that_cannot_be_reached_is_asked_again() -> None:
    fake = S3Fake()
    fake.add_keys(replace(TEMPORARY, expires_at=0.0))
    fake.add_keys(OTHERS)
    with bench_on(fake, TEMPORARY) as s3:
        unreachable = CredentialsError("no vault", kind="credentials-unreachable")
        s3.keys.next = [unreachable, unreachable, credentials_of(OTHERS)]
        assert s3.store.names("pub") == ([], True)
        assert (s3.keys.renewals, s3.clock.slept) == (3, [0.1, 0.2])
        fake.remove_keys(OTHERS.access_key_id)
        s3.keys.next = [unreachable] * 50
        with pytest.raises(CredentialsError) as caught:
            s3.store.names("pub")
        assert caught.value.kind == "credentials-unreachable"


def test_keys_without_an_end_are_not_renewed(s3: Bench) -> None:
    """A HEAD that is refused is a matter of rights then, and says what it can't say."""
    s3.fake.script(ACCESS_DENIED, on("HeadObject"))
    with pytest.raises(RefusedError, match=r"aren't valid \(403\): HeadObject") as caught:
        s3.store.has_file(b"a", b"b")
    assert s3.keys.renewals == 0
    assert "without the right to list the bucket" in caught.value.hint


def test_a_head_that_is_refused_with_the_same_keys_is_a_matter_of_rights() -> None:
    fake = S3Fake()
    fake.add_keys(TEMPORARY)
    with bench_on(fake, TEMPORARY) as s3:
        s3.keys.next = [CredentialsError("the same", kind="credentials-expired")]
        s3.fake.script(ACCESS_DENIED, on("HeadObject"))
        with pytest.raises(RefusedError):
            s3.store.has_file(b"a", b"b")
        assert s3.keys.renewals == 1


# ------------------------------------------------------------------------- no secrets


@pytest.mark.parametrize("code", [TOKEN, TOKEN[3:], f"x{TOKEN}"])
def test_a_code_that_repeats_the_token_is_not_shown(code: str) -> None:
    """Nor a region, nor what a batch says of a key."""
    fake = S3Fake()
    fake.add_keys(TEMPORARY)
    with bench_on(fake, TEMPORARY) as s3:
        s3.put("exec/a/step-1/x")
        s3.fake.script(Refuse(400, code, headers={"x-amz-bucket-region": code}), on("PutObject"))
        with pytest.raises(UnavailableError, match="answered 400 without a code: PutObject"):
            s3.store.create("pub", "name")
        s3.fake.script(KeepKeys({f"{PREFIX}/exec/a/step-1/x": code}), on("DeleteObjects"))
        left = s3.store.delete(Aside(b"exec/a/step-1", b"exec/a/step-1"))
        assert isinstance(left, Left)
        assert left.reason.endswith("exec/a/step-1/x: not deleted")


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        ("ListObjectsV2", Say(404, b"<html>no store</html>")),
        ("ListObjectsV2", Refuse(404, "NoSuchKey")),
        ("ListObjectsV2", PRECONDITION_FAILED),
        ("HeadObject", PRECONDITION_FAILED),
        ("PutObject", Say(404, b"<html>no store</html>")),
        ("PutObject", Refuse(404, "NoSuchKey")),
    ],
)
def test_absent_and_exists_are_answers_to_what_can_be_so(
    s3: Bench, operation: str, fault: Fault
) -> None:
    """A listing isn't absent, and a creation doesn't look for a key: that is no store of S3's."""
    s3.fake.script(fault, on(operation))
    asks: dict[str, Callable[[], object]] = {
        "ListObjectsV2": lambda: s3.store.names("pub"),
        "HeadObject": lambda: s3.store.written("pub", ["name"]),
        "PutObject": lambda: s3.store.create("pub", "name"),
    }
    with pytest.raises(UnavailableError, match=f"the store answered 4.*: {operation}"):
        asks[operation]()


def test_a_fault_in_botocore_tells_where_and_not_what(s3: Bench) -> None:
    def break_down(**sent: object) -> None:
        raise KeyError(f"{SECRET} {sent}")

    s3.store._requests.client.meta.events.register("before-send.s3", break_down)
    with pytest.raises(RuntimeError) as caught:
        s3.store.names("pub")
    told = str(caught.value)
    assert told.startswith(f"KeyError during ListObjectsV2 s3://{BUCKET}/{PREFIX}/pub/: raised at ")
    assert "in break_down, " in told
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert not [line for line in shown.format() if SECRET in line]
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


# ------------------------------------------------------------------------- settings


def look_by_head(s3: Bench) -> object:
    return s3.store.has_file(b"a", b"b")


def look_by_list(s3: Bench) -> object:
    return s3.store.names("pub")


@pytest.mark.parametrize("redirects", [True, False])
@pytest.mark.parametrize("look", [look_by_head, look_by_list])
def test_the_right_region_is_named(*, redirects: bool, look: Callable[[Bench], object]) -> None:
    """By one request: nobody asks elsewhere by himself."""
    with bench_on(S3Fake()) as s3:
        s3.fake.create_bucket(BUCKET, region="eu-central-1", redirects=redirects)
        if look is look_by_head and not redirects:
            headers = {"x-amz-bucket-region": "eu-central-1"}
            s3.fake.create_bucket(BUCKET)
            s3.fake.script(Refuse(400, headers=headers), on("HeadObject"))
        with pytest.raises(RefusedError) as caught:
            look(s3)
        assert caught.value.kind == "wrong-region"
        assert "eu-central-1" in str(caught.value)
        assert caught.value.hint == "Use -region eu-central-1."
        assert len(s3.fake.requests) == 1


@pytest.mark.parametrize("look", [look_by_head, look_by_list])
@pytest.mark.parametrize(("skew", "told"), [(2000, "2000 s behind"), (-2000, "2000 s ahead of")])
def test_a_clock_that_is_off_is_told_by_how_much(
    look: Callable[[Bench], object], skew: int, told: str
) -> None:
    fake = S3Fake()
    with bench_on(fake, now=fake._clock) as s3:
        fake.skew_s = skew
        with pytest.raises(UnavailableError) as caught:
            look(s3)
        assert caught.value.kind == "clock-skew"
        seconds = int(str(caught.value).split(" is ")[1].split()[0])
        assert abs(seconds - 2000) < 60
        assert told.split(" ", 1)[1] in str(caught.value)


def test_a_bucket_that_is_not_there_is_a_missing_root(s3: Bench) -> None:
    s3.fake.delete_bucket(BUCKET)
    for look in (
        lambda: s3.store.names("pub"),
        lambda: s3.store.has_save(b"a"),
        lambda: s3.store.create("pub", "x"),
        lambda: s3.store.children(b"exec/a", b""),
    ):
        with pytest.raises(NotFoundError) as caught:
            look()
        assert caught.value.kind == "root-missing"
