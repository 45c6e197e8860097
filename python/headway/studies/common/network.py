"""XCP and RCP in the thesis' studies: routers set a flow's rate in every packet.

Scharf (2011), section 4.6. XCP's routers have the parameters of XCP's authors, which the thesis
names and which are the defaults (C-TH-028). XCP's flows have an initial window of one packet
(6.4.2.1), also after idle times (6.3.1). A loss does not change the window: the thesis ran both
protocols over an abstract transport (6.1.1.1), and says only that TCP-like reactions to loss are
"not specified so far" (6.3.2, 6.5.3.3). C-TH-285 depends on this choice, and also shows the result
with the draft's reaction, halving.

The thesis prints RCP's parameters for no figure. We use 0.4 and 0.226, for which it evaluates
eq. 6.15, and a target of the whole link, as for Quick-Start (6.4.3.2). Routers update rates every
10 ms, as in the code of RCP's authors. After idle times flows continue with their last rate
(6.3.1). Queues are unlimited ("B = infinity", figures 6.20, 6.45 and 6.61) unless a study sets a
limit, and hosts announce the largest window.
"""

from collections.abc import Mapping
from typing import Any

from headway.experiment import Dumbbell

SCHEMES = {"xcp": "XCP", "rcp": "RCP"}
"""Labels of XCP and RCP by name. A control and its router's algorithm have the same name."""
UNLIMITED_PKTS = 1_000_000
WINDOW = "8388480 B"
"""The largest window that can be announced with the hosts' window scale."""
ALPHA, BETA = 0.4, 0.226
"""Parameters of XCP and RCP in the thesis' studies."""
HALVE, KEEP = 0, 1
"""Values of XCP's ``on_loss``."""
_WINDOWS: Mapping[str, Mapping[str, int]] = {"xcp": {"initial_pkts": 1, "on_loss": KEEP}, "rcp": {}}
_ROUTERS: Mapping[str, Mapping[str, int]] = {
    # The control interval of XCP's routers is the mean round-trip time (4.6.2), however long. The
    # draft limits it to 1 s.
    "xcp": {"most_interval_ms": 10_000},
    "rcp": {
        "alpha": round(1000 * ALPHA),
        "beta": round(1000 * BETA),
        "gamma": 1000,
        # RCP's first rate is the whole link, because eq. 4.21 converges to it on an idle link.
        # RCP's authors start with 5 %.
        "first_rate": 1000,
    },
}


def control(scheme: str, **tunables: int) -> dict[str, Any]:
    """The control of a scheme's flow; ``tunables`` override the defaults."""
    return {"name": scheme, "tunables": {**_WINDOWS[scheme], **tunables}}


def router(scheme: str, *, told_bps: float | None = None) -> dict[str, Any]:
    """The router of a scheme. With ``told_bps`` it assumes this rate for its link."""
    told = {} if told_bps is None else {"capacity_kbps": round(told_bps / 1000)}
    return {"name": scheme, "tunables": {**_ROUTERS[scheme], **told}}


def guided(path: Dumbbell, scheme: str, *, told_bps: float | None = None) -> Dumbbell:
    """The path with the scheme's routers in both directions and without Quick-Start."""
    fields = path.model_dump(mode="json")
    own = {"routers": [router(scheme, told_bps=told_bps)], "quick_start": None}
    fields |= own
    if fields["reverse"] is not None:
        fields["reverse"] |= own
    return Dumbbell.model_validate(fields)
