"""Several processes on one store, in every order of their calls with few switches.

Each process is real code as a coroutine: it stops before each call on the store, and a schedule
says who goes on. Unless the schedule says otherwise the same process goes on until it ends, and
then the first that has not. Also enumerated is that a process that is switched away from never
goes on: it died before that call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from greenlet import GreenletExit, greenlet

Process = Callable[[Callable[[], None]], object]
"""Given what to call before each call on the store, runs to its end."""


@dataclass(frozen=True)
class Switch:
    """Before call ``at`` of all calls, counted from 0, process ``to`` goes on instead.

    Attributes:
        at: Which call.
        to: The index of the process.
        kills: Whether the one that was running never goes on.
    """

    at: int
    to: int
    kills: bool


@dataclass(frozen=True)
class Ran:
    """What came of one schedule.

    Attributes:
        outcomes: What each process returned or raised; None of one that died.
        choices: For each call: who else could have gone on.
    """

    outcomes: list[object]
    choices: list[list[int]]


def run(processes: list[Process], switches: tuple[Switch, ...]) -> Ran:
    """Run the processes by one schedule."""
    back = greenlet.getcurrent()
    outcomes: list[object] = [None] * len(processes)

    def live(number: int) -> None:
        try:
            outcomes[number] = processes[number](back.switch)
        except Exception as error:  # noqa: BLE001 - it is the outcome
            outcomes[number] = error

    runners = [greenlet(live, back) for _ in processes]
    dead: set[int] = set()
    choices: list[list[int]] = []
    planned = {switch.at: switch for switch in switches}
    current = 0
    while alive := [i for i, one in enumerate(runners) if not one.dead and i not in dead]:
        if current not in alive:
            current = alive[0]
        switch = planned.get(len(choices))
        if switch is not None:
            dead |= {current} if switch.kills else set()
            current = switch.to
        choices.append([i for i in alive if i != current and i not in dead])
        # The first time it is started, and after that it goes on.
        runners[current].switch(*([] if runners[current] else [current]))
    for number in dead:
        runners[number].throw(GreenletExit)
    return Ran(outcomes, choices)


def every_schedule(
    start: Callable[[], list[Process]], switches_max: int, *, deaths: bool
) -> Iterator[tuple[tuple[Switch, ...], Ran]]:
    """Run ``start()``'s processes by each schedule with at most ``switches_max`` switches.

    Also by each in which some other process than the first begins: its first switch is at call 0.
    """
    waiting: list[tuple[Switch, ...]] = [()]
    while waiting:
        switches = waiting.pop()
        ran = run(start(), switches)
        yield switches, ran
        if len(switches) == switches_max:
            continue
        begin = switches[-1].at + 1 if switches else 0
        for at in range(begin, len(ran.choices)):
            for other in ran.choices[at]:
                waiting.append((*switches, Switch(at, other, kills=False)))
                if deaths and at:
                    waiting.append((*switches, Switch(at, other, kills=True)))
