"""What a job's environment may hold: settings of Python, proxies, odd limits."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.program import TIME_LIMIT_S, Program
from tests.cli.roots import Root

SETTINGS = [
    "PYTHONASYNCIODEBUG=1",
    "PYTHONBREAKPOINT=nothing.there",
    "PYTHONCASEOK=1",
    "PYTHONDEVMODE=1",
    "PYTHONDONTWRITEBYTECODE=1",
    "PYTHONFAULTHANDLER=1",
    "PYTHONHASHSEED=0",
    "PYTHONINSPECT=1",
    "PYTHONINTMAXSTRDIGITS=0",
    "PYTHONINTMAXSTRDIGITS=640",
    "PYTHONIOENCODING=utf-16",
    "PYTHONMALLOC=debug",
    "PYTHONNODEBUGRANGES=1",
    "PYTHONNOUSERSITE=1",
    "PYTHONOPTIMIZE=2",
    "PYTHONPATH=:/nowhere::relative",
    "PYTHONPYCACHEPREFIX=/dev/null/nowhere",
    "PYTHONSAFEPATH=1",
    "PYTHONSTARTUP=/nowhere/startup.py",
    "PYTHONTRACEMALLOC=1",
    "PYTHONUNBUFFERED=1",
    "PYTHONUSERBASE=/nowhere",
    "PYTHONWARNDEFAULTENCODING=1",
    "PYTHONWARNINGS=error",
    "TZ=Nowhere/Never",
    "HOME=/nowhere",
    "TMPDIR=/nowhere",
    "TERM=nonsense",
    "NO_COLOR=1",
    "COLUMNS=1",
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_of_python_changes_nothing(root: Root, publish: Program, setting: str) -> None:
    """Neither an answer nor a message."""
    name, _, value = setting.partition("=")
    save = root.hf(500, '{"global_step": 500, "loss": NaN}')
    at_root = ("-checkpoint", root.path)
    environment = {name: value}
    watched = publish.run("watch", *at_root, "-framework=hf", "-once", environment=environment)
    assert watched.well().err == b"publish: published step 500: %s\n" % os.fsencode(save)
    resolved = publish.run("resolve", *at_root, environment=environment).well()
    assert (resolved.out, resolved.err) == (os.fsencode(save) + b"\n", b"")
    pruned = publish.run("prune", *at_root, "-keep=1", "-v", environment=environment).well()
    assert (pruned.out, pruned.err) == (b"", b"")
    listed = publish.run("log", *at_root, environment=environment).well()
    assert (listed.out.count(b"\n"), listed.err) == (1, b"")


def test_an_empty_environment_will_do(root: Root, publish: Program) -> None:
    """Some schedulers give none."""
    save = root.hf(1)
    prefix = ["env", "-i"]
    flags = ("-framework=hf", "-once", "-attempt=1.4101.0", "-epoch=1000000")
    publish.run("watch", "-checkpoint", root.path, *flags, prefix=prefix).well()
    publish.run("resolve", "-checkpoint", root.path, prefix=prefix).well().answers(f"{save}\n")


SHADOWED = [
    "argparse", "base64", "collections", "dataclasses", "difflib", "enum", "errno", "functools",
    "json", "queue", "random", "re", "select", "shutil", "signal", "stat", "string", "threading",
    "time", "traceback", "types", "typing", "warnings", "weakref",
]  # fmt: skip


def test_a_training_projects_modules_do_not_shadow_the_standard_ones(
    root: Root, publish: Program, tmp_path: Path
) -> None:
    """PYTHONPATH often holds a project with a queue.py or a types.py of its own."""
    if len(publish.command) > 1:
        pytest.skip("`python -m` itself loads some of them before our first line")
    project = tmp_path / "project"
    project.mkdir()
    for name in SHADOWED:
        (project / f"{name}.py").write_text("raise SystemExit('a module of the training project')")
    save = root.hf(1)
    at_root = ("-checkpoint", root.path)
    environment = {"PYTHONPATH": str(project)}
    for arguments in (
        ("watch", "-framework", "hf", "-once", "-sync"),
        ("publish", save, "2"),
        ("log",),
        ("log", "-json"),
        ("prune", "-keep", "1"),
    ):
        publish.run(*arguments, *at_root, environment=environment).well()
    publish.run("reslove", environment=environment).ended_with(2).says("Did you mean resolve?")
    publish.run("resolve", *at_root, environment=environment).well().answers(f"{save}\n")


@pytest.mark.parametrize("name", ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"])
def test_proxies_of_the_environment_are_never_used(root: Root, publish: Program, name: str) -> None:
    """Nor looked at: a value that is no URL does no harm."""
    save = root.hf(1)
    root.publish(save, 1)
    for variable in (name, name.lower()):
        environment = {variable: "not a url"}
        ended = publish.run("resolve", "-checkpoint", root.path, environment=environment)
        ended.well().answers(f"{save}\n")


@pytest.mark.parametrize("limit", range(3, 13))
def test_with_few_descriptors_it_works_or_fails_cleanly(
    root: Root, publish: Program, limit: int
) -> None:
    """Never half: an answer that is wrong, or a step that is not undone or finished."""
    save = root.hf(1)
    root.publish(root.hf(0), 0)
    script = f'ulimit -n {limit}; exec "$@"'

    def run(*arguments: str | Path) -> "subprocess.CompletedProcess[bytes]":
        line = publish.line(*arguments, "-checkpoint", root.path)
        return publish.run_anyhow(b"bash", b"-c", script.encode(), b"bash", *line)

    published = run("publish", save, "1")
    assert (root.published_steps() == [0, 1]) or published.returncode != 0
    newest = root.published_steps()[-1]
    answer = b"%s/checkpoint-%d\n" % (os.fsencode(root.own()), newest)
    resolved = run("resolve")
    assert (resolved.returncode, resolved.stdout) == (0, answer) or (
        resolved.returncode and not resolved.stdout
    )
    watched = run("watch", "-framework", "hf", "-once")
    assert watched.returncode or root.published_steps() == [0, 1]
    pruned = run("prune", "-keep", "1")
    assert pruned.returncode or len(root.names()) == 1
    for ended in (published, resolved, watched, pruned):
        # Python itself may be unable to start, and shows where.
        assert b"Traceback" not in ended.stderr or b"Fatal Python error" in ended.stderr
    root.prune(1).well()
    root.publish(save, 1)
    root.assert_resolves_to(save)


def test_a_watch_keeps_no_descriptor_and_no_thread_per_scan_or_save(root: Root) -> None:
    """It runs for weeks."""
    watch = root.watch()
    root.let_a_scan_pass(watch, 1)
    proc = Path(f"/proc/{watch.pid}")

    def held() -> tuple[int, int]:
        return len(list((proc / "task").iterdir())), len(list((proc / "fd").iterdir()))

    before = held()
    for step in range(2, 30):
        root.let_a_scan_pass(watch, step)
    # The last look may catch it in the middle of a scan, with two or three folders open.
    tasks, descriptors = held()
    assert tasks == before[0]
    assert descriptors <= before[1] + 5
    watch.end().well()


@pytest.mark.parametrize("umask", ["0000", "0022", "0077", "0777"])
def test_the_umask_is_the_jobs_own(root: Root, publish: Program, umask: str) -> None:
    """Entries and pub/ are made as the shell would; nobody needs to read an entry's content."""
    save = root.hf(1)
    script = f'umask {umask}; exec "$@"'
    prefix = ["bash", "-c", script, "bash"]
    ended = publish.run("publish", "-checkpoint", root.path, save, "1", prefix=prefix)
    if umask == "0777" and os.geteuid() != 0:
        ended.ended_with(1)  # it may not even look into the pub/ that it made
        return
    ended.well()
    assert root.pub.stat().st_mode & 0o777 == 0o777 & ~int(umask, 8)
    assert root.entry(save, 1).stat().st_mode & 0o777 == 0o666 & ~int(umask, 8)


