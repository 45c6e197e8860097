"""Setup: a client downloads a megabyte from a server, with every startup."""

from __future__ import annotations

from dataclasses import dataclass

from headway.experiment import Experiment, Flow
from headway.studies.common import lab
from headway.study import StudyContext

SIZE_BYTES = 1e6
RATE_BPS = 100e6
BUFFER_PKTS = 2000
RECEIVE_WINDOW = "4 MB"
SEND_BUFFER_BYTES = 4 << 20
"""Linux's largest. Its first one, 46,080 bytes, would hold back every fast startup."""
TRIALS, QUICK_TRIALS = 3, 1
FIRST_S, SPACING_S = 0.5, 4.0
"""A download, and then an idle link for longer than routers remember grants."""


@dataclass(frozen=True)
class Scheme:
    """A startup: a flow's control, and the least number of round trips."""

    label: str
    control: str
    round_trips: int = 2
    """The handshake, and the request with its response."""
    initial_rate_bps: float | None = None
    announces: bool = False


_MEGA_BPS = 95e6
SCHEMES = {
    "slow-start": Scheme("Slow-Start", "cubic+slow-start"),
    "hystart": Scheme("HyStart", "cubic+hystart"),
    "hystart-plus-plus": Scheme("HyStart++", "cubic+hystart-plus-plus"),
    "initial-start": Scheme(
        "Initial-Start, 100 packets paced", "cubic+initial-start:is_window_pkts=100:is_paced=on"
    ),
    "jump-start": Scheme("Jump-Start", "cubic+jump-start", announces=True),
    "jump-start-original": Scheme(
        "Jump-Start, no bounds",
        "cubic+jump-start:js_max_bytes=0:js_max_rate_kbps=0",
        announces=True,
    ),
    "careful-resume": Scheme(
        "Careful Resume, 1600 packets saved", "cubic+careful-resume:cr_saved_cwnd_pkts=1600"
    ),
    "mega-start": Scheme("Mega-Start", "cubic+mega-start", initial_rate_bps=_MEGA_BPS),
    "quick-start": Scheme(
        "Quick-Start, early",
        "cubic+quick-start",
        initial_rate_bps=RATE_BPS,
        announces=True,
    ),
    "quick-start-late": Scheme(
        "Quick-Start, late",
        "cubic+quick-start:qs_activation=late",
        round_trips=3,
        initial_rate_bps=RATE_BPS,
        announces=True,
    ),
}


def least_s(scheme: Scheme) -> float:
    """The data at the link's rate, and the round trips needed."""
    path = lab.model_path(rate_bps=RATE_BPS)
    wire_bytes = SIZE_BYTES * lab.MTU_BYTES / lab.MSS_BYTES
    return wire_bytes * 8 / RATE_BPS + scheme.round_trips * path.rtt_s


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per startup, with one download after the other."""
    trials = QUICK_TRIALS if ctx.quick else TRIALS
    return {
        name: lab.experiment(
            lab.path(rate_bps=RATE_BPS, buffer_pkts=BUFFER_PKTS),
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
        control=scheme.control,
        start_s=start_s,
        receive_window=RECEIVE_WINDOW,
        data_volume_bytes=SIZE_BYTES if scheme.announces else None,
        delayed_ack=True,  # today's hosts
    )
    rate_bps = scheme.initial_rate_bps
    return flow.model_copy(
        update={"initial_rate": rate_bps and int(rate_bps), "send_buffer": SEND_BUFFER_BYTES}
    )
