"""``python -m dispatch.cli.publish``."""

from __future__ import annotations

from dispatch.cli.publish.start import main

main()
