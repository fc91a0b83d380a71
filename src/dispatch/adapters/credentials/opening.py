"""From places to keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from dispatch.adapters.credentials import parsing
from dispatch.adapters.credentials.chain import Chain
from dispatch.adapters.credentials.environment import EnvironmentSource
from dispatch.adapters.credentials.file import FileSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dispatch.adapters.credentials.surroundings import Surroundings
    from dispatch.ports.credentials import CredentialSource


def open_keys(places: Sequence[parsing.Place], around: Surroundings) -> Chain:
    """The keys that the first of the places gives that isn't absent. Nothing is asked yet.

    Each source's packages are imported at its first use.
    """
    return Chain([_source(place, around) for place in places], around.now_ns)


def _source(place: parsing.Place, around: Surroundings) -> CredentialSource:
    match place:
        case parsing.Environment():
            return EnvironmentSource(around.variables)
        case parsing.File(path):
            return FileSource(path)
        case parsing.Profile(name):
            from dispatch.adapters.credentials.profile import ProfileSource

            return ProfileSource(name, around)
        case parsing.WebIdentity():
            from dispatch.adapters.credentials.web_identity import WebIdentitySource

            return WebIdentitySource(around)
        case parsing.Instance():
            from dispatch.adapters.credentials.instance import InstanceSource

            return InstanceSource(around.variables, around.monotonic)
        case parsing.Vault(address):
            from dispatch.adapters.credentials.vault import VaultSource

            return VaultSource(address, around.now_ns)
        case _:
            assert_never(place)
