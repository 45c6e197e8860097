"""Check: C-QSL-019 to 026, C-TH-167 to 174 and 280, what is said of the Web."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from headway.claims import Seen, Statement, all_of, near, replaced, scaled, swapped
from headway.studies.quickstart_linux.experiments import CONTROLS, LABELS
from headway.studies.web_surge.experiments import MODELS, SHARES
from headway.studies.web_surge.observe import Found, Loads
from headway.studies.web_surge.thesis import (
    EACH,
    FAST,
    KEPT,
    QUICK,
    SLOW,
    all_gain,
    denied,
    over_a_second,
    persistent,
    rather_small,
    small_and_big,
    spread,
    still_faster,
)
from headway.workloads import surge

SERVERS = 25
"""How many draws of a server's files the mean size of a page is looked at in."""


# ---- The paper's user ----


def _pairs(found: Found, model: str, https: Sequence[str] = EACH) -> dict[str, tuple[Loads, Loads]]:
    """Slow start and Quick-Start of one user, by "HTTP control"."""
    return {
        f"{http} {LABELS[control]}": (
            found.alone(model, http, control, SLOW),
            found.alone(model, http, control, QUICK),
        )
        for http in https
        for control in CONTROLS
    }


def _saved(found: Found, model: str, https: Sequence[str] = EACH) -> dict[str, float]:
    """Seconds that Quick-Start saves one user, by "HTTP control"."""
    pairs = _pairs(found, model, https)
    return {name: slow.mean_s - quick.mean_s for name, (slow, quick) in pairs.items()}


def _every(found: Found) -> Seen:
    small, large = (_pairs(found, model) for model in MODELS)
    faster = [quick.mean_s < slow.mean_s for slow, quick in (*small.values(), *large.values())]
    apart = [quick.high_s < slow.low_s for slow, quick in large.values()]
    told = "; ".join(f"{MODELS[model]} {spread(_saved(found, model))}" for model in MODELS)
    return Seen(
        f"faster in {sum(faster)} of {len(faster)}; large files: intervals apart in {sum(apart)} "
        f"of {len(apart)}",
        all(faster) and all(apart),
        "sign; 95 % intervals with large files",
        note=f"Saved: {told}.",
    )


def _small(found: Found) -> Seen:
    saved = _saved(found, "default")
    return Seen(spread(saved), all(abs(value) < 0.5 for value in saved.values()), "< 0.5 s")


def _first(found: Found) -> Seen:
    saved = _saved(found, "large", ("1.0",))
    return Seen(spread(saved), all(value > 1 for value in saved.values()), "> 1 s")


def _kept(found: Found) -> Seen:
    kept = {
        name: quick.mean_s / slow.mean_s
        for name, (slow, quick) in _pairs(found, "large", KEPT).items()
    }
    return Seen(
        ", ".join(f"{name} {100 * value:.0f} %" for name, value in kept.items()),
        all(value <= 0.9 for value in kept.values()),
        "at least 10 % saved in each",
    )


# ---- The paper's users ----


def _rise(found: Found) -> Seen:
    slow, quick = (found.six_s(scheme) for scheme in (SLOW, QUICK))
    return Seen(
        f"slow start {_series(slow)}, Quick-Start {_series(quick)} s for "
        f"{', '.join(str(n) for n in found.users('large'))} users",
        bool(np.all(np.diff(slow) > 0) and np.all(np.diff(quick) > 0)),
        "monotone",
        note="The paper does not say which Web model; large files.",
    )


def _series(values: np.ndarray) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _less(found: Found) -> Seen:
    gain = found.six_s(SLOW) - found.six_s(QUICK)
    users = found.users("large")
    approved = [float(np.mean([one.approved for one in found.six(QUICK, n)])) for n in users]
    return Seen(
        ", ".join(f"{value:+.2f}" for value in gain)
        + f" s for {', '.join(str(n) for n in users)} users",
        bool(gain[0] > 0 and gain[-1] < 0.5 * gain[0]),
        "with most users less than half of one user's",
        note="Approved: " + ", ".join(f"{100 * part:.0f} %" for part in approved) + ".",
    )


def _half(found: Found) -> Seen:
    half = found.share_s(0.5)
    slow = {name: slow.mean_s for name, (slow, _) in _pairs(found, "large").items()}
    means = [
        f"{100 * share:.0f} %: {np.mean(list(found.share_s(share).values())):.2f} s"
        for share in (*SHARES, 1.0)
    ]
    return Seen(
        ", ".join(f"{name} {half[name]:.2f} of {slow[name]:.2f}" for name in half) + " s",
        all(half[name] < slow[name] for name in half),
        note=f"Mean of the six by share: {', '.join(means)}.",
    )


# ---- Sizes ----


@functools.cache
def _page_sizes() -> np.ndarray:
    """Mean size of a page of SURGE's default, as pages are asked for, by server, bytes."""
    return np.array(
        [surge.server("default", f"{n}").mean_page_bytes for n in range(1, SERVERS + 1)]
    )


def _page_size(_: Found) -> Seen:
    sizes = _page_sizes() / 1e3
    median = float(np.median(sizes))
    return Seen(
        f"{median:.1f} ({sizes.min():.1f} to {sizes.max():.1f})",
        10 <= median <= 25,
        "10 to 25",
        "kB",
        note=f"Median of {SERVERS} draws of the files (smallest and largest): the mean of one "
        "depends on its largest files. The number of files of a page counts its base, as in "
        "SURGE's program.",
    )


