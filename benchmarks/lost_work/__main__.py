"""``python -m benchmarks.lost_work``: make the preemptions, and write the page."""

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Lock
from time import perf_counter

from benchmarks.__main__ import temporary_root
from benchmarks.lost_work.job import write_programs
from benchmarks.lost_work.outcome import Outcome
from benchmarks.lost_work.preemption import Preemption
from benchmarks.lost_work.report import Conditions, page
from benchmarks.lost_work.scenario import Plan, Scale, plans
from benchmarks.machine import describe, file_system, own_processor_seconds, processor_seconds

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "reference" / "lost-work.md"
COUNT = 100
"""Preemptions for each script and moment."""

AT_A_TIME = 40
TOLD_EVERY = 20


class Progress:
    """Tells how many preemptions are done."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._begin = perf_counter()
        self._lock = Lock()

    def __call__(self, _: Future[Outcome]) -> None:
        with self._lock:
            self._done += 1
            if self._done % TOLD_EVERY == 0 or self._done == self._total:
                seconds = perf_counter() - self._begin
                print(f"{self._done} of {self._total} after {seconds:.0f} s", flush=True)


def measure(planned: list[Plan], scale: Scale, folder: Path, at_a_time: int) -> Iterator[Outcome]:
    """Make all preemptions, several at a time; the first error ends all of them."""
    programs, stop = folder / "bin", Event()
    write_programs(programs, scale)
    with ThreadPoolExecutor(at_a_time) as pool:
        futures = []
        progress = Progress(len(planned))
        for number, plan in enumerate(planned):
            preemption = Preemption(
                plan=plan,
                scale=scale,
                folder=folder / str(number),
                programs=programs,
                stop=stop,
            )
            futures.append(pool.submit(preemption.make))
            futures[-1].add_done_callback(progress)
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    yield from (future.result() for future in futures)


def parser() -> argparse.ArgumentParser:
    """Return what reads the command line."""
    scale = Scale()
    options = argparse.ArgumentParser(prog="python -m benchmarks.lost_work", description=__doc__)
    options.add_argument("--page", type=Path, default=PAGE, help="what to write")
    options.add_argument(
        "--disk", type=Path, default=Path(tempfile.gettempdir()), help="a folder on it"
    )
    options.add_argument("--count", type=int, default=COUNT, help="of each script and moment")
    options.add_argument("--at-a-time", type=int, default=AT_A_TIME, help="preemptions")
    options.add_argument("--step-seconds", type=float, default=scale.step_seconds)
    options.add_argument("--save-steps", type=int, default=scale.save_steps)
    options.add_argument(
        "--last-save-seconds",
        type=float,
        default=scale.last_save_seconds_max,
        help="of the save on SIGTERM, at most",
    )
    options.add_argument("--kill-wait", type=float, default=scale.kill_wait_seconds)
    return options


def main(arguments: list[str] | None = None) -> int:
    """Measure what the command line says."""
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    scale = Scale(
        step_seconds=options.step_seconds,
        save_steps=options.save_steps,
        last_save_seconds_max=options.last_save_seconds,
        kill_wait_seconds=options.kill_wait,
    )
    planned = list(plans(options.count, scale))
    begin, busy, used = perf_counter(), processor_seconds(), own_processor_seconds()
    with temporary_root(options.disk) as folder:
        outcomes = list(measure(planned, scale, folder, options.at_a_time))
    seconds = perf_counter() - begin
    conditions = Conditions(
        scale=scale,
        machine=(*describe(), f"{file_system(options.disk)} on its disk"),
        date=datetime.now(tz=UTC).date(),
        at_a_time=options.at_a_time,
        used=(own_processor_seconds() - used) / seconds,
        busy=(processor_seconds() - busy) / seconds,
    )
    options.page.write_text(page(conditions, outcomes), encoding="utf-8")
    print(f"wrote {options.page.name} after {seconds:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
