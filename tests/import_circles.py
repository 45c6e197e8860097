#!/usr/bin/env python3
"""Finds circles of imports between source files and exits with 1 if one exists.

    import_circles.py [ROOT]

A circle is a set of two or more files of which each refers, directly or through others, to every
other one. ROOT is the repository; `make lint` runs this command.

Rust. The files of a crate are those that its roots (lib.rs, main.rs, src/bin, tests, build.rs)
declare as modules. A file refers to the file that defines the item at the end of a path. This
concerns `use` declarations as well as paths inside code, macros and serde's attributes.

- A path through a re-export leads to the file that defines the item and not to the file that
  re-exports it. `use super::Name` therefore refers to the parent only if the parent defines Name.
- A module that declares or re-exports (`pub use`) items of another file refers to that file only
  if its own code names one of them.
- A path that ends in a name which no file defines, such as one that a macro generates, leads to
  the last module that is known.
- Code under `#[cfg(test)]` counts: tests of a module belong to its file.
- Calls of methods and uses of fields name no path, so they count only through the `use` of a type.

Python. The files are the modules of python/headway, and separately the modules of each other
folder with Python files. A file refers to each module that it imports, at the top or inside a
function. `from package import name` refers to the submodule of that name or else to the
package's __init__.py. Imports under `if TYPE_CHECKING:` never run and do not count.

C. A file refers to each file that it includes with quotes.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

# names of folders with build products or with files of other projects
SKIPPED = {"target", ".venv", ".git", "node_modules", "build", "results"}


@dataclass
class Graph:
    """References between files, each with the first line that refers and the text there."""

    edges: dict[Path, dict[Path, tuple[int, str]]] = field(default_factory=dict)

    def add_file(self, path: Path) -> None:
        self.edges.setdefault(path, {})

    def add(self, source: Path, target: Path, line: int, text: str) -> None:
        self.add_file(target)
        if source != target:
            self.edges.setdefault(source, {}).setdefault(target, (line, text))

    def circles(self) -> list[list[Path]]:
        """The strongly connected components with two files or more (Tarjan 1972)."""
        index: dict[Path, int] = {}
        low: dict[Path, int] = {}
        stack: list[Path] = []
        on_stack: set[Path] = set()
        found = []
        for root in sorted(self.edges):
            if root in index:
                continue
            work: list[tuple[Path, Iterator[Path]]] = []

            def enter(node: Path, work: list[tuple[Path, Iterator[Path]]]) -> None:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
                work.append((node, iter(sorted(self.edges[node]))))

            enter(root, work)
            while work:
                node, targets = work[-1]
                for target in targets:
                    if target not in index:
                        enter(target, work)
                        break
                    if target in on_stack:
                        low[node] = min(low[node], index[target])
                else:
                    work.pop()
                    if work:
                        above = work[-1][0]
                        low[above] = min(low[above], low[node])
                    if low[node] == index[node]:
                        start = stack.index(node)
                        members = stack[start:]
                        del stack[start:]
                        on_stack.difference_update(members)
                        if len(members) > 1:
                            found.append(sorted(members))
        return found


# --- Rust ---

RUST_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
      | (?P<comment>/\*)
      | (?P<raw>(?:b|c)?r(?P<hashes>\#*)"(?:.*?)"(?P=hashes))
      | (?P<string>[bc]?"(?:\\.|[^"\\])*")
      | (?P<char>b?'(?:\\[^\n]*?'|[^'\\\n]'))
      | (?P<lifetime>'\w+)
      | (?P<name>(?:r\#)?[A-Za-z_]\w*)
      | (?P<number>\d[\w.]*)
      | (?P<mark>::|=>|.)""",
    re.VERBOSE | re.DOTALL,
)
ITEMS = {"fn", "struct", "enum", "union", "trait", "type", "const", "static"}
PATH_IN_TEXT = re.compile(r'"(\w+(?:::\w+)+)"')


@dataclass
class Token:
    kind: str
    text: str
    line: int


def rust_tokens(text: str) -> list[Token]:
    """The tokens of Rust code without spaces and comments."""
    found = []
    line, position = 1, 0
    while position < len(text):
        match = RUST_TOKEN.match(text, position)
        assert match is not None
        kind, token, end = match.lastgroup or "", match.group(), match.end()
        if kind == "hashes":
            kind = "raw"
        if kind == "comment":
            depth, end = 1, position + 2
            while depth:
                mark = re.compile(r"/\*|\*/").search(text, end)
                if mark is None:
                    end = len(text)
                    break
                depth += 1 if mark.group() == "/*" else -1
                end = mark.end()
            token = text[position:end]
        elif kind != "space":
            found.append(Token(kind, token.removeprefix("r#"), line))
        line += token.count("\n")
        position = end
    return found