def _file_size(_: Found) -> Seen:
    whole = float(np.mean([surge.server("large", f"{n}").mean_page_bytes for n in range(1, 6)]))
    return near(
        surge.LARGE_FILES.mean / 1e3,
        250,
        relative=0.01,
        unit="kB",
        note="The mean of table 6.2's log-normal files: an object that HTTP/1.0 transfers over a "
        f"connection of its own is a file. A page with what it embeds has {whole / 1e3:.0f} kB.",
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-QSL-019",
        "mean object time: Quick-Start below slow start in every combination",
        "in all 12",
        _every,
        spoil=scaled("web-large-1.1p-cubic-*", 6.0, "half_width_s"),
        mend=scaled("web-*-quick-start", 0.5, "mean_s", "half_width_s"),
    ),
    Statement(
        "C-QSL-020",
        "SURGE default: what Quick-Start saves per object",
        "rather small",
        _small,
        spoil=scaled("web-default-1.0-*-slow-start", 2.0, "mean_s"),
        mend=replaced("web-default-*", 1.0, "mean_s"),
    ),
    Statement(
        "C-QSL-021",
        "SURGE default: mean size of an object, a Web page",
        "of the order of 17 kB",
        _page_size,
        carrier="model",
    ),
    Statement(
        "C-QSL-022",
        "large files, HTTP/1.0: what Quick-Start saves per object",
        "more than 1 s",
        _first,
        spoil=scaled("web-large-1.0-reno-quick-start", 1.5, "mean_s"),
        mend=scaled("web-large-1.0-*-quick-start", 0.4, "mean_s"),
    ),
    Statement(
        "C-QSL-023",
        "large files, HTTP/1.1 without and with pipelining: Quick-Start's part of the time",
        "significant",
        _kept,
        spoil=scaled("web-large-1.1p-cubic-quick-start", 1.6, "mean_s"),
        mend=scaled("web-large-1.1*-quick-start", 0.7, "mean_s"),
    ),
    Statement(
        "C-QSL-024",
        "mean download time of the six combinations over the number of users",
        "increases",
        _rise,
        spoil=scaled("load-*-n20", 0.3, "mean_s"),
        mend=scaled("load-*-n20", 3.0, "mean_s"),
    ),
    Statement(
        "C-QSL-025",
        "benefit of Quick-Start in the mean of the six over the number of users",
        "decreases",
        _less,
        spoil=scaled("load-*-quick-start-n20", 0.6, "mean_s"),
        mend=scaled("load-*-quick-start-n20", 1.5, "mean_s"),
    ),
    Statement(
        "C-QSL-026",
        "with half of the capacity for Quick-Start downloads are still faster than slow start's",
        "improvement remains",
        _half,
        spoil=scaled("share-50-1.1p-cubic", 2.0, "mean_s"),
        mend=scaled("share-50-*", 0.5, "mean_s"),
    ),
    Statement(
        "C-TH-167",
        "SURGE default: mean size of an object, a Web page",
        "about 17 kB",
        _page_size,
        carrier="model",
        same_as="C-QSL-021",
    ),
    Statement(
        "C-TH-168",
        "large files: mean size of an object",
        250,
        _file_size,
        carrier="model",
    ),
    Statement(
        "C-TH-169",
        "one user: Jump- and Quick-Start below slow start for every model and HTTP variant",
        "in all",
        all_gain,
        spoil=swapped("slow-start", "jump-start"),
        mend=all_of(*(scaled(f"thesis-*-{scheme}-n1", 0.5, "mean_s") for scheme in FAST)),
    ),
    Statement(
        "C-TH-170",
        "SURGE default: absolute difference",
        "rather small",
        rather_small,
        spoil=scaled("thesis-default-1.0-slow-start-n1", 2.0, "mean_s"),
        mend=replaced("thesis-default-*-n1", 1.0, "mean_s"),
    ),
    Statement(
        "C-TH-171",
        "large files, HTTP/1.0: speedup",
        "more than 1 s",
        over_a_second,
        spoil=scaled("thesis-large-1.0-jump-start-n1", 1.6, "mean_s"),
        mend=all_of(*(scaled(f"thesis-large-1.0-{scheme}-n1", 0.3, "mean_s") for scheme in FAST)),
    ),
    Statement(
        "C-TH-172",
        "large files, HTTP/1.1 without and with pipelining: improvement",
        "significant",
        persistent,
        spoil=swapped("slow-start", "jump-start"),
        mend=all_of(*(scaled(f"thesis-large-*-{scheme}-n1", 0.5, "mean_s") for scheme in FAST)),
    ),
    Statement(
        "C-TH-173",
        "HTTP/1.1, most users: Quick-Start's time over slow start's",
        "equal or worse",
        denied,
        spoil=scaled("thesis-*-quick-start-late-n*", 0.7, "mean_s"),
        mend=scaled("thesis-*-quick-start*-n*", 1.2, "mean_s"),
        ours="The list says sign; what is less than 5 % faster counts as equal.",
    ),
    Statement(
        "C-TH-174",
        "HTTP/1.1, most users: Jump-Start still faster than slow start",
        "faster",
        still_faster,
        spoil=swapped("slow-start", "jump-start"),
        mend=scaled("thesis-*-jump-start-n*", 0.5, "mean_s"),
    ),
    Statement(
        "C-TH-280",
        "pages of 10 kB hardly gain, transfers of 100 kB and more do",
        "hardly any, significantly",
        small_and_big,
        spoil=scaled("thesis-default-1.1-slow-start-n1", 1.3, "small_s"),
        mend=all_of(
            replaced("thesis-default-*-n1", 1.0, "small_s"),
            *(scaled(f"thesis-large-*-{scheme}-n1", 0.5, "large_s") for scheme in FAST),
        ),
    ),
)
