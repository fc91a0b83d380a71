"""The contract of a store: `StoreContract` for the whole port, its parts for a part of it.

How to run it: see `dispatch.testing.contracts`.
"""

from __future__ import annotations

from dispatch.testing.contracts.claims import ClaimRacesContract, ClaimsContract
from dispatch.testing.contracts.names import NamesContract
from dispatch.testing.contracts.removal import RemovalContract
from dispatch.testing.contracts.root import RootContract
from dispatch.testing.contracts.saves import SavesContract


class PublishingStoreContract(NamesContract, ClaimsContract, SavesContract, RootContract):
    """What `dispatch.ports.store.PublishingStore` must do."""


class StoreContract(PublishingStoreContract, RemovalContract):
    """What `dispatch.ports.store.Store` must do."""


class SharedStoreContract(StoreContract, ClaimRacesContract):
    """What it must do where many use one root at once: anywhere but in one process's memory."""
