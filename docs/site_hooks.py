"""MkDocs hooks: the generated pages, and links to files outside docs/.

On the site a file PATH of the source tree outside docs/ is the page project/PATH. CONTRIBUTING.md
and other pages are rendered; source files are shown as code. Importing this module does not need
MkDocs, so the tests can use it.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(
    r"(?P<code>^(?P<fence>`{3,}).*?^(?P=fence)|(?P<ticks>`+)[^`].*?(?P=ticks)|^<!--.*?-->)"
    r"|(?P<open>\]\(|<[^>]*?(?:src|srcset|href)=\")(?P<path>[^)\"#\s]*)(?P<anchor>#[^)\"\s]*)?",
    re.M | re.S,
)
"""A link in Markdown or HTML, or code, which has none."""
FILE = re.compile(r"^```(\w+) (\S+)$", re.M)
"""The first line of a code block that says which file it is."""
PYTHON = """# Python

[Get started](../get-started.md#in-python) has a whole experiment,
[A parking lot](../parking-lot.md) one with several links, and
[The trace](../trace.md) the tables of a trace.

| Module | |
|---|---|"""
QUEUES = "<!-- queues -->"
"""What docs/queues.md has in the place of the descriptions of all queue disciplines."""
log = logging.getLogger("mkdocs.hooks")


# ---- Generated pages ----


def generated() -> dict[str, str]:
    """The text of each generated page, by its path in the source tree."""
    from headway.verdicts.pages import study_pages

    made = {f"docs/claims/{name}.md": text for name, text in study_pages().items()}
    rows = []
    for module, sections in reference().items():
        about = (inspect.getdoc(importlib.import_module(module)) or "").split("\n\n")[0]
        rows.append(f"| [`{module}`]({module}.md) | {' '.join(about.split())} |")
        parts = [f"# {module}"]
        for name, members in sections.items():
            parts.append(f"::: {name}\n    options:\n      members: [{', '.join(members)}]")
        made[f"docs/python/{module}.md"] = "\n\n".join(parts) + "\n"
    made["docs/python/index.md"] = "\n".join([PYTHON, *rows, ""])
    return made


def described_queues() -> str:
    """Every queue discipline as ``headway describe`` shows it."""
    from headway.registry import registry

    parts = []
    for queue in registry().queues:
        parts.append(f"### {queue.name}\n\n{queue.title} ({queue.source}).\n")
        if queue.tunables:
            parts += ["| tunable | default | allowed | meaning |", "|---|---|---|---|"]
            parts += [
                f"| `{one.name}` | {one.shown_default} | {one.allowed} | {one.meaning} |"
                for one in queue.tunables
            ]
        if queue.counters:
            parts += ["", "| counter | unit | meaning |", "|---|---|---|"]
            parts += [f"| `{one.name}` | {one.unit} | {one.meaning} |" for one in queue.counters]
        parts.append("")
    return "\n".join(parts)


def reference() -> dict[str, dict[str, list[str]]]:
    """Public names by page of the Python reference and module; each name appears once.

    The pages are those of the navigation. A package's public modules are on its page.
    """
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    seen: set[str] = set()
    pages: dict[str, dict[str, list[str]]] = {}
    for page in re.findall(r"- python/(headway[\w.]*)\.md", text):
        module = importlib.import_module(page)
        public = [getattr(module, name) for name in getattr(module, "__all__", ())]
        pages[page] = {}
        for one in [module, *(thing for thing in public if isinstance(thing, ModuleType))]:
            names = {name: _home(one, name) for name in public_names(one)}
            pages[page][one.__name__] = [name for name, home in names.items() if home not in seen]
            seen.update(names.values())
    return pages


def public_names(module: ModuleType) -> list[str]:
    """The names in __all__, else the classes and functions that the module defines."""
    if public := getattr(module, "__all__", None):
        return [name for name in public if not isinstance(getattr(module, name), ModuleType)]
    return [
        name
        for name, thing in vars(module).items()
        if (inspect.isclass(thing) or inspect.isroutine(inspect.unwrap(thing)))
        and not name.startswith("_")
        and thing.__module__ == module.__name__
    ]


def _home(module: ModuleType, name: str) -> str:
    """Where a name is defined, to know it again in another module."""
    thing = getattr(module, name)
    here = f"{module.__name__}.{name}"
    return f"{thing.__module__}.{name}" if hasattr(thing, "__qualname__") else here


# ---- Links to files outside docs/ ----


def links(page: str, text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Every relative link of a page, and the path in the source tree that it leads to."""
    for link in LINK.finditer(text):
        if link["code"] is not None or re.match(r"[a-z]+:|/", link["path"]):
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link["path"]))
        if (ROOT / path / "README.md").exists():
            path = posixpath.normpath(f"{path}/README.md")
        yield link, path if link["path"] else page


