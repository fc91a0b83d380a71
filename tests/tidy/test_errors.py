"""The errors as a whole: every kind is raised and documented, every message reads alike."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dispatch import errors
from dispatch.adapters.credentials.outcome import Broken
from dispatch.adapters.posix.translation import TABLE
from dispatch.checkpoint import Entry
from dispatch.cli import exitcodes
from dispatch.errors import DispatchError

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "dispatch"
PAGE = ROOT / "docs" / "reference" / "errors.md"
MODULES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.parts[len(PACKAGE.parts)] != "testing"  # fakes raise what the real ones do
]
CLASSES = {
    name: value
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, DispatchError)
}


@dataclass(frozen=True)
class Raised:
    """One place where an error is made.

    Attributes:
        where: File and line.
        error: Its class.
        kind: Its kind; None where that is chosen at run time.
        message: The message's expression; None where it comes from elsewhere.
        hint: Likewise.
    """

    where: str
    error: type[DispatchError]
    kind: str | None
    message: ast.expr | None
    hint: ast.expr | None


def literal(node: ast.expr | None, names: dict[str, ast.expr]) -> ast.expr | None:
    """Follow a name to what was assigned to it last before; None when that is no literal."""
    if isinstance(node, ast.Name):
        node = names.get(node.id)
    return node if isinstance(node, ast.Constant | ast.JoinedStr) else None


def errors_in(path: Path) -> Iterator[Raised]:
    """Find the places in one module, with the strings that were assigned above them."""
    names: dict[str, ast.expr] = {}
    tree = ast.parse(path.read_bytes())
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Assign | ast.Call)]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(node, ast.Assign):
            if isinstance(node.targets[0], ast.Name):
                names[node.targets[0].id] = node.value
        elif isinstance(node.func, ast.Name) and node.func.id in CLASSES:
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            error = CLASSES[node.func.id]
            yield Raised(
                where=f"{path.relative_to(ROOT)}:{node.lineno}",
                error=error,
                kind=text_of(given["kind"]) if "kind" in given else error.kind,
                message=literal(node.args[0], names),
                hint=literal(given.get("hint"), names),
            )


def text_of(node: ast.expr) -> str | None:
    """Read a literal string; None where it is none."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


RAISED = [raised for path in MODULES for raised in errors_in(path)]


def starts(node: ast.expr) -> str:
    """Say which two characters a string begins with; nothing, where that is a value."""
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
    return (text_of(first) or "")[:2]


def ends(node: ast.expr) -> str:
    """Say what a string ends with; nothing, where that is a value."""
    last = node.values[-1] if isinstance(node, ast.JoinedStr) and node.values else node
    return (text_of(last) or "")[-1:]


def kinds_of_broken_sources() -> set[str]:
    """Find the kinds that sources of credentials say, which `settle` raises."""
    found = {Broken("").kind}
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == Broken.__name__:
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                kinds = ast.walk(given["kind"]) if "kind" in given else ()
                found |= {
                    text
                    for kind in kinds
                    if isinstance(kind, ast.expr) and (text := text_of(kind)) and text[-1] != "-"
                }
    return found


def classes_by_kind() -> dict[str, set[str]]:
    """Collect which classes are raised with which kind."""
    found: dict[str, set[str]] = defaultdict(set)
    for raised in RAISED:
        if raised.kind is not None:
            found[raised.kind].add(raised.error.__name__)
    for error, kind, _ in TABLE.values():
        found[kind].add(error.__name__)
    for kind in kinds_of_broken_sources():
        found[kind].add(errors.CredentialsError.__name__)
    return dict(found)


def rows() -> dict[str, tuple[str, int]]:
    """Read the table of the page: kind, class, exit status."""
    row = r"(?m)^\| `([a-z-]+)` \| `(\w+)` \|.*\| (\d+) \|$"
    found = re.findall(row, PAGE.read_text(encoding="utf-8"))
    return {kind: (error, int(status)) for kind, error, status in found}


def test_errors_are_found_at_all() -> None:
    """The checks below look at something."""
    assert len(RAISED) > 30
    assert sum(raised.message is not None for raised in RAISED) > 30


def test_every_kind_is_raised_and_every_raised_kind_is_known() -> None:
    """A kind is never taken away, but none is kept for nothing either."""
    assert set(classes_by_kind()) == set(errors.KINDS)
    assert len(set(errors.KINDS)) == len(errors.KINDS)


@pytest.mark.parametrize("error", CLASSES.values())
def test_every_class_has_a_known_kind(error: type[DispatchError]) -> None:
    """Also when whoever raises it says none."""
    assert error.kind in errors.KINDS


@pytest.mark.parametrize("kind", errors.KINDS)
def test_a_kind_is_a_kebab_case_code(kind: str) -> None:
    """Programs compare it."""
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind)


def test_the_page_lists_every_kind_with_its_class_in_the_same_order() -> None:
    """Nobody has to read the source to know what can come."""
    assert list(rows()) == list(errors.KINDS)
    assert {kind: {error} for kind, (error, _) in rows().items()} == classes_by_kind()


def test_the_page_says_which_exit_status_each_has() -> None:
    """An entry that was there already is no failure to whoever publishes by hand."""
    statuses = {kind: status for kind, (_, status) in rows().items()}
    assert statuses.pop("already-published") == exitcodes.OK
    expected = {
        kind: exitcodes.of_error(CLASSES[error]("anything", kind=kind))
        for kind, (error, _) in rows().items()
        if kind in statuses
    }
    assert statuses == expected


@pytest.mark.parametrize("raised", RAISED, ids=lambda raised: raised.where)
def test_a_message_starts_in_lower_case_and_has_no_full_stop(raised: Raised) -> None:
    """It stands in a line after the program's name, or in a longer sentence."""
    if raised.message is not None:
        # Two capitals are an abbreviation, or what the command line calls an operand.
        assert not re.match("[A-Z][a-z ]", starts(raised.message))
        assert ends(raised.message) not in {".", "!", "?", ":", " "}


@pytest.mark.parametrize("raised", RAISED, ids=lambda raised: raised.where)
def test_a_hint_is_a_sentence(raised: Raised) -> None:
    """With the cure."""
    if raised.hint is not None:
        assert not starts(raised.hint)[:1].islower()
        assert ends(raised.hint) in {".", "?", ""}


@pytest.mark.parametrize("code", TABLE)
def test_a_foreign_error_s_hint_is_a_sentence(code: int) -> None:
    """The table of translations holds hints, too."""
    _, kind, hint = TABLE[code]
    assert kind in errors.KINDS
    assert hint[:1].isupper()
    assert hint.endswith(".")


def test_an_error_carries_its_kind_its_hint_and_its_entry() -> None:
    """What is not given is the class's own."""
    error = errors.NotFoundError("nothing there", kind="save-missing", hint="Look again.")
    assert (str(error), error.kind, error.hint) == ("nothing there", "save-missing", "Look again.")
    assert errors.NotFoundError("nothing there").kind == "root-missing"
    assert errors.NotFoundError("nothing there").hint == ""
    entry = Entry(1, 2, "a")
    published = errors.AlreadyPublishedError("there", entry=entry)
    assert (published.entry, published.kind, published.hint) == (entry, "already-published", "")


def test_errors_are_what_python_programs_expect() -> None:
    """A wrong call is a ValueError, something missing a LookupError."""
    assert issubclass(errors.InvalidInputError, ValueError)
    assert issubclass(errors.NotFoundError, LookupError)
    assert all(issubclass(error, Exception) for error in CLASSES.values())
