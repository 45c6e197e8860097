"""Tests that bash, fish, zsh and man read the generated completions and man pages.

Measures no time.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
from test_pages import BASH, FISH, ZSH, share  # noqa: F401 - share is a fixture


def ran(*command: str | Path) -> str:
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def bash(share: Path, *words: str) -> list[str]:
    line = " ".join(f"'{word}'" for word in words)
    script = (
        f"source {share / BASH}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        '_headway; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    return ran("bash", "-c", script).split()


def fish(share: Path, line: str) -> list[str]:
    said = ran("fish", "--no-config", "-c", f"source {share / FISH}; complete -C '{line}'")
    return [one.split("\t")[0] for one in said.splitlines()]


def test_bash_completes_commands_options_and_names(share: Path) -> None:
    assert bash(share, "headway", "tr") == ["try"]
    assert bash(share, "headway", "try", "--dur") == ["--duration"]
    assert bash(share, "headway", "try", "--backend", "") == ["sim", "kernel"]
    assert bash(share, "headway", "try", "--stack", "linux-2") == ["linux-2.6"]
    assert bash(share, "headway", "run", "coll") == ["collateral-damage"]
    assert bash(share, "headway", "describe", "cub") == ["cubic", "cubic26"]
    assert bash(share, "headway", "run", "--seed", "") == []
    (share / "results").mkdir(exist_ok=True)
    assert bash(share, "headway", "report", f"{share}/res") == [f"{share}/results"]
    assert bash(share, "headway", "run", "--out", f"{share}/res") == [f"{share}/results"]


def test_fish_completes_the_same(share: Path) -> None:
    assert fish(share, "headway tr") == ["try"]
    assert fish(share, "headway try --dur") == ["--duration"]
    assert fish(share, "headway try --backend ") == ["kernel", "sim"]
    assert fish(share, "headway run coll") == ["collateral-damage"]


def test_zsh_reads_its_completion(share: Path) -> None:
    ran("zsh", "-n", share / ZSH)
    # compinit would define compdef, but it needs a terminal
    script = f"compdef() {{ print -- $*; }}; source {share / ZSH}; whence -w _headway"
    assert ran("zsh", "-f", "-c", script).splitlines() == [
        "_headway headway",
        "_headway: function",
    ]


def test_man_reads_every_page(share: Path) -> None:
    for path in sorted((share / "man" / "man1").iterdir()):
        assert path.stem in ran("lexgrog", path)
        shown = ran("man", "--warnings=w", "-l", path)
        for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS", "SEE ALSO"):
            assert f"\n{section}\n" in f"\n{shown}"
