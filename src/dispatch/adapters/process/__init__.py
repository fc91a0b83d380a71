"""One child process as a good init has it: its group, the terminal, its signals, its orphans."""

from __future__ import annotations

from dispatch.adapters.process.child import Child
from dispatch.adapters.process.executing import ExecuteError, require
from dispatch.adapters.process.processes import Process
from dispatch.adapters.process.signals import Signals

__all__ = ["Child", "ExecuteError", "Process", "Signals", "require"]
