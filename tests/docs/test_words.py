"""How pages are written: one word for one thing, short lines, nothing of where they were made."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, pages, rows, shown, words

GLOSSARY = ROOT / "docs/reference/glossary.md"
DESIGN = ROOT / "docs/design"
FORMAT = ROOT / "docs/spec/publication-format.md"  # it defines its own words
COLUMNS_MAX = 120

TERMS = {
    "aside", "attempt", "entry", "epoch", "execution", "generation", "job", "leftover", "marker",
    "publication", "restart", "save", "submission", "torn listing",
}  # fmt: skip
"""What the project's own words are, at least."""

EMPHASIS = re.compile(r"(?<![*\w])\*([^*\n]+)\*(?![*\w])")
MACHINE_PATH = re.compile(r"""(?:^|[\s`"'(=])/(?:work|root|Users|home/(?!you\b))""", re.MULTILINE)
REGISTRY_HOST = re.compile(
    r"pypi\.org|pythonhosted|npmjs|docker\.io|quay\.io|ghcr\.io|artifactory|jfrog|nexus"
    r"|(?:localhost|127\.0\.0\.1):\d|\.(?:internal|corp|lan)\b",
    re.IGNORECASE,
)
ABOUT_SESSIONS = re.compile(
    r"\b(?:sessions?|sub-?agents?|assistants?|chat|brief)\b|\bshared/", re.IGNORECASE
)

OURS = [page for page in pages() if page != GLOSSARY and DESIGN not in page.parents]


def glossary() -> list[list[str]]:
    return rows(GLOSSARY)[1:]


def test_the_glossary_has_the_words_of_the_project_in_order() -> None:
    terms = [row[0] for row in glossary()]
    assert set(terms) >= TERMS
    assert terms == sorted(set(terms))


def test_a_term_is_not_a_word_to_avoid() -> None:
    avoided = {word.strip() for row in glossary() for word in row[2].split(",")}
    assert avoided.isdisjoint(row[0] for row in glossary())


@pytest.mark.parametrize("page", [page for page in OURS if page != FORMAT], ids=shown)
def test_what_a_page_introduces_is_in_the_glossary(page: Path) -> None:
    introduced = {text.lower().removesuffix(".") for text in EMPHASIS.findall(words(page))}
    terms = {row[0] for row in glossary()}
    plain = introduced - terms - {f"{term}s" for term in terms}
    assert plain == set()


@pytest.mark.parametrize("page", OURS, ids=shown)
def test_a_page_uses_no_other_word_for_a_term(page: Path) -> None:
    text = re.sub(r"\s+", " ", words(page)).lower()
    avoided = [word.strip() for row in glossary() for word in row[2].split(",")]
    assert [word for word in avoided if re.search(rf"\b{re.escape(word)}s?\b", text)] == []


@pytest.mark.parametrize("page", pages(), ids=shown)
def test_a_line_has_at_most_120_columns(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [number for number, line in enumerate(lines, 1) if len(line) > COLUMNS_MAX] == []


@pytest.mark.parametrize("page", pages(), ids=shown)
@pytest.mark.parametrize("pattern", [MACHINE_PATH, REGISTRY_HOST, ABOUT_SESSIONS])
def test_a_page_says_nothing_of_where_it_was_made(page: Path, pattern: re.Pattern[str]) -> None:
    assert pattern.findall(page.read_text(encoding="utf-8")) == []
