"""Setup: a client downloads a megabyte from a server, with every startup.  Run: the times."""

from dataclasses import dataclass

import numpy as np

from headway.claims import Evidence
from headway.experiment import Experiment, Flow
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.study import StudyContext
from headway.trace import Trace

SIZE_BYTES = 1e6
RATE_BPS = 100e6
SEND_BUFFER_BYTES = (4096, 4 << 20, 4 << 20)
"""Linux's largest send buffer. Its initial send buffer, 46,080 bytes, would limit every fast
startup."""
FIRST_S, SPACING_S = 0.5, 4.0
"""A download, and then an idle link for longer than routers remember grants."""


@dataclass(frozen=True)
class Scheme:
    """A startup: a flow's control, and the least number of round trips."""

    label: str
    control: str
    initial_rate_bps: float | None = None
    announces: bool = False
    """Whether the application announces the volume of its data."""
    round_trips: int = 2
    """Round trips that every startup needs: one for the handshake, and one for the request and its
    response."""

    @property
    def least_s(self) -> float:
        """The data at the link's rate, and the round trips needed."""
        path = lab.model_path(rate_bps=RATE_BPS)
        wire_bytes = SIZE_BYTES * lab.MTU_BYTES / lab.MSS_BYTES
        return wire_bytes * 8 / RATE_BPS + self.round_trips * path.rtt_s


SCHEMES = {
    "slow-start": Scheme("Slow-Start", "slow-start"),
    "hystart": Scheme("HyStart", "hystart"),
    "hystart-plus-plus": Scheme("HyStart++", "hystart-plus-plus"),
    "initial-start": Scheme(
        "Initial-Start, 100 packets paced", "initial-start:is_window_pkts=100:is_paced=on"
    ),
    "jump-start": Scheme("Jump-Start", "jump-start", announces=True),
    "jump-start-original": Scheme(
        "Jump-Start, no bounds", "jump-start:js_max_bytes=0:js_max_rate_kbps=0", announces=True
    ),
    "careful-resume": Scheme(
        "Careful Resume, 1600 packets saved", "careful-resume:cr_saved_cwnd_pkts=1600"
    ),
    "mega-start": Scheme("Mega-Start", "mega-start", 95e6),
    "quick-start": Scheme("Quick-Start, early", "quick-start", RATE_BPS, True),
    "quick-start-late": Scheme(
        "Quick-Start, late", "quick-start:qs_activation=late", RATE_BPS, True, round_trips=3
    ),
}


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per startup, with one download after the other."""
    trials = 1 if ctx.quick else 3
    return {
        name: lab.experiment(
            lab.path(rate_bps=RATE_BPS, buffer_pkts=2000),
            [_flow(scheme, FIRST_S + SPACING_S * number) for number in range(trials)],
            duration_s=FIRST_S + SPACING_S * trials,
            stack="linux-6",
            seed=ctx.seed,
        )
        for name, scheme in SCHEMES.items()
    }


def _flow(scheme: Scheme, start_s: float) -> Flow:
    flow = lab.requests(
        [SIZE_BYTES],
        control=f"cubic+{scheme.control}",
        start_s=start_s,
        initial_rwnd="4 MB",
        data_volume_bytes=SIZE_BYTES if scheme.announces else None,
        delayed_ack=True,  # today's hosts
    )
    rate_bps = scheme.initial_rate_bps
    return flow.model_copy(
        update={"initial_rate": rate_bps and int(rate_bps), "wmem": SEND_BUFFER_BYTES}
    )


Found = Evidence[Array]
"""Times of each startup's complete downloads in ms, from the connection's opening to the end."""


def observe(_key: str, trace: Trace) -> Array:
    """The times of a startup's downloads."""
    rows = trace["responses"].sort("flow")
    return ((rows["end_ns"] - rows["start_ns"]) / 1e6).to_numpy().astype(np.float64)


def median_ms(times_ms: Array) -> float:
    """NaN if no download ended."""
    return float(np.median(times_ms)) if times_ms.size else float("nan")
