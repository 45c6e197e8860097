"""Imports between modules of the kernel backend: one direction, and none into its internals."""

import ast
from pathlib import Path

import pytest

import headway

PACKAGE = Path(headway.__file__).parent
ROOM = "headway.backends.kernel"
# layers from the lowest up; modules in the same layer do not import each other
STOREYS = (
    ("folders", "headwayctl", "records", "room", "sites", "web"),
    ("hints", "traffic_files"),
    ("testbed",),
    ("programs",),
    ("run",),
    ("possible",),
    ("backend",),
)
# the only module that other packages may import: the client of headwayctl
OPEN = {f"{ROOM}.headwayctl"}


def imported(path: Path) -> set[str]:
    """Every module of Headway that a file imports, anywhere in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return {name for name in found if name.startswith("headway")}


def room_of(module: str) -> str | None:
    """The module of the kernel backend that a name refers to or is in."""
    inside = module.removeprefix(f"{ROOM}.")
    return None if inside == module else inside.split(".")[0]


HEIGHT = {room: height for height, rooms in enumerate(STOREYS) for room in rooms}


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "backends/kernel").glob("*.py")), ids=lambda p: p.stem
)
def test_a_module_of_the_kernel_backend_imports_only_lower_ones(path: Path) -> None:
    if path.stem == "__init__":
        return
    assert path.stem in HEIGHT, f"{path.name} is in no storey of this test"
    known = {room for room in map(room_of, imported(path)) if room in HEIGHT}
    assert not [room for room in known if HEIGHT[room] >= HEIGHT[path.stem]]


def test_users_of_the_kernel_backend_import_its_names_and_not_its_modules() -> None:
    inside: list[str] = []
    users = 0
    for path in PACKAGE.rglob("*.py"):
        if path.is_relative_to(PACKAGE / "backends/kernel"):
            continue
        modules = {name for name in imported(path) if room_of(name) in HEIGHT}
        users += bool(modules)
        inside += [
            f"{path.relative_to(PACKAGE)}: {name}"
            for name in modules
            if not any(name == each or name.startswith(f"{each}.") for each in OPEN)
        ]
    assert users >= 3
    assert not inside
