"""The contract of saves: `dispatch.ports.store.SavesStore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dispatch.testing.contracts.bench import MakePublishingStore

SIZE_MAX = 1 << 20  # bytes; larger than any file here
LARGE = 3 * SIZE_MAX // 2  # more than one read of any store


class SavesContract:
    """What any store answers about saves; needs the fixture ``make_store``."""

    def test_children_are_the_names_that_start_with_the_prefix(
        self, make_store: MakePublishingStore
    ) -> None:
        """Files and folders alike, and only those directly inside."""
        bench = make_store()
        for path in (b"e/a/step-1/x", b"e/a/step-2", b"e/a/other/step-3", b"e/b/step-4"):
            bench.write(path, b"")
        store = bench.open()
        assert sorted(store.children(b"e/a", b"step-")) == [b"step-1", b"step-2"]
        assert sorted(store.children(b"e/a", b"")) == [b"other", b"step-1", b"step-2"]
        assert sorted(store.children(b"e", b"")) == [b"a", b"b"]
        assert store.children(b"", b"") == [b"e"]

    def test_what_is_no_folder_has_no_children(self, make_store: MakePublishingStore) -> None:
        """Neither a missing folder, nor a file, nor what would be inside a file."""
        bench = make_store()
        bench.write(b"e/file", b"")
        for path in (b"missing", b"e/missing", b"e/file", b"e/file/inside"):
            assert bench.open().children(path, b"") == []

    def test_children_keep_their_bytes(self, make_store: MakePublishingStore) -> None:
        """Names are bytes, whatever the locale."""
        bench = make_store()
        bench.write(b"e/step-\xff\n/x", b"")
        assert bench.open().children(b"e", b"step-") == [b"step-\xff\n"]

    def test_a_folder_or_a_file_is_a_save(self, make_store: MakePublishingStore) -> None:
        """Also one that is deep below; nothing else is."""
        bench = make_store()
        bench.write(b"e/a/step-1/model/weights", b"w")
        store = bench.open()
        for path in (b"e/a/step-1", b"e/a/step-1/model", b"e/a/step-1/model/weights", b"e"):
            assert store.has_save(path)
        for path in (b"e/a/step-2", b"x", b"e/a/step", b"e/a/step-1/model/weights/more"):
            assert not store.has_save(path)

    def test_an_empty_folder_is_a_save(self, make_store: MakePublishingStore) -> None:
        """Where there is such a thing: the store holds no opinion on completeness."""
        bench = make_store()
        if not bench.make_folder(b"e/step-1"):
            pytest.skip("this store has no empty folders")
        assert bench.open().has_save(b"e/step-1")

    def test_a_link_to_a_save_is_a_save_and_one_to_nothing_is_none(
        self, make_store: MakePublishingStore
    ) -> None:
        """Also through a link at an element above, and never in a circle."""
        bench = make_store()
        bench.write(b"real/step-1/weights", b"w")
        if not bench.link(b"e/step-1", b"../real/step-1"):
            pytest.skip("this store has no links")
        bench.link(b"linked", b"real")
        bench.link(b"e/step-2", b"nowhere")
        bench.link(b"e/step-3", b"step-3")
        store = bench.open()
        assert store.has_save(b"e/step-1")
        assert store.has_save(b"linked/step-1")
        assert not store.has_save(b"e/step-2")
        assert not store.has_save(b"e/step-3")

    def test_a_file_is_read_up_to_the_size_asked_for(self, make_store: MakePublishingStore) -> None:
        """One byte too many and there is no answer, rather than a part of the file."""
        bench = make_store()
        bench.write(b"e/step-1/state", b"12345")
        bench.write(b"e/step-1/empty", b"")
        store = bench.open()
        assert store.read(b"e/step-1", b"state", 5) == b"12345"
        assert store.read(b"e/step-1", b"state", 4) is None
        assert store.read(b"e/step-1", b"empty", 0) == b""

    def test_a_large_file_is_read_whole(self, make_store: MakePublishingStore) -> None:
        """However many reads that takes."""
        bench = make_store()
        content = bytes(range(256)) * (LARGE // 256)
        bench.write(b"e/step-1/state", content)
        assert bench.open().read(b"e/step-1", b"state", LARGE) == content

    def test_what_is_no_regular_file_is_not_read(self, make_store: MakePublishingStore) -> None:
        """Nothing there, a folder, a name inside a file: no content, no error."""
        bench = make_store()
        bench.write(b"e/step-1/folder/x", b"")
        bench.write(b"e/file", b"")
        store = bench.open()
        for save, file in (
            (b"e/step-1", b"missing"),
            (b"e/step-1", b"folder"),
            (b"e/step-2", b"state"),
            (b"e/file", b"state"),
        ):
            assert store.read(save, file, SIZE_MAX) is None
            assert not store.has_file(save, file)

    def test_a_name_is_there_whatever_it_stands_for(self, make_store: MakePublishingStore) -> None:
        """A folder has the name that a mark would have; so it is not called complete."""
        bench = make_store()
        bench.write(b"e/step-1/state", b"")
        bench.write(b"e/step-1/folder/x", b"")
        store = bench.open()
        assert store.has_file(b"e/step-1", b"state")
        assert store.has_name(b"e/step-1", b"state")
        assert store.has_name(b"e/step-1", b"folder")
        assert not store.has_name(b"e/step-1", b"missing")
        assert not store.has_name(b"e/step-2", b"state")
        assert not store.has_name(b"e/step-1/state", b"state")

    def test_a_link_in_a_save_is_the_file_it_leads_to(
        self, make_store: MakePublishingStore
    ) -> None:
        """One that leads nowhere is a name and no file."""
        bench = make_store()
        bench.write(b"e/step-1/real", b"content")
        if not bench.link(b"e/step-1/state", b"real"):
            pytest.skip("this store has no links")
        bench.link(b"e/step-1/lost", b"nowhere")
        store = bench.open()
        assert store.read(b"e/step-1", b"state", SIZE_MAX) == b"content"
        assert store.has_file(b"e/step-1", b"state")
        assert store.read(b"e/step-1", b"lost", SIZE_MAX) is None
        assert not store.has_file(b"e/step-1", b"lost")
        assert store.has_name(b"e/step-1", b"lost")

    def test_a_pipe_blocks_nobody_and_is_neither_save_nor_file(
        self, make_store: MakePublishingStore
    ) -> None:
        """A name like a save's or a marker's proves nothing."""
        bench = make_store()
        if not bench.pipe(b"e/step-1/state"):
            pytest.skip("this store has no pipes")
        bench.pipe(b"e/step-2")
        store = bench.open()
        assert store.read(b"e/step-1", b"state", SIZE_MAX) is None
        assert not store.has_file(b"e/step-1", b"state")
        assert store.has_name(b"e/step-1", b"state")
        assert not store.has_save(b"e/step-2")
        assert store.children(b"e/step-2", b"") == []

    def test_the_contents_are_every_name_below_a_save(
        self, make_store: MakePublishingStore
    ) -> None:
        """A folder is a name, and what is in it too; nothing outside is."""
        bench = make_store()
        for path in (b"e/s/a", b"e/s/sub/deep/b", b"e/s/sub/c\xff", b"e/s-2/d", b"e/x"):
            bench.write(path, b"content")
        contents = bench.open().contents(b"e/s")
        files = [b"a", b"sub/c\xff", b"sub/deep/b"]
        assert sorted(contents.files()) == files
        assert sorted(contents.states) == sorted([*files, b"sub", b"sub/deep"])

    def test_what_is_no_folder_has_no_contents(self, make_store: MakePublishingStore) -> None:
        """Neither a missing save nor a file."""
        bench = make_store()
        bench.write(b"e/file", b"")
        for path in (b"missing", b"e/missing", b"e/file", b"e/file/inside"):
            assert bench.open().contents(path).states == {}

    def test_contents_are_the_same_until_a_file_comes_goes_or_grows(
        self, make_store: MakePublishingStore
    ) -> None:
        """As another process sees it, too."""
        bench = make_store()
        bench.write(b"e/s/a", b"1")
        bench.write(b"e/s/b", b"1")
        first = bench.open().contents(b"e/s").states
        assert bench.open().contents(b"e/s").states == first
        bench.write(b"e/s/sub/c", b"")
        second = bench.open().contents(b"e/s").states
        assert second != first
        bench.write(b"e/s/b", b"12")
        third = bench.open().contents(b"e/s").states
        assert {path for path in second if second[path] != third[path]} == {b"b"}

    def test_an_age_is_never_more_than_the_truth(self, make_store: MakePublishingStore) -> None:
        """What was written just now is young, or its age isn't told."""
        bench = make_store()
        bench.write(b"e/s/a", b"1")
        assert bench.open().contents(b"e/s").unchanged_s in {None, 0.0}

    def test_links_and_pipes_in_the_contents(self, make_store: MakePublishingStore) -> None:
        """A link to a file is that file; one to a folder, to nothing or in a circle is a name."""
        bench = make_store()
        bench.write(b"e/s/real/file", b"content")
        bench.write(b"e/other/file", b"content")
        if not bench.link(b"e/s/file", b"real/file"):
            pytest.skip("this store has no links")
        for name, target in ((b"lost", b"no"), (b"out", b"../other"), (b"up", b".")):
            bench.link(b"e/s/" + name, target)
        bench.link(b"e/linked", b"s")
        bench.pipe(b"e/s/pipe")
        for save in (b"e/s", b"e/linked"):
            contents = bench.open().contents(save)
            assert sorted(contents.files()) == [b"file", b"real/file"]
            assert {b"lost", b"out", b"up", b"pipe", b"real"} <= contents.states.keys()

    def test_syncing_a_save_goes_on_to_its_end(self, make_store: MakePublishingStore) -> None:
        """It does nothing before it is asked to, and what it names is named once."""
        bench = make_store()
        bench.write(b"e/step-1/model/weights", b"w")
        bench.write(b"e/step-1/state", b"s")
        bench.link(b"e/step-1/linked", b"model")
        bench.link(b"e/step-1/lost", b"nowhere")
        durable = list(bench.open().sync_save(b"e/step-1"))
        assert len(durable) == len(set(durable))
        assert bench.content(b"e/step-1/model/weights") == b"w"

    def test_a_save_that_vanishes_while_it_is_synced_is_passed_over(
        self, make_store: MakePublishingStore
    ) -> None:
        """The publisher's own look at it decides what that means."""
        bench = make_store()
        bench.write(b"e/file", b"")
        list(bench.open().sync_save(b"e/step-1"))
        list(bench.open().sync_save(b"e/file"))
