"""The extension's files agree with each other and with the Python side."""

from __future__ import annotations

import json
import re
from pathlib import Path

import headway.web
from headway.web import target

FOLDER = Path(headway.web.__file__).parent / "extension"


def test_both_sides_mean_the_same_header_and_limit() -> None:
    assert f'"{target.HEADER}"' in (FOLDER / "background.js").read_text()
    assert f"MOST_MS = {target.MOST_MS};" in (FOLDER / "settings.js").read_text()


def test_every_file_that_the_extension_names_is_there() -> None:
    manifest = json.loads((FOLDER / "manifest.json").read_text())
    named = [manifest["background"]["service_worker"], manifest["action"]["default_popup"]]
    named += manifest["content_scripts"][0]["js"]
    for source in FOLDER.iterdir():
        named += re.findall(r'(?:from "\./|src=")([\w.]+)"', source.read_text())
    assert {FOLDER / name for name in named} | {FOLDER / "manifest.json"} == set(FOLDER.iterdir())
