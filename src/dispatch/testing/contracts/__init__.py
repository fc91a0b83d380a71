"""What every store and every file system must do, as tests for pytest.

To run the contract of a store on one of your own, say in a test file how a fresh root is made,
and let a class inherit the tests::

    import pytest
    from dispatch.testing.contracts.bench import MakeStore
    from dispatch.testing.contracts.store import StoreContract

    class TestMyStore(StoreContract):
        @pytest.fixture
        def make_store(self) -> MakeStore:
            return MyBench

``MyBench`` is a `dispatch.testing.contracts.bench.StoreBench`: a root of its own, and the hands
of the programs that write there without the store. A test that needs what the bench can't make
(a link, a mount) is skipped, with that reason.
"""

from __future__ import annotations

import pytest

# Before any of them is imported: their assertions shall say what was compared.
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{part}"
        for part in ("claims", "filesystem", "names", "removal", "root", "saves")
    )
)
