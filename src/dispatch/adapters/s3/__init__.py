"""Checkpoint roots on S3."""

from __future__ import annotations

from dispatch.adapters.s3.connection import Connection as Connection
from dispatch.adapters.s3.requests import Surroundings as Surroundings
from dispatch.adapters.s3.store import S3Store as S3Store
from dispatch.adapters.s3.store import open_bucket as open_bucket
