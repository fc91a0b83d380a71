"""Programs that know `pub/` alone, beside claims and fates: what format 1 says, in few lines here.

The program before claims was run by hand on such a root, too: it resolves, publishes, watches and
prunes there.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.cli.program import EPOCH, Program
from tests.cli.roots import Root, entry_name
from tests.property import names as n


def latest_of(root: Root) -> bytes:
    """Resolve as a reader that knows nothing but `pub/`."""
    parsed = [n.parse(name) for name in os.listdir(root.pub)]  # noqa: PTH208 - as format §4 says
    assert None not in parsed
    _, _, path = max(parts for parts in parsed if parts is not None)
    return os.fsencode(root.path) + b"/" + path


def publish_as_before(root: Root, save: Path, step: int) -> None:
    """Publish as a publisher that reads no claim."""
    path = save.relative_to(root.path)
    root.pub.mkdir(exist_ok=True)
    os.close(os.open(root.pub / entry_name(EPOCH, step, str(path)), os.O_CREAT | os.O_EXCL))


def test_a_root_without_claims_gets_none_and_works_in_full(root: Root, publish: Program) -> None:
    """Nobody makes `runs/` who doesn't claim."""
    for step in (1, 2, 3):
        root.publish(root.hf(step), step)
    root.hf(4)
    publish.run("watch", "-checkpoint", root.path, "-framework", "hf", "-once").well()
    root.prune(2).well()
    publish.run("log", "-checkpoint", root.path).well()
    root.assert_resolves_to(root.own() / "checkpoint-4")
    assert root.published_steps() == [3, 4]
    assert sorted(path.name for path in root.path.iterdir()) == ["exec", "fates", "pub"]
    assert list((root.path / "fates").iterdir()) == []


def test_who_knows_pub_alone_reads_and_publishes_beside_claims_and_fates(
    root: Root, publish: Program
) -> None:
    """And what it publishes is found, kept and pruned like all else."""
    publish.run("claim", "-checkpoint", root.path).well()
    for step in (1, 2, 3):
        root.publish(root.hf(step), step)
    root.prune(2).well()
    spike = json.loads(publish.run("resolve", "-checkpoint", root.path, "-json").well().out)
    publish.run("retract", "-checkpoint", root.path, "-yes", spike["entry"]).well()
    assert sorted(os.listdir(root.path)) == ["exec", "fates", "pub", "runs"]  # noqa: PTH208
    assert latest_of(root) == root.resolve()
    publish_as_before(root, root.hf(7), 7)
    assert latest_of(root) == root.resolve() == os.fsencode(root.own() / "checkpoint-7")
    root.prune(1).well()
    assert root.published_steps() == [7]
    publish.run("claim", "-checkpoint", root.path).well()
