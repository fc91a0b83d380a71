"""Checkpoint roots in a POSIX file system."""

from __future__ import annotations

from dispatch.adapters.posix.store import PosixStore as PosixStore
from dispatch.adapters.posix.store import open_root as open_root
