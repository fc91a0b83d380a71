"""What trainer_state.json may hold: read as Trainer itself reads it."""

import pytest

from tests.cli.roots import Root

STEP = 500
DEEP = 100_000  # levels: far more than any reader takes

COMPLETE = {
    "plain": '{"global_step": 500}',
    "spaces around it": ' \n\t{"global_step" : 500} \n',
    "NaN beside it": '{"loss": NaN, "best": Infinity, "worst": -Infinity, "global_step": 500}',
    "NaN in the history": '{"log_history": [{"loss": NaN}], "global_step": 500}',
    "given twice, the last counts": '{"global_step": 1, "global_step": 500}',
    "written as an escape": '{"global\\u005fstep": 500}',
    "a NUL as an escape": '{"note": "\\u0000", "global_step": 500}',
    "a lone surrogate as an escape": '{"note": "\\ud800", "global_step": 500}',
    "much text": '{"global_step": 500, "note": "' + "x" * 3_000_000 + '"}',
    "4,300 digits elsewhere": '{"global_step": 500, "n": ' + "9" * 4300 + "}",
    "a huge float elsewhere": '{"global_step": 500, "n": 1e999999}',
    "a few levels": '{"a": ' + "[" * 50 + "]" * 50 + ', "global_step": 500}',
}

NOT_COMPLETE: dict[str, str | bytes] = {
    "empty": "",
    "white": " \n",
    "cut short": '{"global_step": 500',
    "more behind it": '{"global_step": 500} {}',
    "no object": "500",
    "a list": '[{"global_step": 500}]',
    "null": "null",
    "NaN alone": "NaN",
    "another step": '{"global_step": 501}',
    "no step": '{"step": 500}',
    "deeper": '{"state": {"global_step": 500}}',
    "as text": '{"global_step": "500"}',
    "as a float": '{"global_step": 500.0}',
    "as an exponent": '{"global_step": 5e2}',
    "NaN": '{"global_step": NaN}',
    "Infinity": '{"global_step": Infinity}',
    "true": '{"global_step": true}',
    "a list in its place": '{"global_step": [500]}',
    "negative": '{"global_step": -500}',
    "leading zero": '{"global_step": 0500}',
    "5,000 digits": '{"global_step": ' + "5" * 5000 + "}",
    "5,000 digits elsewhere": '{"global_step": 500, "n": ' + "5" * 5000 + "}",
    "nested too deep": '{"a": ' + "[" * DEEP + "]" * DEEP + ', "global_step": 500}',
    "nested too deep, cut short": '{"a": ' + "[" * DEEP,
    "objects nested too deep": '{"a": ' * DEEP + "1" + "}" * DEEP,
    "a byte order mark": b"\xef\xbb\xbf" + b'{"global_step": 500}',
    "UTF-16": '{"global_step": 500}'.encode("utf-16"),
    "UTF-32": '{"global_step": 500}'.encode("utf-32"),
    "no UTF-8": b'{"note": "\xff", "global_step": 500}',
    "NULs": b"\0" * 4096,
    "a NUL behind it": b'{"global_step": 500}\0',
    "a raw newline in a text": '{"note": "a\nb", "global_step": 500}',
    "single quotes": "{'global_step': 500}",
    "a trailing comma": '{"global_step": 500,}',
}


@pytest.mark.parametrize("name", COMPLETE)
def test_a_state_that_trainer_could_read_is_complete(root: Root, name: str) -> None:
    """The save is published."""
    save = root.hf(STEP, COMPLETE[name])
    watch = root.watch()
    root.wait_until_published(save, STEP, watch)
    watch.end().well()


def test_a_state_that_trainer_could_not_resume_from_is_not_complete(root: Root) -> None:
    """Passed over, never an error; once it is right, the save is published."""
    saves = {}
    for place, (name, state) in enumerate(NOT_COMPLETE.items()):
        folder = root.path / "exec" / f"a{place}"
        saves[name] = root.hf(STEP, state, attempt=folder.name)
    for name, save in saves.items():
        watch = root.watch(attempt=save.parent.name)
        canary = root.hf(STEP + 1, attempt=save.parent.name)
        root.wait_until_published(canary, STEP + 1, watch)
        assert not root.entry(save, STEP).exists(), name
        (save / "trainer_state.json").write_text('{"global_step": 500}')
        root.wait_until_published(save, STEP, watch)
        watch.end().well()


def test_a_state_larger_than_any_trainers_is_not_read(root: Root) -> None:
    """A sparse file of terabytes must not fill the memory."""
    save = root.hf(STEP)
    with (save / "trainer_state.json").open("r+b") as stream:
        stream.truncate(1 << 42)
    watch = root.watch()
    root.let_a_scan_pass(watch, STEP + 1)
    watch.end().well()
    assert root.published_steps() == [STEP + 1]


def test_an_unfinished_save_is_passed_over_although_its_state_is_right(root: Root) -> None:
    """Trainer marks it while it uploads or moves it."""
    save = root.hf(STEP)
    mark = save / "checkpoint-is-incomplete.txt"
    mark.touch()
    watch = root.watch()
    root.let_a_scan_pass(watch, STEP + 1)
    assert root.published_steps() == [STEP + 1]
    mark.unlink()
    root.wait_until_published(save, STEP, watch)
    watch.end().well()


@pytest.mark.parametrize("name", ["checkpoint-007", "checkpoint-7"])
def test_a_folder_may_spell_its_step_with_zeros(root: Root, name: str) -> None:
    """Decimal digits only, as the rule says."""
    save = root.own() / name
    save.mkdir(parents=True)
    (save / "model.safetensors").write_bytes(b"weights")
    (save / "trainer_state.json").write_text('{"global_step": 7}')
    watch = root.watch()
    root.wait_until_published(save, 7, watch)
    watch.end().well()
