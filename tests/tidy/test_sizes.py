"""The rules of writing that no linter knows: sizes, docstrings, names, layers."""

import ast
import functools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "src" / "dispatch"
MODULES = sorted(PACKAGE.rglob("*.py"))
PORTS = sorted((PACKAGE / "ports").glob("*.py"))

MODULE_LINES_MAX = 300
FUNCTION_LINES_MAX = 50  # from `def` to its last line, docstring included
POSITIONAL_MAX = 5  # self and cls not counted

NAMES_THAT_SAY_NOTHING = {
    "base", "common", "helper", "helpers", "manager", "misc", "util", "utils",
}  # fmt: skip

SUPPRESSION = re.compile(r"#\s*(?:noqa|type:\s*ignore|pragma:\s*no (?:cover|branch)|fmt:)[^#]*")
CODES = re.compile(r"\[[a-z, -]+\]|\b[A-Z]+\d+\b|noqa|type:\s*ignore|pragma:\s*no \w+|fmt:\s*\w+")

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef


def shown(module: Path) -> str:
    """Name a module as an editor opens it."""
    return str(module.relative_to(ROOT))


def functions(tree: ast.Module) -> Iterator[tuple[Function, bool]]:
    """Yield every function, and whether it takes `self` or `cls` first."""
    bound = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for child in node.body
        if isinstance(child, Function)
        and "staticmethod" not in {ast.unparse(decorator) for decorator in child.decorator_list}
    }
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node, node in bound


def is_documented(method: Function, owner: ast.ClassDef) -> bool:
    """Look for a docstring; a property may have its words in the class's own."""
    of_the_class = ast.get_docstring(owner) or ""
    is_property = "property" in map(ast.unparse, method.decorator_list)
    return bool(ast.get_docstring(method)) or (is_property and method.name in of_the_class)


@functools.cache
def methods_of_ports() -> frozenset[str]:
    """Name every method of every Protocol in dispatch.ports."""
    return frozenset(
        method.name
        for path in PORTS
        for node in ast.parse(path.read_bytes()).body
        if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases)
        for method in node.body
        if isinstance(method, Function)
    )


@pytest.fixture(params=MODULES, ids=shown)
def module(request: pytest.FixtureRequest) -> Path:
    """Each module of the package."""
    path: Path = request.param
    return path


@pytest.fixture
def tree(module: Path) -> ast.Module:
    """Its syntax."""
    return ast.parse(module.read_bytes(), shown(module))


def test_there_are_modules() -> None:
    assert MODULES


def test_a_module_is_at_most_300_lines(module: Path) -> None:
    assert len(module.read_bytes().splitlines()) <= MODULE_LINES_MAX


def test_a_name_says_what_a_module_is_for(module: Path) -> None:
    parts = module.relative_to(PACKAGE).with_suffix("").parts
    assert not NAMES_THAT_SAY_NOTHING & {part.strip("_") for part in parts}


def test_a_function_is_at_most_50_lines(tree: ast.Module) -> None:
    lines = {
        f"{function.name}, line {function.lineno}": (function.end_lineno or 0) - function.lineno + 1
        for function, _ in functions(tree)
    }
    assert {name: count for name, count in lines.items() if count > FUNCTION_LINES_MAX} == {}


def test_a_function_takes_at_most_5_positional_parameters(tree: ast.Module) -> None:
    counts = {
        f"{function.name}, line {function.lineno}": (
            len(function.args.posonlyargs) + len(function.args.args) - bound
        )
        for function, bound in functions(tree)
    }
    assert {name: count for name, count in counts.items() if count > POSITIONAL_MAX} == {}


def test_a_module_and_its_public_names_are_documented(tree: ast.Module) -> None:
    assert ast.get_docstring(tree), "the module has no docstring"
    bare = [
        node.name
        for node in tree.body
        if isinstance(node, Documented)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert bare == []


def test_a_public_method_is_documented_here_or_on_its_port(module: Path, tree: ast.Module) -> None:
    on_a_port = frozenset[str]() if module in PORTS else methods_of_ports()
    bare = [
        f"{node.name}.{method.name}"
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        for method in node.body
        if isinstance(method, Function)
        and not method.name.startswith("_")
        and method.name not in on_a_port
        and not is_documented(method, node)
    ]
    assert bare == []


def test_a_suppressed_rule_has_its_reason_beside_it(module: Path) -> None:
    lines = module.read_text(encoding="utf-8").splitlines()
    bare = []
    for number, line in enumerate(lines, start=1):
        if SUPPRESSION.search(line):
            reason = CODES.sub("", line[line.index("#") :]).strip("#:,- ")
            above = lines[number - 2].strip() if number > 1 else ""
            if not reason and not above.startswith("#"):
                bare.append(f"line {number}: {line.strip()}")
    assert bare == []


def layers_of_the_linter() -> list[list[str]]:
    """Read the layers, highest first; parentheses mark a package that doesn't exist yet."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [c for c in settings["tool"]["importlinter"]["contracts"] if c["type"] == "layers"]
    return [
        [name.strip(" ()").removeprefix("dispatch.") for name in layer.split("|")]
        for layer in contract["layers"]
    ]


def layers_of_the_page() -> list[list[str]]:
    """Read the first fenced block under the heading Layers: names, then two spaces, then words."""
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    block = re.search(r"(?ms)^## Layers\n(?:(?!## )[^\n]*\n)*?```\w*\n(.*?)^```", page)
    assert block, "ARCHITECTURE.md has no fenced block under the heading Layers"
    return [
        re.split(r"\s*\|\s*", re.split(r"\s{2,}", line.strip())[0])
        for line in block[1].splitlines()
        if line.strip()
    ]


def test_the_architecture_page_has_the_layers_of_the_linter() -> None:
    assert layers_of_the_page() == layers_of_the_linter()
