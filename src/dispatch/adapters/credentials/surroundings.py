"""What sources are given of the world around them; they look at nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The process's environment and clocks, and how the store is reached.

    Attributes:
        variables: The environment; never shown, since it holds secrets.
        now_ns: The wall clock, in nanoseconds since 1970.
        monotonic: Seconds from some fixed moment.
        region: The store's region, as the user gave it; None for none.
        proxy: The store's proxy, which token services are reached through, too.
        ca_file: PEM certificates to trust instead of the usual ones; for token services, too.
        allow_http: Whether a token service may be asked by plain http on another machine.
    """

    variables: Mapping[str, str] = field(repr=False)
    now_ns: Callable[[], int]
    monotonic: Callable[[], float]
    region: str | None = None
    proxy: str | None = None
    ca_file: str | None = None
    allow_http: bool = False
