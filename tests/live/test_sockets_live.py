"""Tests that sockets accept hints only if `headwayctl hints attach` has run.

The result depends on what is attached to this machine's kernel.
"""

import socket

import pytest

from headway import sockets


def test_without_attached_hints_nothing_fails() -> None:
    with socket.socket() as connection:
        if sockets.startup_info(connection) is not None:
            pytest.skip("headwayctl takes hints on this machine")
        assert not sockets.hint(connection, initial_rate_bps=1_000_000)
        assert sockets.hint(connection)  # a call without any hint succeeds
