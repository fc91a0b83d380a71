"""The ports say what their adapters take: the same methods, and the same names of parameters.

mypy checks the types; a parameter's name it lets differ, and callers may give it.
"""

import inspect
from collections.abc import Callable, Iterator
from threading import Event

import pytest

from dispatch.adapters.posix import PosixStore
from dispatch.adapters.posix.filesystem import OsFilesystem
from dispatch.adapters.system.patience import ThreadPatience
from dispatch.checkpoint.patient import PatientStore
from dispatch.ports import filesystem, store, waiting

PAIRS: list[tuple[type, type]] = [
    (store.Store, PosixStore),
    (store.PublishingStore, PatientStore),
    (filesystem.Filesystem, OsFilesystem),
    (waiting.Patience, ThreadPatience),
    (waiting.Stop, Event),
]


def methods(protocol: type) -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield each method of a Protocol and of those that it is made of."""
    for part in protocol.__mro__:
        if part.__module__.startswith("dispatch.ports"):
            for name, method in vars(part).items():
                if inspect.isfunction(method) and not name.startswith("_"):
                    yield name, method


@pytest.mark.parametrize(("port", "adapter"), PAIRS)
def test_an_adapter_takes_what_its_port_says(port: type, adapter: type) -> None:
    """By position and by name."""
    wanted = {name: list(inspect.signature(method).parameters) for name, method in methods(port)}
    taken = {name: list(inspect.signature(getattr(adapter, name)).parameters) for name in wanted}
    assert wanted
    assert taken == wanted


def test_a_status_has_what_the_kernel_says() -> None:
    """`os.stat_result` is one."""
    wanted = {name for name in vars(filesystem.Status) if name.startswith("st_")}
    assert wanted == {"st_mode", "st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns"}