def site_path(path: str) -> str:
    """The path below docs/ at which the site has a file or folder of the source tree."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if (ROOT / path).is_dir():
        return f"project/{path}/index.md"
    return f"project/{path}" if path.endswith((".md", ".png", ".svg")) else f"project/{path}.md"


def outside(pages: Mapping[str, str]) -> dict[str, str]:
    """Pages of the files outside docs/ that pages link to, and those link to, and so on."""
    found = {path.name: source_page(path.name) for path in sorted(ROOT.glob("*.md"))}
    rest = {**pages, **found}
    while rest:
        page, text = rest.popitem()
        for _, path in links(page, text):
            if not path.startswith("docs/") and path not in found and (ROOT / path).exists():
                found[path] = rest[path] = source_page(path)
    return found


def source_page(path: str) -> str:
    """A file of the source tree as a page; of a folder, a list of what is in it."""
    whole = ROOT / path
    if whole.is_dir():
        names = sorted(one.name for one in whole.iterdir() if one.name[0] not in "._")
        return f"# {path}\n\n" + "".join(f"- [{name}]({whole.name}/{name})\n" for name in names)
    if whole.suffix in (".png", ".svg"):
        return ""
    text = whole.read_text(encoding="utf-8")
    if whole.suffix == ".md":
        return text
    language = {".h": "c", "": "text"}.get(whole.suffix, whole.suffix[1:])
    return f"# {path}\n\n`````{language}\n{text}`````\n"


_in_tree: dict[str, str] = {}
"""The path in the source tree of each page outside docs/, by its path on the site."""


def on_files(files: Any, config: Any) -> Any:
    """Adds the generated pages, and the pages of files outside docs/."""
    from mkdocs.structure.files import File

    made = generated()
    pages = {f"docs/{file.src_uri}": file.content_string for file in files.documentation_pages()}
    studies = sorted(site_path(path) for path in made if path.startswith("docs/claims/"))
    next(part for part in config.nav if "Studies and claims" in part)["Studies and claims"].append(
        {"Claims by study": studies}
    )
    around = outside({**pages, **made})
    for path, text in {**made, **around}.items():
        content = {"content": text} if text else {"abs_src_path": str(ROOT / path)}
        files.append(File.generated(config, site_path(path), **content))
        _in_tree[site_path(path)] = path
    return files


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    """Describes queues, and points links to where the site has their files.

    MkDocs reports links that lead nowhere.
    """
    if QUEUES in markdown:
        markdown = markdown.replace(QUEUES, described_queues())
    here = page.file.src_uri
    tree = _in_tree.get(here, f"docs/{here}")
    moved = {link.span(): path for link, path in links(tree, markdown)}

    def pointed(link: re.Match[str]) -> str:
        path = moved.get(link.span(), tree)
        if path == tree:
            return link[0]
        target = files.get_file_from_path(site_path(path))
        if target is None:
            if link["open"].startswith("<"):
                log.warning("%s: no file %s", tree, path)
            return link[0]
        if link["open"].startswith("<"):
            to = target.url_relative_to(page.file)
        else:
            to = posixpath.relpath(target.src_uri, posixpath.dirname(here))
        return f"{link['open']}{to}{link['anchor'] or ''}"

    return FILE.sub(_titled, LINK.sub(pointed, markdown))


def _titled(fence: re.Match[str]) -> str:
    language = Path(fence[2]).suffix[1:] if fence[1] == "file" else fence[1]
    return f'```{language} title="{fence[2]}"'
