"""Links and paths lead somewhere."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, anchors, links, pages, prose, shown

PATH = re.compile(r"`((?:src|docs|tests|tools|demo|benchmarks)/[\w./-]*)`")
MADE = {"docs/reference/performance.md"}
"""What a command writes; it may not be there yet."""


@pytest.mark.parametrize("page", pages(), ids=shown)
def test_a_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", pages(), ids=shown)
def test_a_path_that_a_page_names_exists(page: Path) -> None:
    named = set(PATH.findall(prose(page))) - MADE
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_architecture_page_names_each_module_of_the_rules() -> None:
    text = prose(ROOT / "ARCHITECTURE.md")
    modules = (ROOT / "src/dispatch/checkpoint").glob("*.py")
    assert [m.name for m in modules if m.name != "__init__.py" and m.name not in text] == []


def test_every_page_of_the_documentation_is_reached_from_the_readme() -> None:
    reached, new = set[Path](), [ROOT / "README.md"]
    while new:
        page = new.pop()
        reached.add(page)
        targets = {(page.parent / link.partition("#")[0]).resolve() for link in links(page)}
        new += [t for t in targets if t.suffix == ".md" and t not in reached and t.is_file()]
    design = ROOT / "docs/design"
    assert [shown(p) for p in pages() if p not in reached and design not in p.parents] == []
