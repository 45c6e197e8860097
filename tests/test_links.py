"""Relative links in the pages lead to a file, a heading or a generated page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import pytest
from site_hooks import generated, links, reference
from support import ROOT

MADE = generated()
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("[!.]*/README.md")]
}


def dead(page: str, text: str, pages: Mapping[str, str]) -> list[str]:
    """Links of a page that lead nowhere. ``pages`` has the text of each page by its path."""
    found = []
    for link, path in links(page, text):
        anchor = (link["anchor"] or "")[1:]
        if path not in pages and not (ROOT / path).exists():
            found.append(f"{page}: no file {path}")
        elif anchor and anchor not in anchors(pages.get(path, "")):
            found.append(f"{page}: no heading #{anchor} in {path}")
    return found


@cache
def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, and of the Python names whose docstrings it shows."""
    found: set[str] = set()
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for heading in re.findall(r"^#+ +(.*?) *$", text, re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    for module, names in re.findall(r"^::: (\S+)\n.*\n +members: \[(.*)\]", text, re.M):
        found |= {f"{module}.{name}" for name in names.split(", ")}
    return found


@pytest.mark.parametrize("page", [*PAGES, *MADE])
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    pages = {**PAGES, **MADE}
    assert dead(page, pages[page], pages) == []


def test_a_dead_link_is_found() -> None:
    pages = {"docs/a.md": "# A `page`, [linked](b.md)\n```\n# not this\n```\n"}
    text = """[1](a.md#a-page-linked) [2](../README.md) [3](https://example.net/) `[4](no)`
[5](b.md) [6](a.md#not-this) <img src="../no.png">"""
    assert dead("docs/c.md", text, pages) == [
        "docs/c.md: no file docs/b.md",
        "docs/c.md: no heading #not-this in docs/a.md",
        "docs/c.md: no file no.png",
    ]


def test_every_page_of_docs_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:", 1)[1]
    listed = set(re.findall(r"[- ]([\w./-]+\.md)$", navigation, re.M))
    written = {path.removeprefix("docs/") for path in PAGES if path.startswith("docs/")}
    assert written <= listed
    assert {page for page in listed if page.startswith("python/")} == {
        f"python/{name}.md" for name in ["index", *reference()]
    }
