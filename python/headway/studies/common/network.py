"""XCP and RCP in the thesis' studies: routers say in every packet how fast a flow may go.

Scharf (2011), section 4.6. XCP's routers have the parameters of its authors, which the thesis names
and which are the defaults (C-TH-028), its flows an initial window of one packet (6.4.2.1), also
after idle times (6.3.1). A loss changes no window: the thesis ran both over an abstract transport
(6.1.1.1) and says of loss only that TCP-like answers to it are "not specified so far" (6.3.2,
6.5.3.3). C-TH-285 turns on that, and shows what the draft's answer, halving, gives. RCP's
parameters are printed for no figure: 0.4 and 0.226, with which eq. 6.15 is evaluated, and a target
of all of the link, as Quick-Start's (6.4.3.2); rates are found anew every 10 ms, as in its authors'
code. Flows go on after idle times with the last rate they got (6.3.1). Queues hold all there is
("B = infinity", figures 6.20, 6.45 and 6.61) unless a study says otherwise, and hosts announce the
largest window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.experiment import Dumbbell

SCHEMES = {"xcp": "XCP", "rcp": "RCP"}
"""A control and the router's algorithm have one name."""
UNLIMITED_PKTS = 1_000_000
WINDOW = "8388480 B"
"""The largest window that can be said with the hosts' window scale."""
ALPHA, BETA = 0.4, 0.226
"""Of both protocols here."""
HALVE, KEEP = 0, 1
"""XCP's ``on_loss``."""
_WINDOWS: Mapping[str, Mapping[str, int]] = {
    "xcp": {"initial_pkts": 1, "on_loss": KEEP},
    "rcp": {},
}
_ROUTERS: Mapping[str, Mapping[str, int]] = {
    # the interval is the mean round-trip time (4.6.2), however long; the draft ends it at 1 s
    "xcp": {"most_interval_ms": 10_000},
    "rcp": {
        "alpha": round(1000 * ALPHA),
        "beta": round(1000 * BETA),
        "gamma": 1000,
        # to which eq. 4.21 leads before an idle link; the first flow of its authors finds 5 %
        "first_rate": 1000,
    },
}


def control(scheme: str, **tunables: int) -> dict[str, Any]:
    """What a flow of a scheme runs, but for ``tunables`` of its own."""
    return {"name": scheme, "tunables": {**_WINDOWS[scheme], **tunables}}


def router(scheme: str, *, told_bps: float | None = None) -> dict[str, Any]:
    """The router of a scheme; one that is wrong about its link takes ``told_bps`` for its rate."""
    told = {} if told_bps is None else {"capacity_kbps": round(told_bps / 1000)}
    return {"name": scheme, "tunables": {**_ROUTERS[scheme], **told}}


def guided(path: Dumbbell, scheme: str, *, told_bps: float | None = None) -> Dumbbell:
    """The path with such routers in both directions, which know no Quick-Start."""
    fields = path.model_dump(mode="json")
    own = {"routers": [router(scheme, told_bps=told_bps)], "quick_start": None}
    fields |= own
    if fields["reverse"] is not None:
        fields["reverse"] |= own
    return Dumbbell.model_validate(fields)
