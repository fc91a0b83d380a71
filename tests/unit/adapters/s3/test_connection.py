"""A client that does nothing behind our back, whatever the environment says."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import botocore.auth
import pytest

from dispatch.adapters.s3 import Connection
from dispatch.errors import InvalidInputError
from dispatch.testing.s3fake import SLOW_DOWN, Keys, LoseReply, Refuse, S3Fake, on
from tests.unit.adapters.s3.roots import bench_on, credentials_of

HOSTILE = {
    "AWS_PROFILE": "nobody",
    "AWS_DEFAULT_REGION": "eu-west-9",
    "AWS_REGION": "eu-west-9",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    "AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1",
    "AWS_CA_BUNDLE": "/no/such/file",
    "REQUESTS_CA_BUNDLE": "/no/such/file",
    "AWS_ACCESS_KEY_ID": "other",
    "AWS_SECRET_ACCESS_KEY": "other",
    "AWS_SESSION_TOKEN": "other",
    "AWS_MAX_ATTEMPTS": "9",
    "AWS_RETRY_MODE": "adaptive",
    "AWS_USE_FIPS_ENDPOINT": "true",
    "AWS_USE_DUALSTACK_ENDPOINT": "true",
    "AWS_REQUEST_CHECKSUM_CALCULATION": "when_supported",
    "HTTP_PROXY": "http://127.0.0.1:1",
    "HTTPS_PROXY": "not a url",
    "ALL_PROXY": "http://127.0.0.1:1",
}


def test_nothing_is_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nor from files that it names, which don't even parse."""
    broken = tmp_path / "config"
    broken.write_text("[[[")
    files = dict.fromkeys(("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"), str(broken))
    for name, value in {**HOSTILE, **files}.items():
        monkeypatch.setenv(name, value)
    with bench_on(S3Fake()) as s3:
        assert s3.store.create("pub", "name")
        [request] = s3.fake.requests
        assert not {"x-amz-sdk-checksum-algorithm", "x-amz-trailer"} & set(request.headers)
        assert "us-east-1" in request.headers["authorization"]


def test_keys_are_looked_up_at_each_signature() -> None:
    with bench_on(S3Fake()) as s3:
        s3.store.create("pub", "a")
        old = s3.keys.credentials
        s3.fake.remove_keys(old.access_key_id)
        new = Keys("rotated", "r" * 20, "t" * 20)
        s3.fake.add_keys(new)
        s3.keys.credentials = credentials_of(new)
        assert s3.store.names("pub") == (["a"], True)


@pytest.mark.parametrize("fault", [SLOW_DOWN, LoseReply()], ids=["503", "lost"])
def test_each_try_is_signed_afresh(
    fault: Refuse | LoseReply, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signature is good for 15 minutes, and tries may be far apart: a minute each time here."""
    right: Callable[[], datetime] = vars(botocore.auth)["get_current_datetime"]
    start, minutes = right(), itertools.count()
    monkeypatch.setattr(
        botocore.auth, "get_current_datetime", lambda: start + timedelta(minutes=next(minutes))
    )
    with bench_on(S3Fake()) as s3:
        s3.fake.script(fault, on("PutObject"), times=2)
        s3.store.create("pub", "name")
        assert s3.asked() == ["PutObject"] * 3
        dates = [request.headers["x-amz-date"] for request in s3.fake.requests]
        signed = [start + timedelta(minutes=number) for number in range(3)]
        assert dates == [f"{moment:%Y%m%dT%H%M%SZ}" for moment in signed]
        assert len({request.headers["authorization"] for request in s3.fake.requests}) == 3


@pytest.mark.parametrize(("addressing", "path"), [("virtual", "/job/"), ("path", "/runs/job/")])
def test_a_bucket_may_stand_in_the_host(addressing: str, path: str) -> None:
    """Through the fake as a proxy: the name of the host need not lead anywhere."""
    fake = S3Fake(domain="store.invalid")
    how: dict[str, object] = {
        "endpoint": "http://store.invalid",
        "proxy": fake.url,
        "addressing": addressing,
    }
    with bench_on(fake, how=how) as s3:
        assert s3.store.create("pub", "a")
        assert s3.fake.requests[-1].path.startswith(path)


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "https://any.host/"]
)
def test_plain_http_stays_on_this_machine(endpoint: str) -> None:
    assert Connection(endpoint=endpoint).endpoint == endpoint
    assert Connection(endpoint="http://any.host", allow_http=True).endpoint == "http://any.host"
    for other in ("http://any.host", "http://127.0.0.1.any.host", "http://128.0.0.1:1"):
        with pytest.raises(InvalidInputError, match="plain http"):
            Connection(endpoint=other)


def test_certificates_are_a_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError):
        Connection(ca_file=os.fspath(tmp_path))
