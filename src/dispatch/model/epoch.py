"""Where one execution stands among all executions of a job, as one integer that only rises."""

from __future__ import annotations

from dataclasses import dataclass

from dispatch.errors import InvalidInputError

GENERATION_MAX = 18_446_743  # the largest for which every epoch fits in 64 bits
SUBMISSION_MAX = 999_999  # six decimal digits of the integer
RESTART_MAX = 999_999  # six decimal digits of the integer
_SUBMISSION_UNIT = 10**6
_GENERATION_UNIT = 10**12


def _check(what: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        message = f"{what} {value} is outside {low} to {high}"
        raise InvalidInputError(message)


@dataclass(frozen=True, slots=True, order=True)
class Epoch:
    """One execution's place: G·10^12 + N·10^6 + R.

    Epochs compare by generation, then submission, then restart, so a later execution of a job
    always compares greater than an earlier one, whatever step either has reached.

    Attributes:
        generation: G, jobs superseded before this one: 0 to 18,446,743.
        submission: N, the job's submission, counted from 1: 1 to 999,999.
        restart: R, the scheduler's own restart count of it: 0 to 999,999.

    Raises:
        InvalidInputError: A part is outside its bounds, which the message names.
    """

    generation: int
    submission: int
    restart: int

    def __post_init__(self) -> None:
        _check("generation", self.generation, 0, GENERATION_MAX)
        _check("submission", self.submission, 1, SUBMISSION_MAX)
        _check("restart", self.restart, 0, RESTART_MAX)

    def __int__(self) -> int:
        """The integer that ``DISPATCH_EPOCH`` and entry names carry."""
        return (
            self.generation * _GENERATION_UNIT + self.submission * _SUBMISSION_UNIT + self.restart
        )

    def __str__(self) -> str:
        """For people: ``g0 n1 r0``."""
        return f"g{self.generation} n{self.submission} r{self.restart}"

    @classmethod
    def parse(cls, value: int) -> Epoch:
        """The epoch whose integer is ``value``.

        Raises:
            InvalidInputError: No epoch has it (submission 0, or outside 64 bits).
        """
        generation, rest = divmod(value, _GENERATION_UNIT)
        submission, restart = divmod(rest, _SUBMISSION_UNIT)
        return cls(generation, submission, restart)
