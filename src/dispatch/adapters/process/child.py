"""One command in a process group of its own."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from dispatch.adapters.process import executing
from dispatch.adapters.process.processes import Process, adopt_orphans, processes
from dispatch.adapters.process.terminal import (
    Terminal,
    is_read_and_written,
    is_under_job_control,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import NoReturn

    from dispatch.adapters.process.signals import Signals

# Of the children of this thread alone (linux/wait.h): other threads may have their own. Orphans
# go to the main thread.
_WNOTHREAD = 0x20000000 if sys.platform == "linux" else 0
_JOB_CONTROL = frozenset({signal.SIGTSTP, signal.SIGTTIN})
_ASKED = frozenset({signal.SIGTTIN, signal.SIGTTOU})  # the terminal, from the background
_KILLED = 128  # added to the signal, as shells do
_ERROR_BYTES_MAX = 32


class Child:
    """A command, its process group, and what becomes of both.

    Only the main thread may use it. Until `release` its first process is not reaped, so its id
    stays the group's, and no signal can ever meet another group.

    Args:
        command: Its words; the first is looked for along the PATH of ``environment``.
        environment: All of its variables.
        signals: Ours, which `start` takes.
        withheld: Which of them are not handed on to the group.

    Attributes:
        received: Which have come since `start`, in that order.
        status: Its exit status once it has ended: its own, or 128 and the signal that killed it.
    """

    __slots__ = (
        "_adopts",
        "_command",
        "_early",
        "_environment",
        "_group",
        "_has_terminal",
        "_signals",
        "_terminal",
        "_wants_terminal",
        "_withheld",
        "received",
        "status",
    )

    def __init__(
        self,
        command: list[bytes],
        environment: Mapping[bytes, bytes],
        *,
        signals: Signals,
        withheld: Collection[int] = (),
    ) -> None:
        self._command = command
        self._environment = environment
        self._signals = signals
        self._withheld = frozenset(withheld) - _JOB_CONTROL
        self._group: int | None = None
        self._early: list[int] = []
        self._terminal: Terminal | None = None
        self._wants_terminal = self._has_terminal = self._adopts = False
        self.received: list[int] = []
        self.status: int | None = None

    def start(self) -> None:
        """Run the command, in the foreground where we are. Signals that come meanwhile reach it.

        Raises:
            ExecuteError: It is not there or can't be executed; nothing ran.
            OSError: There can't be another process.
        """
        self._adopts = adopt_orphans()
        self._terminal = Terminal.open()
        self._wants_terminal = is_read_and_written()
        self._has_terminal = (
            self._terminal is not None and self._wants_terminal and self._terminal.is_ours()
        )
        paths = executing.candidates(self._command[0], self._environment)
        reader, writer = os.pipe()
        self._signals.take(self._receive)
        # A signal in the new process before it has put them back would be lost.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            pid = os.fork()
            if not pid:
                self._become(paths, writer)
            self._lead(pid)
            self._group = pid
        finally:
            os.close(writer)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        while self._early:
            self.send(self._early.pop(0))
        with os.fdopen(reader, "rb") as file:
            code = file.read(_ERROR_BYTES_MAX)  # until it has become the command, or not
        if code:
            self._take_terminal_back()
            self.release()
            executing.refuse(int(code), paths, self._command[0])

    def poll(self) -> int | None:
        """See to what has happened: a stop, an orphan's end, the end. Its status if it has ended.

        To be called after each wait for a signal.
        """
        if self.status is None and self._group is not None:
            self._note_stops(self._group)
            self._note_ends(self._group)
        return self.status

    def send(self, number: int) -> None:
        """Send a signal to the group, unless that is over, or another user's by now (sudo)."""
        if self._group is not None:
            try:
                os.killpg(self._group, number)
            except (PermissionError, ProcessLookupError):
                pass

    def left_behind(self) -> list[Process]:
        """What still runs in the group though the command has ended. None where /proc is not."""
        others = [process for process in processes() if process.pid != self._group]
        for process in others:
            if process.has_ended and process.parent == os.getpid():
                self._reap(process.pid)
        return [p for p in others if p.group == self._group and not p.has_ended]

    def release(self) -> None:
        """Let the group go: its id may be another's from now on, and no signal is sent to it."""
        group, self._group = self._group, None
        if group is not None:
            self._reap(group)

    def _become(self, paths: Sequence[bytes], writer: int) -> NoReturn:
        """In the new process: become the command, or tell why not."""
        code = 0
        try:
            self._lead(0)
            if self._terminal is not None and self._has_terminal:
                self._terminal.give(os.getpid())
            self._signals.put_back()
            executing.execute(paths, self._command, self._environment)
        except OSError as error:
            code = error.errno or 0
        finally:
            os.write(writer, str(code).encode())
            os._exit(1)

    def _lead(self, pid: int) -> None:
        """Make a process the leader of a group. Both sides do: whoever is first, it is done."""
        try:
            os.setpgid(pid, pid)
        except OSError:
            pass  # it has become the command already, and has done so itself

    def _receive(self, number: int) -> None:
        """What each of our signals does, whatever the main thread is doing."""
        if number == signal.SIGCHLD:
            return  # it has ended the wait
        if number == signal.SIGCONT:
            self._resume()
            return
        self.received.append(number)
        if self._group is None and self.status is None:
            self._early.append(number)
        elif number not in self._withheld:
            self.send(number)

    def _note_stops(self, group: int) -> None:
        kinds = os.WSTOPPED | os.WNOHANG
        try:
            while (event := os.waitid(os.P_PID, group, kinds)) is not None:
                self._stop_too(event.si_status)
        except ChildProcessError:
            pass  # it has ended

    def _note_ends(self, group: int) -> None:
        whose = (os.P_ALL, 0) if self._adopts else (os.P_PID, group)
        kinds = os.WEXITED | os.WNOHANG | os.WNOWAIT | _WNOTHREAD
        while (event := os.waitid(*whose, kinds)) is not None:
            if event.si_pid == group:
                has_exited = event.si_code == os.CLD_EXITED
                self.status = event.si_status if has_exited else _KILLED + event.si_status
                self._take_terminal_back()
                return
            self._reap(event.si_pid)

    def _reap(self, pid: int) -> None:
        try:
            os.waitpid(pid, _WNOTHREAD)
        except ChildProcessError:
            pass  # it is another thread's

    def _stop_too(self, number: int) -> None:
        """Stop as the command has, so that a shell sees its job stopped."""
        if self._terminal is None:
            return
        if number in _ASKED and self._terminal.is_ours():
            self._wants_terminal = True
            self._resume()
        elif is_under_job_control():
            # All of a pipeline or a script, what is in our group too: as the key does that the
            # command had in our place, and the kernel to those who ask a terminal they don't have.
            everyone = number in _ASKED or (number == signal.SIGTSTP and self._has_terminal)
            self._take_terminal_back()
            self._signals.stop(number, everyone=everyone)
        elif number == signal.SIGTSTP:
            self._resume()  # nobody else would: without us the kernel had ignored that key

    def _resume(self) -> None:
        """Let the command go on, in the foreground when a shell has put us there."""
        if self._group is not None:
            self._give_terminal(self._group)
            self.send(signal.SIGCONT)

    def _give_terminal(self, group: int) -> None:
        if self._terminal is not None and self._wants_terminal and self._terminal.is_ours():
            self._terminal.give(group)
        self._has_terminal = self._terminal is not None and self._terminal.foreground() == group

    def _take_terminal_back(self) -> None:
        if self._terminal is not None and self._has_terminal:
            self._terminal.give(os.getpgrp())
            self._has_terminal = False
