"""How a bucket is reached, as a person may be told it: no secret is in it."""

from __future__ import annotations

import pytest

from dispatch.adapters.credentials.chain import Chain
from dispatch.adapters.s3 import Connection
from dispatch.adapters.s3.connection import make_client
from dispatch.adapters.s3.location import Location
from dispatch.adapters.s3.requests import Requests
from dispatch.adapters.s3.store import S3Store
from dispatch.errors import CredentialsError
from dispatch.model.access import Access
from dispatch.ports.credentials import Absent, Credentials
from tests.unit.adapters.s3.roots import SECRET, TOKEN, Bench

END = 1_900_000_000.0


class Source:
    """Gives the same at each time."""

    def __init__(self, name: str, outcome: Credentials | Absent) -> None:
        self.name = name
        self._outcome = outcome

    def load(self) -> Credentials | Absent:
        return self._outcome

    def has_changed(self) -> bool:
        return False


def store_on(s3: Bench, connection: Connection, *sources: Source) -> S3Store:
    """Open a root with keys from sources."""
    keys = Chain(sources, now_ns=lambda: 0)
    around = s3.store._requests.around
    requests = Requests(make_client(connection, keys), keys, Location("b", ""), around)
    return S3Store(requests, ())


@pytest.mark.parametrize("end", [None, END])
def test_the_source_that_gave_the_keys_is_named(s3: Bench, end: float | None) -> None:
    """Of several the first that has any, asked for keys where nobody did before."""
    temporary = Credentials("AKIA", SECRET, TOKEN, end)
    sources = Source("env", Absent("unset")), Source("vault:https://v/m/p", temporary)
    connection = Connection("http://127.0.0.1:9", proxy="http://proxy:3128")
    access = store_on(s3, connection, *sources).access()
    assert access == Access("http://127.0.0.1:9", "vault:https://v/m/p", end, "http://proxy:3128")
    assert SECRET not in repr(access)
    assert TOKEN not in repr(access)


@pytest.mark.parametrize(
    ("region", "endpoint"), [("eu-central-1", "https://s3.eu-central-1.amazonaws.com")]
)
def test_the_endpoint_of_a_region_is_said(s3: Bench, region: str, endpoint: str) -> None:
    """Also where none was given, and none is asked."""
    access = store_on(s3, Connection(region=region), Source("env", Credentials("a", "b"))).access()
    assert access == Access(endpoint, "env")


def test_without_keys_it_is_said_what_was_tried(s3: Bench) -> None:
    store = store_on(s3, Connection(), Source("env", Absent("unset")))
    with pytest.raises(CredentialsError, match="tried env: unset"):
        store.access()


def test_a_root_on_the_fake(s3: Bench) -> None:
    assert s3.store.access() == Access(s3.fake.url, "fake")
