"""Setup: five files of 5 MB over a satellite link of 10 Mbit/s and 400 ms one way."""

import random
from collections.abc import Callable, Collection

from headway.claims.why import Edit
from headway.experiment import Dumbbell, Experiment
from headway.study import StudyContext

RATE_BPS = 10_000_000
ONE_WAY_MS = 400
FLOWS, SIZE_BYTES = 5, 5_000_000
BUFFER_PKTS = 1000
"""Linux's queue at a device (txqueuelen), which the testbed's routers had by default."""
STARTS_S = 2.5
"""Files start within this time, drawn uniformly. The paper does not print this time. It is fitted
to TCP PEP's completion times, together with TCP PEP's start (rappep's observe.py)."""
SIDE_DELAY_MS = 800
"""The largest delay that a side link adds, one way, drawn uniformly (section IV, figures 6 to
8)."""
LENGTH_S, SAMPLE_S = 400.0, 1.0
RUNS, QUICK_RUNS = 20, 5
SCHEMES = {"cubic26": "CUBIC", "vcp": "VCP", "xcp": "XCP", "mpcp": "MPCP"}
ROUTED = ("vcp", "xcp", "mpcp")
CONTROLS = {
    "cubic26": "cubic26:initial_ssthresh=100",
    "xcp": "xcp:on_loss=keep",
    "mpcp": "mpcp:on_loss=keep",
}
"""Controls with options; the study's choices give the reasons."""
LOSSES = (0.0, 1e-2)
SIDE_LOSS = 1e-3


def key(scheme: str, loss: float, run: int, *, delays: bool = False) -> str:
    """A trial's name: "mpcp-p1e-2-r3"; with side links' delays "xcp-delays-p1e-3-r1"."""
    power = f"p{loss:.0e}".replace("e-0", "e-").replace("e+00", "")
    return f"{scheme}-{'delays-' if delays else ''}{power}-r{run}"


def runs(ctx: StudyContext) -> range:
    """Numbers that count the runs, from 1 on."""
    return range(1, (QUICK_RUNS if ctx.quick else RUNS) + 1)


def path(scheme: str, loss: float) -> Dumbbell:
    """The satellite link, with loss for the data and the scheme's router at its queue."""
    return Dumbbell.model_validate(
        {
            "rate": f"{RATE_BPS} bit/s",
            "rtt": f"{2 * ONE_WAY_MS} ms",
            "buffer": f"{BUFFER_PKTS} pkts",
            "loss": loss,
            "routers": (scheme,) if scheme in ROUTED else (),
        }
    )


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per scheme, loss and run; runs have the same starts and delays for every scheme."""
    return trials_of(SCHEMES, runs(ctx), trial, seed=ctx.seed)


def trials_of(
    schemes: Collection[str], runs: range, trial: Callable[..., Experiment], *, seed: int
) -> dict[str, Experiment]:
    """The paper's paths for every scheme and run, by key; ``trial`` has the arguments of ours."""
    trials = {}
    for run in runs:
        for scheme in schemes:
            for loss in LOSSES:
                trials[key(scheme, loss, run)] = trial(scheme, loss, run, seed=seed)
            trials[key(scheme, SIDE_LOSS, run, delays=True)] = trial(
                scheme, SIDE_LOSS, run, seed=seed, delays=True
            )
    return trials


def trial(
    scheme: str,
    loss: float,
    run: int,
    *,
    seed: int,
    delays: bool = False,
    starts_s: float = STARTS_S,
) -> Experiment:
    """Five files at once, each from its own host."""
    chance = random.Random(f"{seed}/rap-over-satellite/{run}")
    starts = [round(starts_s * chance.random(), 6) for _ in range(FLOWS)]
    sides_ms = [round(SIDE_DELAY_MS * chance.random(), 3) for _ in range(FLOWS)]
    flows = [
        {
            "app": {"kind": "bulk", "size": f"{SIZE_BYTES} B"},
            "control": CONTROLS.get(scheme, scheme),
            "name": f"file {number + 1}",
            "start": f"{starts[number]:g} s",
            "delay": f"{sides_ms[number] if delays else 0:g} ms",
            # the paper tunes the receive buffer for the path (section IV, references 21 and 22), so
            # no receive window limits a flow
            "initial_rwnd": "4 MB",
        }
        for number in range(FLOWS)
    ]
    return Experiment.model_validate(
        {
            "topology": path(scheme, loss),
            "flows": flows,
            "duration": f"{LENGTH_S:g} s",
            "stack": "linux-2.6",
            "seed": seed * 1000 + run,
            "sample": f"{SAMPLE_S:g} s",
        }
    )


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
        links = (
            [path]
            if "hops" not in path
            else [path["hops"][-1][way] for way in ("forward", "reverse")]
        )
        for link in links:
            link["buffer"] = f"{pkts} pkts"
        return Experiment.model_validate(data)

    return edit
