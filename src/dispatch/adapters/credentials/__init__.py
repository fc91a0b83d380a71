"""Where keys for a store come from: six sources, one order, renewal for weeks."""

from __future__ import annotations

from dispatch.adapters.credentials.opening import open_keys as open_keys
from dispatch.adapters.credentials.parsing import parse_places as parse_places
from dispatch.adapters.credentials.surroundings import Surroundings as Surroundings
