"""Headway: TCP flows that start fast and share links without delay.

This module has the public names for experiments in scripts; everything else is in submodules.
Names are imported when first used, so that the command line starts in a third of a second.
"""

from typing import TYPE_CHECKING

from headway.errors import ExperimentError, HeadwayError
from headway.lazy import lazily

if TYPE_CHECKING:
    from headway.backends import run, run_many
    from headway.experiment import (
        AckThinning,
        Aggregation,
        Aqm,
        Bulk,
        BurstLoss,
        Capture,
        Cbr,
        Chain,
        Control,
        Corruption,
        Dumbbell,
        Edge,
        Exchanges,
        Experiment,
        Flow,
        Hop,
        Jitter,
        LeafSpine,
        Link,
        Mtu,
        Network,
        Pages,
        Pingpong,
        Policer,
        Relay,
        Requests,
        Sessions,
        Shaper,
        Star,
        Transfers,
        Vectors,
        Voip,
    )
    from headway.trace import Trace, load_trace, save_trace
else:
    _OF = {
        "headway.backends": ("run", "run_many"),
        "headway.experiment": (
            "AckThinning",
            "Aggregation",
            "Aqm",
            "Bulk",
            "BurstLoss",
            "Capture",
            "Cbr",
            "Chain",
            "Control",
            "Corruption",
            "Dumbbell",
            "Edge",
            "Exchanges",
            "Experiment",
            "Flow",
            "Hop",
            "Jitter",
            "LeafSpine",
            "Link",
            "Mtu",
            "Network",
            "Pages",
            "Pingpong",
            "Policer",
            "Relay",
            "Requests",
            "Sessions",
            "Shaper",
            "Star",
            "Transfers",
            "Vectors",
            "Voip",
        ),
        "headway.trace": ("Trace", "load_trace", "save_trace"),
    }
    __getattr__ = lazily(__name__, {name: of for of, names in _OF.items() for name in names})


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "AckThinning",
    "Aggregation",
    "Aqm",
    "Bulk",
    "BurstLoss",
    "Capture",
    "Cbr",
    "Chain",
    "Control",
    "Corruption",
    "Dumbbell",
    "Edge",
    "Exchanges",
    "Experiment",
    "ExperimentError",
    "Flow",
    "HeadwayError",
    "Hop",
    "Jitter",
    "LeafSpine",
    "Link",
    "Mtu",
    "Network",
    "Pages",
    "Pingpong",
    "Policer",
    "Relay",
    "Requests",
    "Sessions",
    "Shaper",
    "Star",
    "Trace",
    "Transfers",
    "Vectors",
    "Voip",
    "load_trace",
    "run",
    "run_many",
    "save_trace",
]
