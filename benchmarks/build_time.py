#!/usr/bin/env python3
"""Time a full build from scratch, including headwayctl, for this commit and another one.

Each build has its own work tree and target folder in a temporary folder; dependencies are fetched
before the clock starts. `--controls 3` gives this commit three times as many controls: each is
copied under two new names. Builds alternate, so that disturbances affect all. Numbers are medians
of wall time and of processor time, which other programs disturb less.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ["cargo", "build", "--release", "--locked", "--quiet"]
PACKAGES = ["-p", "headway-python", "-p", "headway-kernel"]
NAME_LETTERS = 12
"""The maximum length of a control's name."""


def copies(control: Path, times: int) -> list[Path]:
    """Copies a control's C file under new names until it exists `times` times; returns the
    copies."""
    made = []
    old = control.stem
    for letter in "bcdefghij"[: times - 1]:
        new = f"{old[: NAME_LETTERS - 1]}{letter}"
        text = control.read_text()
        text, tables = re.subn(rf"\bhw_cc_{old}\b", f"hw_cc_{new}", text)
        text, names = re.subn(rf'(\.name = )"{old}"', rf'\1"{new}"', text)
        if (tables, names) != (1, 1):
            raise SystemExit(
                f"{control}: cannot be copied: needs one table hw_cc_{old} with .name = {old}"
            )
        path = control.with_stem(new)
        path.write_text(text)
        made.append(path)
    return made


def work_tree(folder: Path, commit: str, times: int) -> Path:
    """Check a commit out into a folder, and multiply the number of its controls by `times`."""
    subprocess.run(
        ["git", "-C", ROOT, "worktree", "add", "--quiet", "--detach", folder, commit], check=True
    )
    for control in sorted((folder / "algorithms/cc").glob("*.c")) if times > 1 else []:
        copies(control, times)
    subprocess.run(["cargo", "fetch", "--locked", "--quiet"], cwd=folder, check=True)
    return folder


def build(tree: Path) -> tuple[float, float]:
    """Seconds of wall time and of processor time of a full build."""
    target = tree / "target"
    shutil.rmtree(target, ignore_errors=True)
    before, start = os.times(), time.perf_counter()
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "CARGO_INCREMENTAL": "0"}
    subprocess.run([*BUILD, *PACKAGES], cwd=tree, env=environment, check=True)
    wall_s, after = time.perf_counter() - start, os.times()
    used_s = after.children_user + after.children_system
    if not (target / "release/headwayctl").exists():
        raise SystemExit(f"{tree}: no headwayctl was built")
    return wall_s, used_s - before.children_user - before.children_system


def built_controls(tree: Path) -> int:
    """The number of controls in the headwayctl that is built from this tree."""
    return len(list((tree / "algorithms/cc").glob("*.c")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default="521d91a", help="the commit to compare with")
    parser.add_argument("--commit", default="HEAD", help="the commit to measure")
    parser.add_argument(
        "--controls", type=int, default=3, help="multiply the number of controls by this, 1 to 10"
    )
    parser.add_argument("--runs", type=int, default=3, help="builds of each")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not 1 <= options.controls <= 10 or options.runs < 1:
        parser.error("--controls is 1 to 10, --runs at least 1")
    with tempfile.TemporaryDirectory(prefix="headway-build-") as folder:
        kinds = [(options.before, 1), (options.commit, 1), (options.commit, options.controls)]
        trees: dict[str, Path] = {}
        try:
            for number, (commit, times) in enumerate(dict.fromkeys(kinds)):
                label = commit if times == 1 else f"{commit}, {times} times the controls"
                trees[label] = work_tree(Path(folder) / str(number), commit, times)
            runs: dict[str, list[tuple[float, float]]] = {label: [] for label in trees}
            for _ in range(options.runs):
                for label, tree in trees.items():
                    runs[label].append(build(tree))
            rows = {
                label: {
                    "controls": built_controls(trees[label]),
                    "wall_s": statistics.median(wall_s for wall_s, _ in ones),
                    "processor_s": statistics.median(used_s for _, used_s in ones),
                }
                for label, ones in runs.items()
            }
        finally:
            for tree in trees.values():
                subprocess.run(
                    ["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=False
                )
    if options.json:
        json.dump(rows, sys.stdout, indent=2)
        print()
        return
    print(f"{'build from nothing':40} {'controls':>8} {'wall s':>8} {'processor s':>12}")
    for label, row in rows.items():
        print(f"{label:40} {row['controls']:8} {row['wall_s']:8.1f} {row['processor_s']:12.1f}")


if __name__ == "__main__":
    main()
