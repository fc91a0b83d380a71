"""`file:PATH`: one file, or a mounted secret; read again when it changes."""

import json
import os
from pathlib import Path

import pytest

from dispatch.adapters.credentials.file import FileSource
from dispatch.adapters.credentials.reading import read_text
from dispatch.errors import CredentialsError
from dispatch.ports.credentials import Absent, Credentials

KEYS = {"access_key_id": "AKIA", "secret_access_key": "marked-secret"}
OLD, NEW = Credentials("AKIA", "marked-secret"), Credentials("AKIB", "new-secret", "t")


class Mounted:
    """A secret as the kubelet mounts it: names are links through `..data`, turned in one step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir()
        self._version = 0

    def update(self, **values: str) -> None:
        self._version += 1
        payload = self.folder / f"..2026_11_{self._version}"
        payload.mkdir()
        for name, value in values.items():
            (payload / name).write_text(value, encoding="utf-8")
        old = self.folder / "..data"
        before = old.resolve() if old.exists() else None
        (self.folder / "..data_tmp").symlink_to(payload.name)
        (self.folder / "..data_tmp").replace(old)
        for name in values:
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        if before is not None:
            for path in before.iterdir():
                path.unlink()
            before.rmdir()


def problem(source: FileSource) -> str:
    with pytest.raises(CredentialsError) as caught:
        source.load()
    assert caught.value.kind == "credentials-malformed"
    assert "marked" not in f"{caught.value} {caught.value.hint}"
    return str(caught.value).removeprefix(f"{source.name}: ")


def test_a_json_object(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    values = {**KEYS, "session_token": "t", "expires_at": "2027-01-15T08:00:00Z", "note": 5}
    path.write_text(json.dumps(values), encoding="utf-8")
    source = FileSource(str(path))
    assert source.load() == Credentials("AKIA", "marked-secret", "t", 1.8e9)
    assert source.name == f"file:{path}"


def test_a_directory_of_files_with_line_breaks_at_their_ends(tmp_path: Path) -> None:
    for name, value in {**KEYS, "expires_at": "1800000000"}.items():
        (tmp_path / name).write_text(value + "\n", encoding="utf-8")
    (tmp_path / "session_token").write_text("t\r\n", encoding="utf-8", newline="")
    (tmp_path / "README").write_text("not looked at", encoding="utf-8")
    source = FileSource(str(tmp_path))
    assert source.load() == Credentials("AKIA", "marked-secret", "t", 1.8e9)


def test_what_is_not_there_is_absent(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "mounted" / "..2026").mkdir(parents=True)
    (tmp_path / "mounted" / "..data").symlink_to("..2026")
    (tmp_path / "broken").symlink_to("nowhere")
    for name in ("gone", "file/below", "broken"):
        assert FileSource(str(tmp_path / name)).load() == Absent("it does not exist")
    for name in ("folder", "mounted"):  # an optional secret that isn't there
        assert FileSource(str(tmp_path / name)).load() == Absent("it is empty")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is not JSON"),
        (b'{"access_key_id": "marked', "is not JSON"),
        (b"[" * 60_000, "is not JSON"),
        (b'["marked"]', "is JSON, but not an object"),
        (b'"marked"', "is JSON, but not an object"),
        (b'{"AccessKeyId": "marked"}', "access_key_id is missing"),
        (b'{"access_key_id": "marked"}', "secret_access_key is missing"),
        (b"\xff\xfemarked", "is not UTF-8 text"),
        (b"x" * 65_537, "is longer than 65536 bytes"),
    ],
)
def test_a_malformed_file_is_an_error(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(content)
    assert problem(FileSource(str(path))) == why


def test_half_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "access_key_id").write_text("AKIA", encoding="utf-8")
    source = FileSource(str(tmp_path))
    assert problem(source) == "secret_access_key is missing"
    (tmp_path / "secret_access_key").mkdir()
    assert problem(source) == "secret_access_key is not a regular file"
    (tmp_path / "secret_access_key").rmdir()
    (tmp_path / "secret_access_key").write_text("two\nlines", encoding="utf-8")
    assert "line break" in problem(source)


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert problem(FileSource(str(tmp_path / "pipe"))) == "is not a regular file"


def test_a_name_that_no_file_has(tmp_path: Path) -> None:
    assert problem(FileSource("a\0b")) == "can't be read (its name has a NUL)"
    assert "File name too long" in problem(FileSource(str(tmp_path / ("x" * 300))))


@pytest.mark.parametrize("replace", [True, False], ids=["replaced", "rewritten"])
def test_a_file_that_changes_is_noticed(tmp_path: Path, replace: bool) -> None:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(KEYS), encoding="utf-8")
    source = FileSource(str(path))
    assert source.has_changed()
    assert source.load() == OLD
    assert not source.has_changed()
    new = {"access_key_id": "AKIB", "secret_access_key": "new-secret", "session_token": "t"}
    if replace:
        (tmp_path / "new").write_text(json.dumps(new), encoding="utf-8")
        (tmp_path / "new").replace(path)
    else:
        path.write_text(json.dumps(new), encoding="utf-8")
    assert source.has_changed()
    assert source.load() == NEW
    assert not source.has_changed()
    path.unlink()
    assert source.has_changed()
    assert source.load() == Absent("it does not exist")


def test_a_mounted_secret_is_turned_in_one_step(tmp_path: Path) -> None:
    mounted = Mounted(tmp_path / "secret")
    mounted.update(**KEYS)
    source = FileSource(str(mounted.folder))
    assert source.load() == OLD
    mounted.update(access_key_id="AKIB", secret_access_key="new-secret", session_token="t")
    assert source.has_changed()
    assert source.load() == NEW


def test_a_secret_that_turns_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second file is gone when it is its turn: never one version's id with the other's key."""
    mounted = Mounted(tmp_path / "secret")
    mounted.update(**KEYS)
    names = list[str]()

    def reading(name: str, folder: int | None = None) -> object:
        names.append(name)
        if names == ["access_key_id", "secret_access_key"]:
            mounted.update(access_key_id="AKIB", secret_access_key="new-secret", session_token="t")
        return read_text(name, folder)

    monkeypatch.setattr("dispatch.adapters.credentials.file.read_text", reading)
    source = FileSource(str(mounted.folder))
    assert source.load() == NEW
    assert len(names) == 8
    assert not source.has_changed()


def test_a_file_that_changes_all_the_time_ends_the_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(KEYS), encoding="utf-8")
    times = list[int]()

    def reading(name: str, folder: int | None = None) -> object:
        times.append(1)
        path.write_text(json.dumps(KEYS) + " " * len(times), encoding="utf-8")
        return read_text(name, folder)

    monkeypatch.setattr("dispatch.adapters.credentials.file.read_text", reading)
    source = FileSource(str(path))
    assert source.load() == OLD
    assert len(times) == 5
    assert source.has_changed()


def test_links_that_lead_nowhere_else_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "mounted").mkdir()
    (tmp_path / "mounted" / "..data").symlink_to("..data")
    for name in ("loop", "mounted"):
        why = problem(FileSource(str(tmp_path / name)))
        assert why == "can't be read (Too many levels of symbolic links)"