def test_priorities_and_limits_of_a_batch_job_do_no_harm(root: Root, publish: Program) -> None:
    """No core, little memory, idle priority."""
    save = root.hf(1)
    script = 'ulimit -c 0 -v 400000 -s 512; exec nice -n 19 "$@"'
    prefix = ["bash", "-c", script, "bash"]
    flags = ("-framework", "hf", "-once")
    publish.run("watch", "-checkpoint", root.path, *flags, prefix=prefix).well()
    publish.run("resolve", "-checkpoint", root.path, prefix=prefix).well().answers(f"{save}\n")


def test_without_room_for_a_file_it_still_publishes(root: Root, publish: Program) -> None:
    """A limit on the size of files stops nothing: entries are empty."""
    save = root.hf(1)
    prefix = ["bash", "-c", 'ulimit -f 0; exec "$@"', "bash"]
    publish.run("publish", "-checkpoint", root.path, save, "1", prefix=prefix).well()
    publish.run("resolve", "-checkpoint", root.path, prefix=prefix).well()


def test_a_program_started_by_a_link_or_from_path_is_the_same(
    root: Root, publish: Program, tmp_path: Path
) -> None:
    """As modules and containers arrange it."""
    save = root.hf(1)
    root.publish(save, 1)
    if len(publish.command) > 1:
        pytest.skip("there is no program file to link to")
    link = tmp_path / "bin/publish"
    link.parent.mkdir()
    link.symlink_to(os.fsdecode(os.fsencode(publish.command[0])))
    environment = publish.environment({"PATH": f"{link.parent}:/usr/bin:/bin"})
    ended = subprocess.run(
        ["sh", "-c", f"publish resolve -checkpoint {root}"],
        env=environment, capture_output=True, timeout=TIME_LIMIT_S, check=True,
    )  # fmt: skip
    assert ended.stdout == os.fsencode(save) + b"\n"