@dataclass
class Use:
    """One name that a `use` declaration imports; `*` stands for all names."""

    path: list[str]
    name: str
    line: int
    public: bool


@dataclass
class Module:
    """A Rust module: a file, or a `mod name { }` inside one."""

    file: Path
    parent: Module | None
    folder: Path  # the folder with the files of child modules
    children: dict[str, Module] = field(default_factory=dict)
    items: set[str] = field(default_factory=set)
    uses: list[Use] = field(default_factory=list)
    paths: list[tuple[list[str], int]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)  # identifiers in code, each with a line

    def root(self) -> Module:
        module = self
        while module.parent is not None:
            module = module.parent
        return module


class Crate:
    """The module tree of one root file of a crate."""

    def __init__(self, root: Path) -> None:
        self.modules: list[Module] = []
        self.read_file(root, None, root.parent)

    def read_file(self, path: Path, parent: Module | None, folder: Path) -> Module:
        module = Module(path, parent, folder)
        self.modules.append(module)
        RustFile(self, module, rust_tokens(path.read_text(encoding="utf-8"))).read()
        if parent is not None and path.name == "mod.rs":
            # a build script declares the other files of such a folder as modules
            for child in sorted(folder.glob("*.rs")):
                if child != path and child.stem not in module.children:
                    module.children[child.stem] = self.read_file(child, module, folder / child.stem)
        return module

    def add_to(self, graph: Graph) -> None:
        for module in self.modules:
            graph.add_file(module.file)
            for use in module.uses:
                self.add_use(graph, module, use)
            for path, line in module.paths:
                target = self.resolve(module, path)
                if isinstance(target, Path):
                    graph.add(module.file, target, line, "::".join(path))
                elif target is not None:
                    graph.add(module.file, target.file, line, "::".join(path))

    def add_use(self, graph: Graph, module: Module, use: Use) -> None:
        target = self.resolve(module, use.path)
        if target is None:
            return
        text = "use " + "::".join(use.path)
        if use.name == "*":
            if isinstance(target, Path):
                graph.add(module.file, target, use.line, text + "::*")
                return
            for name, line in module.names.items():
                if name in module.items or name in module.children:
                    continue
                origin = self.find(target, name, [], set())
                if isinstance(origin, Path):
                    graph.add(module.file, origin, line, f"{text}::* ({name})")
        elif isinstance(target, Path) and (not use.public or use.name in module.names):
            graph.add(module.file, target, use.line, text)

    def resolve(
        self, module: Module, path: list[str], seen: set[tuple[int, str]] | None = None
    ) -> Module | Path | None:
        """The module that a path names, or the file that defines the item that it names."""
        seen = set() if seen is None else seen
        first, rest = path[0], path[1:]
        if first == "crate":
            return self.walk(module.root(), rest, seen)
        if first == "self":
            return self.walk(module, rest, seen)
        if first == "super":
            return self.walk(module.parent, rest, seen) if module.parent else None
        return self.find(module, first, rest, seen)

    def walk(
        self, module: Module, path: list[str], seen: set[tuple[int, str]]
    ) -> Module | Path | None:
        if not path:
            return module
        if path[0] == "super":
            return self.walk(module.parent, path[1:], seen) if module.parent else None
        found = self.find(module, path[0], path[1:], seen)
        return module.file if found is None else found

    def find(
        self, module: Module, name: str, rest: list[str], seen: set[tuple[int, str]]
    ) -> Module | Path | None:
        """Resolve a name in a module: a child module, an item or an imported name."""
        if (id(module), name) in seen:
            return None
        seen = seen | {(id(module), name)}
        if name in module.children:
            return self.walk(module.children[name], rest, seen)
        if name in module.items:
            return module.file
        for use in module.uses:
            if (
                use.name == name
                and (found := self.resolve(module, use.path + rest, seen)) is not None
            ):
                return found
        for use in module.uses:
            if use.name == "*":
                target = self.resolve(module, use.path, seen)
                if isinstance(target, Module) and target is not module:
                    found = self.find(target, name, rest, seen)
                    if found is not None:
                        return found
        return None


