"""Generic parts contain no protocol's name, and every named file exists."""

import ast
import io
import json
import os
import re
import subprocess
import tokenize
import tomllib
from pathlib import Path

import pytest
from site_hooks import generated

ROOT = Path(__file__).resolve().parent.parent
GENERIC = (
    "algorithms/port/header.h",
    "algorithms/port/link.h",
    "algorithms/port/queue.h",
    "algorithms/port/router.h",
    "crates/sim/src/event.rs",
    "crates/sim/src/net",
    "crates/sim/src/rng.rs",
    "crates/sim/src/scenario",
    "crates/sim/src/trace",
    "crates/sim/src/world",
    "python/headway/backends",
    "python/headway/metrics",
    "python/headway/trace_writer.py",
    "python/headway/trace.py",
)
NAMES = re.compile(r"quick[-_ ]?start|approv|explicit[-_ ]?rate", re.IGNORECASE)


@pytest.mark.parametrize("part", GENERIC)
def test_a_generic_part_names_no_protocol(part: str) -> None:
    path = ROOT / part
    files = [path] if path.is_file() else sorted(path.rglob("*.rs")) + sorted(path.rglob("*.py"))
    assert files, f"{part} has moved: this test is to follow it"
    named = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if NAMES.search(line)
    ]
    assert named == []


# Pattern of file names in comments, docstrings and pages. The files must exist, unless they belong
# to
# other projects.
FILE = re.compile(
    r"(?<![\w./*{}<>$-])((?:\.{0,2}/)?(?:[\w-]+/)*[\w.-]*\w\.(?:rs|c|h|py|sh|md|toml))"
    r"(?![\w/(*{}-]|\.\w)"
)
ADDRESS = re.compile(r"https?://\S+")  # addresses contain paths of servers
OTHERS = re.compile(
    r"(linux|net|include/net|kernel/bpf)/"  # of kernels
    r"|((tcp|sch)(_\w+)?|ip_dummynet|vmlinux)\.[ch]$"
    r"|(.*/)?(NAME|mine|too_far|my_law|my_header)\.\w+$"  # placeholders for a reader's own file
)
# Files that readers of a page write: ```rust PATH, ```file PATH.
WRITTEN = re.compile(r"^```\w+ (\S+)$", re.MULTILINE)


def comments(path: str, text: str) -> str:
    """The comments and docstrings of a source file, or the whole text of a page."""
    suffix = Path(path).suffix
    if suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        found = [token.string for token in tokens if token.type == tokenize.COMMENT]
        whole = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, whole))
        return "\n".join(found + [ast.get_docstring(node) or "" for node in nodes])
    if suffix in (".rs", ".c", ".h"):
        return "\n".join(re.findall(r"/\*.*?\*/|(?<!:)//[^\n]*", text, re.DOTALL))
    if suffix == ".md":
        return text
    return "\n".join(re.findall(r"(?:^|\s)#[^\n]*", text))


@pytest.mark.slow
def test_every_file_that_is_named_is_there() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    files = listed.stdout.splitlines()
    # a file may be named by any end of its path, for example trace/record.rs or record.rs
    known = {
        "/".join(Path(file).parts[i:])
        for file in [*files, *generated()]
        for i in range(file.count("/") + 1)
    }
    told = [
        file
        for file in files
        if (ROOT / file).suffix in (".py", ".rs", ".c", ".h", ".md", ".sh") or file == "Makefile"
        # leave out CHANGELOG.md, which names old files, and docs/claims.md, which is generated
        if not file.startswith(("CHANGELOG.md", "docs/claims.md"))
    ]
    assert len(told) > 300
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in told}
    known.update(name for file in told for name in WRITTEN.findall(texts[file]))
    gone = [
        f"{file}: {name}"
        for file in told
        for name in FILE.findall(ADDRESS.sub("", comments(file, texts[file])))
        if name.removeprefix("./").replace("../", "") not in known and not OTHERS.match(name)
    ]
    assert gone == []


@pytest.mark.parametrize("profile", ["dev", "release"])
def test_nothing_is_compiled_twice_for_headwayctl_and_its_build_script(profile: str) -> None:
    """Cargo builds each package once, not once for each profile setting. Packages that build
    scripts and programs both use need an entry in Cargo.toml's profile, or the build takes 1.3
    times as long.

    Cargo prints its plan of a build without building: a package is listed once for each set of
    settings.
    """
    asked = ["cargo", "build", "--locked", "--package=headway-kernel", f"--profile={profile}"]
    release = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["profile"]["release"]
    told = subprocess.run(
        [*asked, "--unit-graph", "-Zunstable-options"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            # makes a stable cargo accept the unstable option that prints a build's plan
            "RUSTC_BOOTSTRAP": "1",
            # remove this machine's settings, so that the manifest's values are used
            "CARGO_PROFILE_RELEASE_LTO": release["lto"],
            "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": str(release["codegen-units"]),
            "CARGO_PROFILE_RELEASE_INCREMENTAL": "false",
        },
    )
    assert told.returncode == 0, told.stderr
    libraries = [
        (unit["pkg_id"].rpartition("#")[2], unit["target"]["name"], tuple(unit["features"]))
        for unit in json.loads(told.stdout)["units"]
        if unit["mode"] == "build"
    ]
    assert any(name == "headway_algorithms" for _, name, _ in libraries)
    twice = {package for package, *which in libraries if libraries.count((package, *which)) > 1}
    assert not twice, "Cargo.toml, profile.release.package: compiled twice with other settings"
