"""Drives a real Chromium: opens pages, evaluates scripts, reports what fails.

Measures no time; the driver's own time limits are seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.browser import chromium
from headway.errors import HeadwayError

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(chromium.program() is None, reason="chromium is not installed"),
]


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    with chromium.browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def test_what_a_page_kept_is_forgotten_anew(window: chromium.Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<title>kept</title>", encoding="utf-8")
    window.open(page)
    assert window.value("document.title") == "kept"
    window.value("localStorage.setItem('one', '1')")
    window.new_context()
    window.open(page)
    assert window.value("localStorage.getItem('one')") is None


def test_what_goes_wrong_in_a_page_is_one_line(window: chromium.Browser) -> None:
    with pytest.raises(HeadwayError, match="missing is not defined") as raised:
        window.value("missing()")
    assert "\n" not in str(raised.value)


def test_a_page_that_cannot_be_had_is_named(window: chromium.Browser) -> None:
    with pytest.raises(HeadwayError, match=r"127\.0\.0\.1:9/: net::ERR"):
        window.open("http://127.0.0.1:9/")
