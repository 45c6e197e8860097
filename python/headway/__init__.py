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
        Aqm,
        Bulk,
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
        LeafSpine,
        Link,
        Network,
        Pages,
        Pingpong,
        Relay,
        Requests,
        Sessions,
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
            "Aqm",
            "Bulk",
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
            "LeafSpine",
            "Link",
            "Network",
            "Pages",
            "Pingpong",
            "Relay",
            "Requests",
            "Sessions",
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
    "Aqm",
    "Bulk",
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
    "LeafSpine",
    "Link",
    "Network",
    "Pages",
    "Pingpong",
    "Relay",
    "Requests",
    "Sessions",
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
