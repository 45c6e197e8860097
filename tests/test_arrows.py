"""Modules of the kernel backend import each other in one direction only, and no other package
imports its internal modules.
"""

import ast
from pathlib import Path

import pytest

import headway

PACKAGE = Path(headway.__file__).parent
KERNEL = "headway.backends.kernel"
# modules of the kernel backend, the lowest layer first; modules of a layer do not import each other
LAYERS = (
    ("folders", "headwayctl", "records", "sites", "web"),
    ("hints", "network", "traffic_files"),
    ("room",),
    ("testbed",),
    ("programs",),
    ("run",),
    ("supported",),
    ("backend",),
)
# the only module that other packages may import directly
OPEN = {f"{KERNEL}.headwayctl"}


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


def module_of(module: str) -> str | None:
    """The module of the kernel backend that a dotted name is, or is in; None for other names."""
    inside = module.removeprefix(f"{KERNEL}.")
    return None if inside == module else inside.split(".")[0]


LAYER_OF = {module: layer for layer, modules in enumerate(LAYERS) for module in modules}


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "backends/kernel").glob("*.py")), ids=lambda p: p.stem
)
def test_a_module_of_the_kernel_backend_imports_only_lower_ones(path: Path) -> None:
    if path.stem == "__init__":
        return
    assert path.stem in LAYER_OF, f"{path.name} is in no layer of this test"
    known = {module for module in map(module_of, imported(path)) if module in LAYER_OF}
    assert not [module for module in known if LAYER_OF[module] >= LAYER_OF[path.stem]]


def test_users_of_the_kernel_backend_import_its_names_and_not_its_modules() -> None:
    inside: list[str] = []
    users = 0
    for path in PACKAGE.rglob("*.py"):
        if path.is_relative_to(PACKAGE / "backends/kernel"):
            continue
        modules = {name for name in imported(path) if module_of(name) in LAYER_OF}
        users += bool(modules)
        inside += [
            f"{path.relative_to(PACKAGE)}: {name}"
            for name in modules
            if not any(name == each or name.startswith(f"{each}.") for each in OPEN)
        ]
    assert users >= 3
    assert not inside
