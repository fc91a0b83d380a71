"""The project's pages, taken apart: fenced blocks, prose, headings, links, tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "README.md"
GENERATED = {ROOT / "docs/reference/performance.md"}
"""Written by `make bench`: its lines are as wide as its numbers."""

FENCE = re.compile(r"^```(\w*)$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"`[^`\n]*`")
PROMPT, CONTINUATION = "$ ", "> "


def pages() -> list[Path]:
    """Every page of the documentation."""
    top = [README, ROOT / "ARCHITECTURE.md"]
    return top + sorted(set((ROOT / "docs").rglob("*.md")) - GENERATED)


def shown(page: Path) -> str:
    """Name a page as an editor opens it."""
    return str(page.relative_to(ROOT))


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str


@dataclass(frozen=True)
class Command:
    """One command of a console block, and what the page says that it prints."""

    line: int
    command: str
    printed: str


def _split(page: Path) -> tuple[list[Block], list[str]]:
    blocks, prose = [], []
    inside: list[str] | None = None
    start, language = 0, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        fence = FENCE.match(line)
        if fence and inside is None:
            inside, start, language = [], number, fence[1]
        elif fence and inside is not None:
            blocks.append(Block(page, start, language, "".join(f"{row}\n" for row in inside)))
            inside = None
        elif inside is not None:
            inside.append(line)
        else:
            prose.append(line)
    assert inside is None, f"{shown(page)}:{start} opens a block that nothing closes"
    return blocks, prose


def blocks(page: Path, *languages: str) -> list[Block]:
    """Find the fenced blocks of some languages, in order; of any when none is named."""
    return [block for block in _split(page)[0] if not languages or block.language in languages]


def prose(page: Path) -> str:
    """Return what is outside of fenced blocks, with code in the line as it is."""
    return "\n".join(_split(page)[1])


def words(page: Path) -> str:
    """Return the prose without code."""
    return CODE.sub("", prose(page))


def headings(page: Path) -> list[str]:
    """Return the headings, without their marks."""
    return [line.lstrip("#").strip() for line in _split(page)[1] if line.startswith("#")]


def anchors(page: Path) -> set[str]:
    """Return what a link into the page can name, as GitHub makes it from each heading."""
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings(page))
    return {heading.replace(" ", "-") for heading in kept}


def links(page: Path) -> Iterator[str]:
    """Yield the target of every link."""
    yield from LINK.findall(CODE.sub("", prose(page)))


def rows(page: Path) -> list[list[str]]:
    """Return the cells of every table, without the rules between heads and bodies."""
    lines = [line for line in prose(page).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def commands(block: Block) -> list[Command]:
    """Take a console block apart."""
    found: list[Command] = []
    for number, line in enumerate(block.text.splitlines(), start=block.line + 1):
        if line.startswith(PROMPT):
            found.append(Command(number, line.removeprefix(PROMPT), ""))
        elif line.startswith(CONTINUATION.rstrip()) and found and not found[-1].printed:
            last = found.pop()
            more = line.removeprefix(CONTINUATION.rstrip()).removeprefix(" ")
            found.append(Command(last.line, f"{last.command}\n{more}", ""))
        else:
            assert found, f"{shown(block.page)}:{number} prints before any command"
            last = found.pop()
            found.append(Command(last.line, last.command, f"{last.printed}{line}\n"))
    return found
