"""Check: C-QSL-019 to 026, C-TH-167 to 174 and 280, statements on Web users."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence

import numpy as np

from headway.claims import Seen, Statement, all_of, near, replaced, scaled, swapped, words
from headway.claims.why import Change, Why, edited
from headway.claims.words import Check
from headway.studies.common import lab
from headway.studies.quickstart_linux.experiments import CONTROLS, LABELS
from headway.studies.web_surge.experiments import MODELS, SHARES, share_key, with_users
from headway.studies.web_surge.observe import Found, Loads, observe
from headway.studies.web_surge.thesis import (
    EACH,
    FAST,
    KEPT,
    QUICK,
    SLOW,
    all_gain,
    at_most_half_a_second,
    denied,
    faster,
    over_a_second,
    persistent,
    rather_small,
    significantly_faster,
    small_and_big,
    spread,
    still_faster,
)
from headway.workloads import surge

SERVERS = 25
"""The number of draws of a server's files over which the mean size of a page is computed."""


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
    checks = {
        f"{name} {model}": faster(slow, quick)
        for model, pairs in (("default", small), ("large", large))
        for name, (slow, quick) in pairs.items()
    }
    apart = [_apart(slow, quick) for slow, quick in large.values()]
    told = "; ".join(f"{MODELS[model]} {spread(_saved(found, model))}" for model in MODELS)
    return Seen.by(
        f"faster in {sum(one.holds for one in checks.values())} of {len(checks)}; large files: "
        f"intervals apart in {sum(one.holds for one in apart)} of {len(apart)}",
        words.every(checks),
        *apart,
        note=f"Saved: {told}.",
    )


def _apart(slow: Loads, quick: Loads) -> Check:
    """The claims list asks for intervals that do not overlap with large files."""
    bound = "95 % intervals apart with large files"
    return dataclasses.replace(words.less(quick.high_s, slow.low_s), bound=bound)


def _small(found: Found) -> Seen:
    saved = _saved(found, "default")
    return Seen.by(spread(saved), *(at_most_half_a_second(value) for value in saved.values()))


def _first(found: Found) -> Seen:
    saved = _saved(found, "large", ("1.0",))
    return Seen.by(
        spread(saved), *(words.within(value, 1, math.inf, "> 1 s") for value in saved.values())
    )


def _kept(found: Found) -> Seen:
    pairs = _pairs(found, "large", KEPT)
    return Seen.by(
        ", ".join(
            f"{name} {100 * (1 - quick.mean_s / slow.mean_s):.0f} % saved"
            for name, (slow, quick) in pairs.items()
        ),
        words.every({name: significantly_faster(*pair) for name, pair in pairs.items()}),
    )


# ---- The paper's users ----


def _rise(found: Found) -> Seen:
    users = found.users("large")
    slow, quick = (found.six_s(scheme) for scheme in (SLOW, QUICK))
    return Seen.by(
        f"slow start {_series(slow)}, Quick-Start {_series(quick)} s for "
        f"{', '.join(str(n) for n in users)} users",
        words.grows_with(users, slow.tolist()),
        words.grows_with(users, quick.tolist()),
        note="The paper does not name the Web model of figure 13. These are the large files.",
    )


def _series(values: np.ndarray) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def _less(found: Found) -> Seen:
    gain = found.six_s(SLOW) - found.six_s(QUICK)
    users = found.users("large")
    approved = [float(np.mean([one.approved for one in found.six(QUICK, n)])) for n in users]
    return Seen.by(
        ", ".join(f"{value:+.2f}" for value in gain)
        + f" s for {', '.join(str(n) for n in users)} users; approved: "
        + ", ".join(f"{100 * part:.0f} %" for part in approved),
        words.less(gain[-1], gain[0]),
        words.falls_with(users, gain.tolist()),
        words.falls_with(users, approved),
    )


def _half(found: Found) -> Seen:
    pairs = {
        f"{http} {LABELS[control]}": (
            found.alone("large", http, control, SLOW),
            found.rows[share_key(0.5, http, control)],
        )
        for http in EACH
        for control in CONTROLS
    }
    means = [
        f"{100 * share:.0f} %: {np.mean(list(found.share_s(share).values())):.2f} s"
        for share in (*SHARES, 1.0)
    ]
    return Seen.by(
        ", ".join(
            f"{name} {quick.mean_s:.2f} of {slow.mean_s:.2f}"
            for name, (slow, quick) in pairs.items()
        )
        + " s",
        *(faster(slow, quick) for slow, quick in pairs.values()),
        note=f"Mean of the six combinations by share: {', '.join(means)}.",
    )


