"""Check: single transfers with XCP and RCP, against Quick-Start and the theoretical minimum."""

from __future__ import annotations

import numpy as np

from headway.claims import Change, Seen, Statement, Why, edited, swapped, words
from headway.claims.spoil import Rows
from headway.metrics.stats import Array
from headway.models._checks import Floats
from headway.studies.common import lab
from headway.studies.common.changes import both_ways, round_trip_of
from headway.studies.transfer_times.experiments import BUFFERS_PKTS, over_sizes_key
from headway.studies.transfer_times.results import Results
from headway.studies.transfer_times.schemes import LATE

RTT_S = lab.RTT_MS / 1e3


def least_s(sizes_bytes: Floats) -> Floats:
    """The theoretical minimum: a round trip, and the data at the link's rate."""
    return np.asarray(RTT_S + sizes_bytes * 8 * lab.MTU_BYTES / lab.MSS_BYTES / lab.LINK_BPS)


def _kilobytes(sizes_bytes: Array) -> str:
    return ", ".join(f"{size / 1e3:g}" for size in sizes_bytes)


def _xcp(found: Results) -> Seen:
    xcp, late = found.times("xcp"), found.times(LATE)
    outside = found.sizes_bytes[~(np.abs(xcp / late - 1) <= words.SIMILAR)]
    return Seen.by(
        f"{(xcp / late).min():.2f} to {(xcp / late).max():.2f} times",
        *(words.similar(a, b) for a, b in zip(xcp, late, strict=True)),
        note=f"Further off at {_kilobytes(outside)} kB." if outside.size else "",
    )


def _rcp(found: Results) -> Seen:
    rcp, least = found.times("rcp"), least_s(found.sizes_bytes)
    over = rcp / least - 1
    return Seen.by(
        f"{100 * over.min():+.1f} to {100 * over.max():+.1f} %",
        *(words.identical(a, b) for a, b in zip(rcp, least, strict=True)),
    )


_XCP, _LATE = (over_sizes_key(s, lab.RTT_MS, BUFFERS_PKTS[0]) for s in ("xcp", LATE))


def _as_late(rows: Rows) -> Rows:
    """Replace XCP's times by late Quick-Start's."""
    return {**rows, _XCP: rows[_LATE]}


STATEMENTS: tuple[Statement[Results], ...] = (
    Statement(
        "C-TH-130",
        "XCP, which needs a round trip before it is given a rate: response times compared with "
        "late Quick-Start's",
        "similar to Quick-Start with late activation",
        _xcp,
        why=Why(
            "refuted",
            "Eq. 4.20 gives a flow 40 % of the unused capacity per round trip, while Quick-Start "
            "begins with 52 % of the link and doubles. A transfer of two packets exceeds XCP's "
            "initial window of one packet, but not slow start's.",
            [
                Change(
                    "an initial window of two packets for XCP",
                    edited({"flows.*.control.tunables.initial_pkts": 2}),
                    _XCP,
                ),
                Change(
                    "alpha of 0.5 in XCP's routers",
                    both_ways({"routers.0.tunables.alpha": 500}),
                    _XCP,
                ),
                Change(
                    "requests of 2.56 Mbit/s",
                    edited({"flows.*.control.tunables.qs_rate_kbps": 2560}),
                    _LATE,
                ),
                Change(
                    "a round-trip time of 100 ms",
                    round_trip_of(100),
                    (_XCP, _LATE),
                ),
            ],
            nothing_helps=True,
        ),
        spoil=swapped("xcp", "slow-start"),
        mend=_as_late,
    ),
    Statement(
        "C-TH-131",
        "RCP: response times compared with the theoretical minimum",
        "almost identical",
        _rcp,
        spoil=swapped("rcp", "quick-start"),
    ),
)
