"""Setup on the kernel: the satellites' clients behind a gateway with or without a proxy.

Differences from the simulator's trials: responders do not announce their window a second time, and
no server names a rate. A LEO has no monitor here: a monitor can measure only at its own device's
queue, and the emulated link's queue is in another process. A monitor with a configured rate knows a
single rate.
"""

from __future__ import annotations

from typing import Any

from headway.experiment import Experiment
from headway.studies.rappep.orbits import LOADS, ORBITS, SCHEMES, key, trial
from headway.study import Agreement, StudyContext

OF_ORBIT = {
    "geo": ("cubic", "hybla", "cubic_pep", "xcp_pep", "mpcp_pep"),
    "leo": ("cubic", "hybla", "cubic_pep", "bbr_pep"),
}
LENGTHS = {"web": "90 s", "files": "60 s"}
"""Upper limits: a run ends when its clients end."""
QUICK_PART = 5
"""The quick form has the clients that begin within one such part of the time."""
RUN = 1
AGREEMENTS = tuple(
    Agreement(
        f"kernel-{orbit}-{load}-{scheme}",
        f"{LOADS[load].name}, {orbit.upper()}, {SCHEMES[scheme]}: a client's mean time on the "
        "kernel matches the simulator's.",
        table=f"{LOADS[load].name}, {ORBITS[orbit].name}",
        row=SCHEMES[scheme],
        # a round trip
        most=ORBITS[orbit].rtt_ms / 1000,
        unit="s",
        relative=0.12,
        columns=("mean s",),
    )
    for orbit, schemes in OF_ORBIT.items()
    for load in LOADS
    for scheme in schemes
)


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per satellite, load and scheme."""
    return {
        key(orbit, load, scheme, RUN): _on_kernel(
            trial(orbit, load, scheme, RUN, seed=ctx.seed), load, is_quick=ctx.quick
        )
        for orbit, schemes in OF_ORBIT.items()
        for load in LOADS
        for scheme in schemes
    }


def _on_kernel(whole: Experiment, load: str, *, is_quick: bool) -> Experiment:
    fields: dict[str, Any] = whole.model_dump(exclude_unset=True)
    for hop in fields["topology"]["hops"]:
        for link in hop.values():
            if "vary" in link:
                link.pop("routers", None)
    left_out = {"extra_ack", "initial_rate"}
    until_ns = round(LOADS[load].starts_s * 1e9) // QUICK_PART
    fields["flows"] = [
        {name: value for name, value in flow.items() if name not in left_out}
        for flow, start_ns in zip(fields["flows"], whole.start_times_ns(), strict=True)
        if start_ns < until_ns or not is_quick
    ]
    return Experiment.model_validate({**fields, "duration": LENGTHS[load]})
