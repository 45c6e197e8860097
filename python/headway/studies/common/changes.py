"""Edits of dumbbell experiments that counterfactuals of several studies share."""

from collections.abc import Mapping
from typing import Any

from headway.claims import edited
from headway.claims.why import Edit

DELAYED_ACKS = edited({"flows.*.delayed_ack": True})
NO_SACK = edited({"flows.*.sack": False})


def both_ways(fields: Mapping[str, Any]) -> Edit:
    """Set fields of the link in both directions: ``both_ways({"buffer": "15 pkts"})``."""
    return edited(
        {
            f"topology.{way}{name}": value
            for way in ("", "reverse.")
            for name, value in fields.items()
        }
    )


def queues_of(pkts: int) -> Edit:
    """Queues of ``pkts`` packets in both directions."""
    return both_ways({"buffer": f"{pkts} pkts"})


def round_trip_of(ms: float) -> Edit:
    """A base round-trip time, half of it in each direction."""
    return edited({"topology.rtt": f"{ms:g} ms", "topology.reverse.delay": f"{ms / 2:g} ms"})
