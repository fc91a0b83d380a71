"""The contract of a root: `dispatch.ports.store.Root`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dispatch.errors import DispatchError, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from dispatch.testing.contracts.bench import MakePublishingStore


class RootContract:
    """What any store says of its root; needs the fixture ``make_store``."""

    def test_a_root_that_is_there_passes_the_check(self, make_store: MakePublishingStore) -> None:
        """Before and after something was made in it."""
        store = make_store().open()
        store.check()
        store.create("pub", "name")
        store.check()

    def test_how_a_root_is_reached_is_told(self, make_store: MakePublishingStore) -> None:
        """The same at each time, by each who opens it; before anything was made in it, too."""
        bench = make_store()
        store = bench.open()
        access = store.access()
        assert access.medium
        store.create("pub", "name")
        assert store.access() == bench.open().access() == access

    def test_a_path_and_its_location_lead_to_each_other(
        self, make_store: MakePublishingStore
    ) -> None:
        """Whatever bytes it holds; a trailing slash means nothing."""
        bench = make_store()
        bench.write(b"e/step-1/x", b"")
        store = bench.open()
        for path in (b"e", b"e/step-1", b"e/not yet", b"e/\xff"):
            location = store.location(path)
            assert location.endswith(b"/" + path)
            assert store.relative(location) == path
            assert store.relative(location + b"/") == path

    def test_the_empty_path_is_the_root_itself(self, make_store: MakePublishingStore) -> None:
        """It has a location, too."""
        store = make_store().open()
        assert store.location(b"e") == store.location(b"") + b"/e"
        assert store.relative(store.location(b"")) == b""

    def test_a_location_elsewhere_is_refused(self, make_store: MakePublishingStore) -> None:
        """The root's name is no prefix of another folder's name."""
        store = make_store().open()
        root = store.location(b"")
        for location in (root + b"-other/e", root.rpartition(b"/")[0], b"/elsewhere/e"):
            with pytest.raises(InvalidInputError):
                store.relative(location)

    def test_a_root_that_is_gone_is_an_error_and_nothing_is_made(
        self, make_store: MakePublishingStore
    ) -> None:
        """Above all it is not "nothing is published"."""
        bench = make_store()
        store = bench.open()
        bench.destroy()
        with pytest.raises(NotFoundError) as caught:
            store.names("pub")
        assert caught.value.kind == "root-missing"
        with pytest.raises(DispatchError):
            store.create("pub", "name")

    def test_a_root_that_is_gone_is_seen_at_once(self, make_store: MakePublishingStore) -> None:
        """By who checks, and by who opens it."""
        bench = make_store()
        store = bench.open()
        bench.destroy()
        for look in (store.check, bench.open):
            with pytest.raises(NotFoundError) as caught:
                look()
            assert caught.value.kind == "root-missing"
