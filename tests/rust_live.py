#!/usr/bin/env python3
"""Runs live tests of Rust, and each failed test again, alone.

    rust_live.py run FILE CARGO TARGET... runs each target's tests and writes failed ones to FILE
    rust_live.py again FILE CARGO runs each test that FILE names again

CARGO has cargo's options for packages, as one word. TARGET is the name of a test target
(`testbed`), or of a package (`headway-kernel`) for its unit tests; `headway-pep:ignored` are those
marked `#[ignore]`. `run` may run beside other tests, `again` must not. The exit status of `run` is
1 if a target cannot be built; that of `again` is 1 if a test failed twice. `again` ends with a line
for each test, which names both outcomes.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENDED = re.compile(r"^test (.+) \.\.\. (ok|FAILED)\b")


def binaries(cargo: list[str], targets: list[str]) -> dict[str, tuple[Path, Path]]:
    """Build the targets; returns the program and the package's folder of each."""
    tests = [f"--test={t}" for t in targets if not t.startswith("headway-")]
    command = ["cargo", "test", "--quiet", "--no-run", "--message-format=json", *cargo]
    if len(tests) < len(targets):
        tests.append("--lib")
    built = subprocess.run(
        [*command, *tests], check=False, cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    found = {}
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if rendered := message.get("message", {}).get("rendered"):
            print(rendered, file=sys.stderr)
        if message["reason"] == "compiler-artifact" and message["executable"]:
            target, folder = message["target"], Path(message["manifest_path"]).parent
            is_unit = "lib" in target["kind"]
            name = target["name"].replace("_", "-") if is_unit else target["name"]
            found[name] = (Path(message["executable"]), folder)
    if built.returncode or not {t.partition(":")[0] for t in targets} <= found.keys():
        sys.exit(f"cannot build {' '.join(targets)}")
    return found


def run(program: Path, folder: Path, arguments: list[str]) -> tuple[bool, dict[str, str]]:
    """Run a test program; returns whether it succeeded, and each test's outcome: ok or FAILED."""
    environment = os.environ | {"CARGO_MANIFEST_DIR": str(folder)}
    ended = {}
    with subprocess.Popen(
        [program, *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        for line in process.stdout:
            print(line, end="", flush=True)
            if match := ENDED.match(line):
                ended[match[1]] = match[2]
    return process.returncode == 0, ended


def first(file: Path, cargo: list[str], targets: list[str]) -> None:
    """Run the targets' tests and write the failed tests to a file.

    If a target failed although no test did, its line names no test.
    """
    programs = binaries(cargo, targets)
    with file.open("a") as notes:
        for target in targets:
            name, _, ignored = target.partition(":")
            arguments = ["--ignored"] if ignored else []
            passed, ended = run(*programs[name], arguments)
            failed = [test for test, how in ended.items() if how == "FAILED"]
            for test in failed or ([] if passed else [""]):
                notes.write(f"{target}\t{test}\n")
                notes.flush()


def again(file: Path, cargo: list[str]) -> int:
    """Run each test that the file names a second time, and print both outcomes of each."""
    lines = file.read_text().splitlines() if file.exists() else []
    noted = [line.split("\t") for line in lines]
    if not noted:
        return 0
    programs = binaries(cargo, sorted({target for target, _ in noted}))
    summary, status = [], 0
    for target, test in noted:
        name, _, ignored = target.partition(":")
        arguments = ["--test-threads=1"] + ["--ignored"] * bool(ignored)
        passed, ended = run(*programs[name], arguments + ["--exact", test] * bool(test))
        if not passed:
            outcome = "failed twice"
        elif test and test not in ended:
            outcome = "failed beside others, skipped alone"
        else:
            outcome = "failed beside others, passed alone"
        summary.append(f"{target} {test or '(the whole program)'}: {outcome}")
        status |= not passed
    print("\n" + "\n".join(summary))
    return status


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "again"])
    parser.add_argument("file", type=Path)
    parser.add_argument("cargo", type=str.split)
    parser.add_argument("targets", nargs="*")
    options = parser.parse_args()
    if options.command == "again":
        return again(options.file, options.cargo)
    first(options.file, options.cargo, options.targets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
