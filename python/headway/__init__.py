"""Headway: TCP flows that start fast and share links without delay.

The public names for experiments in a script; everything else is in the submodules.
"""

from headway.backends import run, run_many
from headway.errors import HeadwayError
from headway.experiment import (
    Bulk,
    Cbr,
    Chain,
    Control,
    Dumbbell,
    Experiment,
    Flow,
    Link,
    Pingpong,
    Vectors,
    Voip,
)
from headway.trace import Trace, load_trace, save_trace

__all__ = [
    "Bulk",
    "Cbr",
    "Chain",
    "Control",
    "Dumbbell",
    "Experiment",
    "Flow",
    "HeadwayError",
    "Link",
    "Pingpong",
    "Trace",
    "Vectors",
    "Voip",
    "load_trace",
    "run",
    "run_many",
    "save_trace",
]
