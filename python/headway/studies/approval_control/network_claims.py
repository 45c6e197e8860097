"""Check: C-TH-028 to 031, 033 and 034: parameters of XCP and RCP, and the bytes they add."""

from __future__ import annotations

from functools import partial

from headway.claims import Seen, Statement, near, replaced, words
from headway.claims.why import Change, Why, edited
from headway.registry import registry
from headway.studies.approval_control.found import Found
from headway.studies.common.changes import NO_SACK


def _set_to(router: str, tunable: str) -> float:
    """A tunable's default in thousandths, as a number. Raises LookupError."""
    for one in registry().router(router).tunables:
        if one.name == tunable:
            return one.default / 1000
    raise LookupError(f"{router} has no {tunable}")


def _xcp_weights(_: Found) -> Seen:
    alpha, beta = (_set_to("xcp", name) for name in ("alpha", "beta"))
    exact = words.is_so((alpha, beta) == (0.4, 0.226), "exact")
    return Seen.by(f"{alpha:g} and {beta:g}", exact)


def _xcp_shuffles(_: Found) -> Seen:
    return near(100 * _set_to("xcp", "gamma"), 10, unit="%")


def _rcp_weights(_: Found) -> Seen:
    alpha, beta = (_set_to("rcp", name) for name in ("alpha", "beta"))
    recommended = 0.4 <= alpha <= 0.6 and 0.2 <= beta <= 0.6
    return Seen.by(f"{alpha:g} and {beta:g}", words.is_so(recommended, "0.4 to 0.6 and 0.2 to 0.6"))


def _overhead(found: Found, scheme: str, bytes_more: int) -> Seen:
    """How many bytes a scheme adds to the headers of plain TCP's data packets."""
    plain, own = (found.headers[f"header-{name}"].bytes_per_pkt for name in ("plain", scheme))
    return Seen.by(
        own - plain,
        words.is_so(own - plain == bytes_more, "exact"),
        unit="B",
        note=f"Headers of {own:g} instead of {plain:g} bytes: a TCP option with its kind and "
        "length, not a header between IP and TCP."
        if bytes_more
        else f"Headers of {own:g} and {plain:g} bytes.",
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-028",
        "XCP's weights, alpha and beta",
        "0.4 and 0.226",
        _xcp_weights,
        carrier="setting",
    ),
    Statement(
        "C-TH-029",
        "part of its traffic that XCP shuffles between flows, at most",
        10,
        _xcp_shuffles,
        carrier="setting",
    ),
    Statement(
        "C-TH-030",
        "RCP's weights, alpha and beta",
        "0.4 to 0.6 and 0.2 to 0.6",
        _rcp_weights,
        carrier="setting",
    ),
    Statement(
        "C-TH-031",
        "overhead of a packet with ECN",
        "0 B",
        partial(_overhead, scheme="ecn", bytes_more=0),
        spoil=replaced("header-ecn", 56.0, "bytes_per_pkt"),
    ),
    Statement(
        "C-TH-033",
        "overhead of every packet with XCP",
        "20 B",
        partial(_overhead, scheme="xcp", bytes_more=20),
        spoil=replaced("header-xcp", 52.0, "bytes_per_pkt"),
        mend=replaced("header-xcp", 72.0, "bytes_per_pkt"),
        why=Why(
            "refuted",
            "The draft's header between IP and TCP has 20 bytes. Here a TCP option carries the "
            "same four fields in 16 bytes, because two of them are rounded to two bytes each.",
            [
                Change("no timestamps", edited({"flows.*.timestamps": False}), "header-*"),
                Change("no SACK", NO_SACK, "header-*"),
            ],
            nothing_helps=True,
        ),
    ),
    Statement(
        "C-TH-034",
        "overhead of every packet with RCP",
        "12 B",
        partial(_overhead, scheme="rcp", bytes_more=12),
        spoil=replaced("header-rcp", 52.0, "bytes_per_pkt"),
    ),
)