# ---- Sizes ----


@functools.cache
def _page_sizes() -> np.ndarray:
    """Mean size of the requested pages of SURGE's default, by server, bytes."""
    return np.array(
        [surge.server("default", f"{n}").mean_page_bytes for n in range(1, SERVERS + 1)]
    )


def _page_size(_: Found) -> Seen:
    sizes = _page_sizes() / 1e3
    median = float(np.median(sizes))
    return Seen.by(
        f"{median:.1f} ({sizes.min():.1f} to {sizes.max():.1f})",
        words.of_the_order_of(median, 17),
        unit="kB",
        note=f"Median over {SERVERS} draws of the files, with the smallest and the largest: the "
        "mean of a draw depends on its largest files. The number of files of a page includes its "
        "base, as in SURGE's program.",
    )


def _file_size(_: Found) -> Seen:
    whole = float(np.mean([surge.server("large", f"{n}").mean_page_bytes for n in range(1, 6)]))
    return near(
        surge.LARGE_FILES.mean / 1e3,
        250,
        relative=0.01,
        unit="kB",
        note="The mean of table 6.2's log-normal files, because HTTP/1.0 transfers each file over "
        f"its own connection. A page with its embedded files has {whole / 1e3:.0f} kB.",
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-QSL-019",
        "one user: the mean object time with Quick-Start is always less than with slow start, "
        "with each HTTP version, model and control",
        "in all 12",
        _every,
        spoil=scaled("web-large-1.1p-cubic-*", 6.0, "half_width_s"),
        mend=scaled("web-*-quick-start", 0.5, "mean_s", "half_width_s"),
    ),
    Statement(
        "C-QSL-020",
        "SURGE default: the time that Quick-Start saves per object is rather small",
        "rather small",
        _small,
        spoil=scaled("web-default-1.0-*-slow-start", 2.0, "mean_s"),
        mend=replaced("web-default-*", 1.0, "mean_s"),
    ),
    Statement(
        "C-QSL-021",
        "SURGE default: the mean size of an object, a Web page",
        "of the order of 17 kB",
        _page_size,
        carrier="model",
    ),
    Statement(
        "C-QSL-022",
        "large files, HTTP/1.0: the time that Quick-Start saves per object",
        "more than 1 s",
        _first,
        spoil=scaled("web-large-1.0-reno-quick-start", 1.5, "mean_s"),
        mend=scaled("web-large-1.0-*-quick-start", 0.4, "mean_s"),
    ),
    Statement(
        "C-QSL-023",
        "large files, HTTP/1.1: Quick-Start reduces the time significantly, both without and with "
        "pipelining",
        "significant",
        _kept,
        spoil=scaled("web-large-1.1p-cubic-quick-start", 1.6, "mean_s"),
        mend=scaled("web-large-1.1*-quick-start", 0.7, "mean_s"),
    ),
    Statement(
        "C-QSL-024",
        "the mean download time of the six combinations increases with the number of users",
        "increases",
        _rise,
        spoil=scaled("load-*-n20", 0.3, "mean_s"),
        mend=scaled("load-*-n20", 3.0, "mean_s"),
    ),
    Statement(
        "C-QSL-025",
        "Quick-Start's benefit in the mean of the six combinations is smaller with more users, as "
        "fewer requests are approved",
        "decreases with the number of users",
        _less,
        spoil=scaled("load-*-quick-start-n20", 0.6, "mean_s"),
        mend=scaled("load-*-quick-start-n20", 1.5, "mean_s"),
    ),
    Statement(
        "C-QSL-026",
        "with only 50 % of the capacity for Quick-Start, downloads are still faster than with slow "
        "start",
        "improvement remains",
        _half,
        spoil=scaled("share-50-1.1p-cubic", 2.0, "mean_s"),
        mend=scaled("share-50-*", 0.5, "mean_s"),
    ),
    Statement(
        "C-TH-167",
        "SURGE default: the mean size of an object, a Web page",
        "of the order of 17 kB",
        _page_size,
        carrier="model",
        same_as="C-QSL-021",
    ),
    Statement(
        "C-TH-168",
        "large files: the mean size of an object",
        250,
        _file_size,
        carrier="model",
    ),
    Statement(
        "C-TH-169",
        "one user: the mean page time with Jump- and with Quick-Start is always less than with "
        "slow start, with each model and HTTP version",
        "in all 12",
        all_gain,
        spoil=swapped("slow-start", "jump-start"),
        mend=all_of(*(scaled(f"thesis-*-{scheme}-n1", 0.5, "mean_s") for scheme in FAST)),
    ),
    Statement(
        "C-TH-170",
        "SURGE default: the absolute difference is rather small",
        "rather small",
        rather_small,
        spoil=scaled("thesis-default-1.0-slow-start-n1", 2.0, "mean_s"),
        mend=replaced("thesis-default-*-n1", 1.0, "mean_s"),
    ),
    Statement(
        "C-TH-171",
        "large files, HTTP/1.0: the time that Jump- and Quick-Start save",
        "more than 1 s",
        over_a_second,
        spoil=scaled("thesis-large-1.0-jump-start-n1", 1.6, "mean_s"),
        mend=all_of(*(scaled(f"thesis-large-1.0-{scheme}-n1", 0.3, "mean_s") for scheme in FAST)),
    ),
    Statement(
        "C-TH-172",
        "large files, HTTP/1.1: Jump- and Quick-Start reduce the time significantly, both without "
        "and with pipelining",
        "significant",
        persistent,
        spoil=swapped("slow-start", "jump-start"),
        mend=all_of(*(scaled(f"thesis-large-*-{scheme}-n1", 0.5, "mean_s") for scheme in FAST)),
    ),
    Statement(
        "C-TH-173",
        "HTTP/1.1, at high load: page times with Quick-Start are equal to slow start's, or even "
        "worse, with early and with late activation",
        "equal or worse",
        denied,
        why=Why(
            "unknown setting",
            "At a load of 49 % the router approves half of the requests, and these save time. At "
            "loads above 80 % it approves a sixth of them. The thesis does not print how many "
            "users the figure has.",
            (
                Change(
                    "16 instead of 10 users of large files and 200 instead of 100 of SURGE's "
                    "default (loads of 76 and 66 %)",
                    with_users({10: ("large", 16), 100: ("default", 200)}),
                    ("thesis-large-1.1-*-n10", "thesis-default-1.1-*-n100"),
                ),
            ),
        ),
        spoil=scaled("thesis-*-quick-start-late-n*", 0.7, "mean_s"),
        mend=scaled("thesis-*-quick-start*-n*", 1.2, "mean_s"),
    ),
    Statement(
        "C-TH-174",
        "HTTP/1.1, at high load: Jump-Start is still faster than slow start",
        "faster",
        still_faster,
        spoil=swapped("slow-start", "jump-start"),
        mend=scaled("thesis-*-jump-start-n*", 0.5, "mean_s"),
    ),
    Statement(
        "C-TH-280",
        "pages of the order of 10 kB have hardly any benefit, transfers of the order of 100 kB or "
        "more are significantly accelerated",
        "hardly any, significant",
        small_and_big,
        why=Why(
            "refuted",
            "The hosts' slow start begins with three packets, as printed. For 10 kB it needs two "
            "or three round trips of 200 ms. Each round trip that is saved is more than a tenth of "
            "the page's time.",
            (
                Change(
                    "small pages of up to three packets, 4.3 kB",
                    keys="thesis-default-*-n1",
                    observe=lambda _, trace: observe(trace, (0, 3 * lab.MSS_BYTES)),
                ),
                Change(
                    "hosts of linux-6, whose slow start begins with ten packets",
                    edited({"stack": "linux-6"}),
                    "thesis-*-n1",
                ),
            ),
        ),
        figures={"of the order of": "the pages that are judged: 5 to 20 kB, and from 50 kB on"},
        spoil=scaled("thesis-default-1.1-slow-start-n1", 1.3, "small_s"),
        mend=all_of(
            replaced("thesis-default-*-n1", 1.0, "small_s"),
            *(scaled(f"thesis-large-*-{scheme}-n1", 0.5, "large_s") for scheme in FAST),
        ),
    ),
)
