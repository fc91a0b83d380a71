"""What the numbers depend on, without a host's name or a path."""

import os
import platform
from pathlib import Path


def describe() -> list[str]:
    """Return the kernel, the number of CPUs and the Python."""
    return [
        f"{platform.system()} {platform.release()} {platform.machine()}",
        f"{len(os.sched_getaffinity(0))} CPUs",
        f"{platform.python_implementation()} {platform.python_version()}",
    ]


def file_system(folder: Path) -> str:
    """Return the type of the file system that ``folder`` is on: ext4, tmpfs, ..."""
    folder = folder.resolve()
    found, length = "unknown", 0
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        mount, _, kind = line.partition(" - ")
        point = Path(mount.split()[4])
        # A later mount covers an earlier one on the same folder.
        if folder.is_relative_to(point) and len(point.parts) >= length:
            found, length = kind.split()[0], len(point.parts)
    return found


def processor_seconds() -> float:
    """Return for how long all processors together were busy since the start, whoever used them."""
    with Path("/proc/stat").open(encoding="utf-8") as stat:
        user, nice, system, _idle, _waiting, *rest = map(int, stat.readline().split()[1:])
    interrupts = sum(rest[:3])  # and what a hypervisor took; guests are in the user's time
    return (user + nice + system + interrupts) / os.sysconf("SC_CLK_TCK")


def own_processor_seconds() -> float:
    """Return for how long this process and its children that have ended used processors."""
    return sum(os.times()[:4])
