"""Rust tests report what they skip through tests/skipped.rs."""

from __future__ import annotations

import re

from support import ROOT


def test_no_rust_test_returns_for_lack_of_something_without_saying_so() -> None:
    """Whoever prints "skipped" by himself is not counted."""
    sources = [
        path
        for pattern in ("crates/*/tests/**/*.rs", "crates/*/src/**/*.rs")
        for path in ROOT.glob(pattern)
    ]
    assert sources
    by_hand = [path for path in sources if re.search(r'[("]skipped[: ]', path.read_text())]
    assert by_hand == []
    assert any("skipped::skipped(" in path.read_text() for path in sources)
