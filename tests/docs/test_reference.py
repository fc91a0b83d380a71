"""The reference says what the program and the package say."""

import inspect
import re
from pathlib import Path

import pytest

from dispatch import checkpoint, errors
from dispatch.checkpoint import Entry, Framework, Log, PruneResult, SkippedFolder, Watcher
from dispatch.cli import exitcodes
from tests.docs import cli_page
from tests.docs.pages import ROOT, headings, prose, rows
from tests.docs.sandbox import find_publish

REFERENCE = ROOT / "docs/reference"
SIGNATURE = re.compile(r"`(\w+)(?:\(([^)]*)\))?[^`]*`")
SOURCES = sorted((ROOT / "src/dispatch").rglob("*.py"))


def test_the_command_line_page_is_what_the_program_prints() -> None:
    assert cli_page.PAGE.read_text(encoding="utf-8") == cli_page.render(find_publish())


def rows_of_errors() -> list[list[str]]:
    return rows(REFERENCE / "errors.md")[1:]


def test_the_page_of_errors_has_each_kind_once_in_the_order_of_the_code() -> None:
    assert [row[0] for row in rows_of_errors()] == [f"`{kind}`" for kind in errors.KINDS]


@pytest.mark.parametrize("row", rows_of_errors(), ids=lambda row: row[0].strip("`"))
def test_a_kind_has_the_class_and_the_status_of_the_code(row: list[str]) -> None:
    kind, name, _, _, status = (cell.strip("`") for cell in row)
    of_the_kind = getattr(errors, name)
    assert issubclass(of_the_kind, errors.DispatchError)
    if of_the_kind is errors.AlreadyPublishedError:
        expected = exitcodes.OK  # `publish` catches it
    else:
        expected = exitcodes.of_error(of_the_kind("message", kind=kind))
    assert int(status) == expected


def test_the_kind_that_a_class_has_by_itself_stands_beside_that_class() -> None:
    classes = [c for c in vars(errors).values() if inspect.isclass(c)]
    own = {(c.kind, c.__name__) for c in classes if issubclass(c, errors.DispatchError)}
    own -= {(errors.DispatchError.kind, "DispatchError")}
    assert own <= {(row[0].strip("`"), row[1].strip("`")) for row in rows_of_errors()}


def test_the_page_of_the_environment_has_the_variables_that_the_code_names() -> None:
    first_cells = [row[0] for row in rows(REFERENCE / "environment.md")]
    documented = {cell.strip("`") for cell in first_cells if cell.startswith("`")}
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    assert set(re.findall(r"\bDISPATCH_[A-Z]+\b", text)) <= documented
    assert all(re.search(rf"\b{name}\b", text) for name in documented)


def test_one_module_reads_the_environment() -> None:
    readers = [
        path for path in SOURCES if re.search(r"\bos\.(environb?|getenvb?)\b", path.read_text())
    ]
    # start.py reads no setting: it looks which folders PYTHONPATH added to the search path.
    assert [path.name for path in readers] == ["environment.py", "start.py"]


def signatures() -> dict[str, str | None]:
    """Name what the headings of the Python page show, with the parameters between parentheses."""
    page = REFERENCE / "python-api.md"
    return {m[1]: m[2] for heading in headings(page) for m in SIGNATURE.finditer(heading)}


def test_the_python_page_has_each_public_name_and_no_other() -> None:
    assert set(signatures()) == set(checkpoint.__all__)


@pytest.mark.parametrize(
    ("name", "shown"), [(name, text) for name, text in signatures().items() if text is not None]
)
def test_a_signature_names_the_parameters_of_the_code(name: str, shown: str) -> None:
    real = [
        str(p).partition(":")[0]
        for p in inspect.signature(getattr(checkpoint, name)).parameters.values()
    ]
    expected = shown.split(", ")
    if expected[-1] == "…":
        expected.pop()
        real = real[: len(expected)]
    assert expected == real


@pytest.mark.parametrize("kind", [Entry, Framework, Log, PruneResult, SkippedFolder, Watcher])
def test_the_python_page_names_each_public_attribute(kind: type) -> None:
    named = set(re.findall(r"`(?:\w+\.)?(\w+)(?:\([^`]*\))?`", prose(REFERENCE / "python-api.md")))
    slots = set(getattr(kind, "__slots__", ())) | set(vars(kind))
    public = {name for name in slots if not name.startswith("_")}
    assert public <= named


@pytest.mark.parametrize("method", ["publish", "prune"])
def test_a_method_of_log_is_shown_with_its_parameters(method: str) -> None:
    row = next(row for row in rows(REFERENCE / "python-api.md") if row[0].startswith(f"`{method}("))
    shown = re.findall(r"(\w+)(?:=[^,)]*)?[,)]", row[0])
    assert shown == list(inspect.signature(getattr(Log, method)).parameters)[1:]


def test_the_versions_of_frameworks_are_those_that_the_tests_install() -> None:
    pins = (ROOT / "tests/real/requirements-frameworks.txt").read_text(encoding="utf-8")
    versions = dict(re.findall(r"(?m)^(torch|transformers|accelerate)==(\S+)$", pins))
    page = prose(REFERENCE / "compatibility.md")
    readme = prose(ROOT / "README.md").replace("\n", " ")
    assert all(f"{name} {version}" in page for name, version in versions.items())
    assert all(f" {version}" in readme for version in versions.values())


def test_the_local_file_systems_are_those_of_the_code() -> None:
    source = Path(ROOT / "src/dispatch/adapters/posix/filesystem.py").read_text(encoding="utf-8")
    local = re.search(r"_LOCAL_TYPES = frozenset\((\{.*\})\)", source)
    assert local
    for page in ("explanation/torn-listings.md", "spec/publication-format.md"):
        text = prose(ROOT / "docs" / page).lower()
        assert all(name in text for name in re.findall(r'"(\w+)"', local[1])), page
