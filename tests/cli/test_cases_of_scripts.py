"""Public bug reports about use in job scripts, each as a test; its docstring names them."""

from pathlib import Path

from tests.cli.program import Program
from tests.cli.roots import Root

TRAINING = """\
#!/bin/bash
# OUT STEP STATUS: wait until the save before is published, save at STEP, stop at once
until compgen -G "$CKPT/pub/*-$(printf %020d $(($2 - 1)))-*" >/dev/null; do sleep 0.01; done
mkdir -p "$1/checkpoint-$2"
echo weights >"$1/checkpoint-$2/model.safetensors"
printf '{"global_step": %s}' "$2" >"$1/checkpoint-$2/trainer_state.json"
exit "$3"
"""

JOB = """\
set -euo pipefail
RESUME=$(publish resolve -checkpoint "$CKPT") || exit 91
OUT=$CKPT/exec/$DISPATCH_ATTEMPT
publish watch -checkpoint "$CKPT" -framework hf -interval 1h &
WATCH=$!
STATUS=0
"$TRAIN" "$OUT" "$STEP" "$WANT" ${RESUME:+--resume_from_checkpoint "$RESUME"} || STATUS=$?
kill -TERM "$WATCH"; wait "$WATCH"
publish prune -checkpoint "$CKPT" -keep 2
echo "resumed from: ${RESUME:-nothing}"
exit "$STATUS"
"""


def test_the_job_script_works_under_set_e(root: Root, publish: Program, tmp_path: Path) -> None:
    """chroma2#57, cylc-flow#2043, openshift/release#2680, autosubmit#2806."""
    training = tmp_path / "train"
    training.write_text(TRAINING)
    training.chmod(0o755)
    resumed_from = "nothing"
    for number, status in enumerate((0, 3, 0, 143), start=1):
        attempt, step = f"{number}.77.0", number * 10
        root.hf(step - 1, attempt=attempt)  # finished before the watch starts
        variables = {
            "CKPT": str(root),
            "TRAIN": str(training),
            "STEP": str(step),
            "WANT": str(status),
            "DISPATCH_ATTEMPT": attempt,
            "DISPATCH_EPOCH": str(number * 1_000_000),
        }
        ended = publish.in_bash(JOB, variables)
        ended.ended_with(status).answers(f"resumed from: {resumed_from}\n")
        last = root.own(attempt) / f"checkpoint-{step}"
        root.assert_resolves_to(last)
        resumed_from = str(last)
    assert len(root.names()) == 2


def test_a_missing_root_is_never_an_empty_one(publish: Program, tmp_path: Path) -> None:
    """metaseq#602, huggingface/transformers#10777, torchtitan#3732."""
    missing = tmp_path / "not-mounted/team/run"
    for arguments in (
        ("resolve",),
        ("log",),
        ("prune", "-keep", "1"),
        ("watch", "-framework", "hf"),
        ("publish", missing / "exec/a/checkpoint-1", "1"),
    ):
        ended = publish.run(arguments[0], "-checkpoint", missing, *arguments[1:])
        ended.ended_with(1).answers("").says(missing, "does not exist")
    assert not (tmp_path / "not-mounted").exists()


def test_a_root_that_is_a_file_is_an_error(publish: Program, tmp_path: Path) -> None:
    """metaseq#602, huggingface/transformers#10777, torchtitan#3732."""
    file = tmp_path / "file"
    file.touch()
    ended = publish.run("resolve", "-checkpoint", file)
    ended.ended_with(1).answers("").says(file, "not a directory")


def test_resolve_answers_a_line_or_nothing(root: Root, publish: Program) -> None:
    """snakemake-tutorial#1, ood_core#220."""
    publish.run("resolve", "-checkpoint", root.path).well().answers("")
    root.pub.mkdir()
    publish.run("resolve", "-checkpoint", root.path).well().answers("")
    save = root.hf(7)
    root.publish(save, 7)
    for spelling in (f"{root}", f"{root}/", f"{root}/.", f"{root}//", f"/{root}/./"):
        for flag in (["-checkpoint", spelling], [f"--checkpoint={spelling}"]):
            publish.run("resolve", *flag).well().answers(f"{save}\n")
    publish.run("resolve").ended_with(2).answers("").says("-checkpoint")
    publish.run("resolve", "-chekpoint", root.path).ended_with(2).answers("").says("-checkpoint")


def test_a_script_stops_when_resolve_fails(root: Root, publish: Program) -> None:
    """metaseq#602, snakemake-tutorial#1."""
    root.write_entry("exec/a/checkpoint-1", 1)
    (root.pub / "junk").touch()
    script = (
        'RESUME=$(publish resolve -checkpoint "$CKPT") || exit 91; echo "from ${RESUME:-scratch}"'
    )
    publish.in_bash(script, {"CKPT": str(root)}).ended_with(91).answers("")


def test_a_watch_that_ended_early_is_seen_by_wait(root: Root, publish: Program) -> None:
    """cylc-flow#2043, autosubmit#2806."""
    script = 'publish watch -checkpoint "$CKPT" -framework hf -interval 1h & wait "$!" || exit 9'
    root.path.rmdir()
    publish.in_bash(script, {"CKPT": str(root)}).ended_with(9).says("does not exist")
