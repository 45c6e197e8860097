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
        Aggregation,
        Aqm,
        Bulk,
        BurstLoss,
        Capture,
        Cbr,
        Chain,
        Control,
        Dumbbell,
        Edge,
        Exchanges,
        Experiment,
        Flow,
        Hop,
        Jitter,
        LeafSpine,
        Link,
        Network,
        Pages,
        Pingpong,
        Policer,
        Relay,
        Requests,
        Sessions,
        Shaper,
        Star,
        Vectors,
        Voip,
    )
    from headway.trace import Trace, load_trace, save_trace
else:
    _OF = {
        "headway.backends": ("run", "run_many"),
        "headway.experiment": (
            "Aggregation",
            "Aqm",
            "Bulk",
            "BurstLoss",
            "Capture",
            "Cbr",
            "Chain",
            "Control",
            "Dumbbell",
            "Edge",
            "Exchanges",
            "Experiment",
            "Flow",
            "Hop",
            "Jitter",
            "LeafSpine",
            "Link",
            "Network",
            "Pages",
            "Pingpong",
            "Policer",
            "Relay",
            "Requests",
            "Sessions",
            "Shaper",
            "Star",
            "Vectors",
            "Voip",
        ),
        "headway.trace": ("Trace", "load_trace", "save_trace"),
    }
    __getattr__ = lazily(__name__, {name: of for of, names in _OF.items() for name in names})


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "Aggregation",
    "Aqm",
    "Bulk",
    "BurstLoss",
    "Capture",
    "Cbr",
    "Chain",
    "Control",
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
    "Vectors",
    "Voip",
    "load_trace",
    "run",
    "run_many",
    "save_trace",
]
