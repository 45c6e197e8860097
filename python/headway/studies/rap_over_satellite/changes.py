"""Changes of the setup that both studies of paper 004 try where a statement does not hold."""

from __future__ import annotations

from headway.claims import Change, Why
from headway.claims.why import Edit
from headway.experiment import Experiment
from headway.studies.rap_over_satellite.experiments import STARTS_S


def starts_within(spread_s: float) -> Edit:
    """Start the files within another time, by scaling each start."""

    def edit(experiment: Experiment) -> Experiment:
        data = experiment.model_dump(mode="json")
        for flow, start_ns in zip(data["flows"], experiment.start_times_ns(), strict=True):
            flow["start"] = f"{round(start_ns * spread_s / STARTS_S)} ns"
        return Experiment.model_validate(data)

    return edit


def queue_of(pkts: int) -> Edit:
    """Give the satellite's link another queue."""

    def edit(experiment: Experiment) -> Experiment:
        data = experiment.model_dump(mode="json")
        path = data["topology"]
        links = [path] if "hops" not in path else [path["hops"][-1][way] for way in WAYS]
        for link in links:
            link["buffer"] = f"{pkts} pkts"
        return Experiment.model_validate(data)

    return edit


WAYS = ("forward", "reverse")
WIDER_STARTS = Why(
    "unknown setting",
    "The mean time of five files depends on their starts, which the paper does not print. Starts "
    "within 2.5 s are fitted to TCP PEP's times. With equal shares of the link the files then take "
    "20 s.",
    (Change("starts within 15 s", starts_within(15), "mpcp-p0-*"),),
)