class RustFile:
    """Reads the tokens of one file into modules."""

    def __init__(self, crate: Crate, module: Module, tokens: list[Token]) -> None:
        self.crate = crate
        self.tokens = tokens
        self.module = module
        self.at = 0
        # For each open brace, the module around the brace, and whether items may stand inside the
        # brace.
        self.scopes: list[tuple[Module, bool]] = []
        self.has_items = True
        self.path_attribute: str | None = None

    def text(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def is_public(self) -> bool:
        """Whether `pub` or `pub(...)` precedes the current token."""
        at = self.at - 1
        if at >= 0 and self.tokens[at].text == ")":
            while at >= 0 and self.tokens[at].text != "(":
                at -= 1
            at -= 1
        return at >= 0 and self.tokens[at].text == "pub"

    def open(self, module: Module, has_items: bool) -> None:
        self.scopes.append((self.module, self.has_items))
        self.module, self.has_items = module, has_items

    def read(self) -> None:
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.text == "#" and self.text(1) in ("[", "!"):
                self.read_attribute()
            elif token.text == "{":
                # inside the braces of `extern "C" {` and of a macro's call, items are allowed if
                # they are allowed around the braces
                before = self.tokens[self.at - 1] if self.at else token
                items = self.has_items and (before.kind == "string" or before.text == "!")
                self.open(self.module, items)
                self.at += 1
            elif token.text == "}":
                if self.scopes:
                    self.module, self.has_items = self.scopes.pop()
                self.at += 1
            elif token.kind != "name":
                self.at += 1
            elif token.text == "use" and self.text(1) not in ("<", "=", ")", ","):
                self.read_use()
            elif token.text == "mod" and self.tokens[self.at + 1].kind == "name":
                self.read_module()
            elif token.text == "macro_rules" and self.text(1) == "!":
                self.module.items.add(self.text(2))
                self.at += 3
            else:
                self.read_name(token)

    def read_attribute(self) -> None:
        self.at += 2 if self.text(1) == "!" else 1
        depth = 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            depth += {"[": 1, "]": -1}.get(token.text, 0)
            if token.text == "path" and self.text(1) == "=" and depth == 1:
                self.path_attribute = self.text(2).strip('"')
            if match := PATH_IN_TEXT.fullmatch(token.text):
                self.module.paths.append((match.group(1).split("::"), token.line))
            self.at += 1
            if depth == 0:
                return

    def read_module(self) -> None:
        name = self.text(1)
        path, self.path_attribute = self.path_attribute, None
        parent = self.module
        if self.text(2) == "{":
            inside = Module(parent.file, parent, parent.folder / name)
            parent.children[name] = inside
            self.crate.modules.append(inside)
            self.open(inside, has_items=True)
            self.at += 3
            return
        self.at += 3
        if path is not None:
            # `#[path]` is relative to the folder of the declaring file; children of the module are
            # in the folder of the module's file
            file = Path(os.path.normpath(parent.file.parent / path))
            candidates = [(file, file.parent)]
        else:
            candidates = [
                (parent.folder / f"{name}.rs", parent.folder / name),
                (parent.folder / name / "mod.rs", parent.folder / name),
            ]
        for file, folder in candidates:
            if file.is_file():
                parent.children[name] = self.crate.read_file(file, parent, folder)

    def read_use(self) -> None:
        public = self.is_public()
        self.at += 1
        if self.text() == "::":
            self.at += 1
        self.read_use_tree([], public)

    def read_use_tree(self, before: list[str], public: bool) -> None:
        path = list(before)
        line = self.tokens[self.at].line
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.text == "{":
                while self.text() != "}":
                    self.read_use_tree(path, public)
                    if self.text() == ",":
                        self.at += 1
                self.at += 1
                return
            if token.text == "*":
                self.module.uses.append(Use(path, "*", line, public))
                return
            path.append(token.text)
            if self.text() == "::":
                self.at += 1
                continue
            if path[-1] == "self" and len(path) > 1:
                path.pop()
            name = path[-1]
            if self.text() == "as":
                name = self.text(1)
                self.at += 2
            self.module.uses.append(Use(path, name, line, public))
            return

    def read_name(self, token: Token) -> None:
        if token.text in ITEMS and self.has_items:
            offset = 2 if self.text(1) == "mut" else 1
            if self.text(offset) not in ("{", "fn", "unsafe", "extern", "_", "<"):
                self.module.items.add(self.text(offset))
            self.at += 1
            return
        before = self.text(-1)
        path = [token.text]
        self.at += 1
        while self.text() == "::" and self.at + 1 < len(self.tokens):
            if self.tokens[self.at + 1].kind != "name":
                break
            path.append(self.text(1))
            self.at += 2
        if before in ("::", "$"):
            return
        self.module.names.setdefault(path[0], token.line)
        if len(path) > 1 and path[0] != "Self":
            self.module.paths.append((path, token.line))


def rust_graphs(root: Path) -> Iterator[tuple[str, Graph]]:
    for manifest in sorted(root.glob("crates/*/Cargo.toml")):
        folder = manifest.parent
        roots = [folder / "src/lib.rs", folder / "src/main.rs", folder / "build.rs"]
        roots += sorted(folder.glob("src/bin/*.rs"))
        roots += sorted(folder.glob("tests/*.rs")) + sorted(folder.glob("tests/*/main.rs"))
        graph = Graph()
        for each in roots:
            if each.is_file():
                Crate(each).add_to(graph)
        if graph.edges:
            yield f"Rust, {folder.relative_to(root)}", graph


# --- Python ---


def without_type_checking(nodes: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import of a tree, except under `if TYPE_CHECKING:`."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from without_type_checking(node.orelse)
        else:
            yield from without_type_checking(ast.iter_child_nodes(node))


def python_graph(folder: Path, package: str) -> Graph:
    """The imports between modules of a folder; `package` is its name, or empty for scripts."""
    modules: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        name = ".".join((package, *parts) if package else parts)
        if not SKIPPED & set(parts) and name:
            modules[name] = path
            if not package:
                # pytest puts each test's folder on sys.path, so the file's name alone is a module
                modules.setdefault(parts[-1], path)
    graph = Graph()
    for name, path in modules.items():
        graph.add_file(path)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in without_type_checking(ast.iter_child_nodes(tree)):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name in modules:
                        graph.add(path, modules[alias.name], node.lineno, f"import {alias.name}")
                continue
            source = node.module or ""
            if node.level:
                above = name.split(".")
                drop = node.level - (path.name == "__init__.py")
                above = above[: len(above) - drop]
                source = ".".join([*above, source] if source else above)
            for alias in node.names:
                for target in (f"{source}.{alias.name}", source):
                    if target in modules:
                        text = f"from {source} import {alias.name}"
                        graph.add(path, modules[target], node.lineno, text)
                        break
    return graph


def python_graphs(root: Path) -> Iterator[tuple[str, Graph]]:
    if (root / "python/headway").is_dir():
        yield "Python, python/headway", python_graph(root / "python/headway", "headway")
    for folder in ("tests", "benchmarks", "packaging", "docs", "examples"):
        if (root / folder).is_dir():
            graph = python_graph(root / folder, "")
            if graph.edges:
                yield f"Python, {folder}", graph


# --- C ---

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def c_graph(root: Path) -> Graph:
    graph = Graph()
    files: list[Path] = []
    for folder in ("algorithms", "include", "crates", "examples", "tests"):
        for suffix in ("*.c", "*.h"):
            found = (root / folder).rglob(suffix)
            files += [path for path in found if not SKIPPED & set(path.parts)]
    for path in sorted(files):
        graph.add_file(path)
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            for base in (path.parent, root / "algorithms", root / "include", root):
                target = (base / match.group(1)).resolve()
                if target.is_file():
                    graph.add(path, target, line, f'#include "{match.group(1)}"')
                    break
    return graph


def main(arguments: list[str]) -> int:
    default = Path(__file__).resolve().parents[1]
    root = Path(arguments[0]).resolve() if arguments else default
    graphs = [*rust_graphs(root), *python_graphs(root), ("C", c_graph(root))]
    count = files = references = 0
    for name, graph in graphs:
        files += len(graph.edges)
        references += sum(len(targets) for targets in graph.edges.values())
        for circle in graph.circles():
            count += 1
            print(f"{name}: {len(circle)} files import each other:")
            for source in circle:
                for target, (line, text) in sorted(graph.edges[source].items()):
                    if target in circle:
                        here, there = source.relative_to(root), target.relative_to(root)
                        print(f"    {here}:{line} -> {there}: {text}")
    if count:
        print(f"{count} circles of imports among {files} files and {references} references")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
