"""Completions and manual pages hold every command and option."""

from pathlib import Path

import pytest

from headway import catalogue
from headway.cli import pages
from headway.cli.commands import COMMANDS

BASH = "bash-completion/completions/headway"
ZSH = "zsh/site-functions/_headway"
FISH = "fish/vendor_completions.d/headway.fish"


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    pages.write(folder)
    return folder


def test_every_command_and_option_is_in_every_page(share: Path) -> None:
    every = pages.pages()
    assert [page.name for page in every] == list(COMMANDS)
    scripts = [(share / name).read_text(encoding="utf-8") for name in (BASH, ZSH, FISH)]
    for page in every:
        manual = (share / f"man/man1/headway-{page.name}.1").read_text(encoding="utf-8")
        assert any("--help" in option.names for option in page.options)
        for option in page.options:
            assert option.help
            for name in option.names:
                assert name.replace("-", "\\-") in manual
                for script in scripts:
                    assert name in script or f"-l {name[2:]} " in script


def test_studies_are_not_forgotten(share: Path) -> None:
    text = (share / BASH).read_text(encoding="utf-8")
    assert all(name in text for name in catalogue.studies())
