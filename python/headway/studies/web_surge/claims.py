"""Check: C-QSL-019 to 026, C-TH-167 to 174 and 280, statements on Web users.

Two schemes load the same pages. The interval of a difference is therefore that of the differences
of ten pairs of batches of pages.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Literal

import numpy as np

from headway.claims import Change, Claims, Seen, edited, near, words
from headway.claims.words import Check
from headway.metrics.stats import Array, Estimate, confidence_interval
from headway.studies.common import lab
from headway.studies.common.runs import listed
from headway.studies.quickstart_linux.experiments import CONTROLS, LABELS
from headway.studies.web_surge import experiments as web
from headway.studies.web_surge.experiments import JUMP, LATE, MODELS, QUICK, SLOW, Found, Loads
from headway.workloads import surge

CLAIMS: Claims[Found] = Claims(__name__)
FAST = (QUICK, JUMP)
KEPT = ("1.1", "1.1p")
SERVERS = 25
"""The number of draws of a server's files over which the mean size of a page is computed."""
Pairs = Mapping[str, tuple[Estimate, float]]
"""Mean times with a faster start and with slow start, as ``words.less`` takes them."""
Pages = Literal["", "small_", "large_"]


def spread(pairs: Pairs) -> str:
    """The smallest and the largest saved time, as text."""
    saved_s = saved(pairs).values()
    return f"{min(saved_s):+.2f} to {max(saved_s):+.2f} s"


def saved(pairs: Pairs) -> dict[str, float]:
    """The times that the faster start saves in s."""
    return {name: slow_s - fast.mean for name, (fast, slow_s) in pairs.items()}


def at_most_half_a_second(pairs: Pairs) -> list[Check]:
    """The claims list's meaning of "rather small" for an absolute difference."""
    return [words.within(abs(own), -math.inf, 0.5, "< 0.5 s") for own in saved(pairs).values()]


def over_a_second(pairs: Pairs) -> list[Check]:
    """Check that the faster start saves more than a second."""
    return [words.within(own, 1, math.inf, "> 1 s") for own in saved(pairs).values()]


def significantly(pairs: Pairs) -> Check:
    """Check that the faster start takes significantly less time in every comparison."""
    return words.every([words.significantly_less(*pair) for pair in pairs.values()])


def _difference(slow: Loads, fast: Loads, pages: Pages = "") -> Estimate | None:
    """The time saved, from batch to batch; None: too few pages."""
    pairs = list(zip(*(getattr(one, f"{pages}batches_s") for one in (slow, fast)), strict=False))
    return confidence_interval([one - other for one, other in pairs]) if pairs else None


def _pair(slow: Loads, fast: Loads, pages: Pages = "") -> tuple[Estimate, float]:
    """Mean times of both schemes; the first has the interval of their difference."""
    own = _difference(slow, fast, pages)
    fast_s, slow_s = (getattr(one, f"{pages or 'mean_'}s") for one in (fast, slow))
    return Estimate(fast_s, None, own.half_width if own else None, fast.count), slow_s


def _series(values: Iterable[float], form: str = "") -> str:
    return ", ".join(f"{value:{form}}" for value in values)


# ---- One user (Scharf, Strotbek 2008) ----


def _paper(found: Found, model: str, https: Iterable[str] = web.HTTP) -> Pairs:
    """Page times of one user with slow start and with Quick-Start, by HTTP version and control."""
    return {
        f"{http} {LABELS[c]}": _pair(
            found.paper(model, c, http, SLOW), found.paper(model, c, http, QUICK)
        )
        for http, c in product(https, CONTROLS)
    }


@CLAIMS.judge("C-QSL-019")
def _every(found: Found) -> Seen:
    models = {label: _paper(found, model) for model, label in MODELS.items()}
    checks = [words.less(*pair) for pairs in models.values() for pair in pairs.values()]
    # The claims list asks for intervals that do not overlap with large files.
    ends_s = [
        (quick.mean_s + quick.half_width_s, slow.mean_s - slow.half_width_s)
        for slow, quick in zip(found.six(SLOW), found.six(QUICK), strict=True)
    ]
    bound = "95 % intervals apart with large files"
    apart = [dataclasses.replace(words.less(*ends), bound=bound) for ends in ends_s]
    spreads = {label: spread(pairs) for label, pairs in models.items()}
    return Seen.by(
        f"faster in {sum(one.holds for one in checks)} of {len(checks)}; large files: "
        f"intervals apart in {sum(one.holds for one in apart)} of {len(apart)}",
        words.every(checks),
        *apart,
        note=f"Time saved: {listed(spreads, '{}', '; ')}.",
    )


@CLAIMS.judge("C-QSL-020")
def _small(found: Found) -> Seen:
    pairs = _paper(found, "default")
    return Seen.by(spread(pairs), *at_most_half_a_second(pairs))


@CLAIMS.judge("C-QSL-022")
def _first(found: Found) -> Seen:
    pairs = _paper(found, "large", ["1.0"])
    return Seen.by(spread(pairs), *over_a_second(pairs))


@CLAIMS.judge("C-QSL-023")
def _kept(found: Found) -> Seen:
    pairs = _paper(found, "large", KEPT)
    parts = {name: 100 * (1 - quick.mean / slow) for name, (quick, slow) in pairs.items()}
    return Seen.by(listed(parts, "{:.0f} % saved"), significantly(pairs))


# ---- Several users (Scharf, Strotbek 2008) ----


def _six_s(found: Found, scheme: str) -> Array:
    """Mean page times over the six combinations of HTTP and control, by number of users."""
    return np.array([found.mean_of_six(scheme, n).mean for n in found.users("large")])


@CLAIMS.judge("C-QSL-024")
def _rise(found: Found) -> Seen:
    users = found.users("large")
    slow, quick = (_six_s(found, scheme) for scheme in (SLOW, QUICK))
    return Seen.by(
        f"slow start {_series(slow, '.2f')}, Quick-Start {_series(quick, '.2f')} s for "
        f"{_series(users)} users",
        words.grows_with(users, slow.tolist()),
        words.grows_with(users, quick.tolist()),
        note="The paper does not name the Web model of figure 13. The study uses that of large "
        "files.",
    )


@CLAIMS.judge("C-QSL-025")
def _less(found: Found) -> Seen:
    gain = _six_s(found, SLOW) - _six_s(found, QUICK)
    users = found.users("large")
    six = [found.six(QUICK, n) for n in users]
    approved = [float(np.mean([one.approved for one in own])) for own in six]
    return Seen.by(
        f"{_series(gain, '+.2f')} s for {_series(users)} users; approved: "
        + ", ".join(f"{100 * part:.0f} %" for part in approved),
        words.less(gain[-1], gain[0]),
        words.falls_with(users, gain.tolist()),
        words.falls_with(users, approved),
    )


@CLAIMS.judge("C-QSL-026")
def _half(found: Found) -> Seen:
    limited = zip(found.six(SLOW), found.six(QUICK, share=0.5), strict=True)
    pairs = dict(zip(_paper(found, "large"), (_pair(*both) for both in limited), strict=True))
    shown = {name: (quick.mean, slow) for name, (quick, slow) in pairs.items()}
    means = {
        f"{100 * share:.0f} %:": found.mean_of_six(QUICK, share=share).mean
        for share in (*web.SHARES, 1.0)
    }
    return Seen.by(
        f"{listed(shown, '{:.2f} of {:.2f}')} s",
        *(words.less(*pair) for pair in pairs.values()),
        note=f"Mean time of the six combinations by the share of the capacity that Quick-Start "
        f"can grant: {listed(means, '{:.2f} s')}.",
    )


@functools.cache
def _page_sizes() -> Array:
    """Mean size of the requested pages of SURGE's default, by server, bytes."""
    servers = [surge.server("default", f"{n}") for n in range(1, SERVERS + 1)]
    return np.array([server.mean_page_bytes for server in servers])


@CLAIMS.judge("C-QSL-021", "C-TH-167")
def _page_size(_: Found) -> Seen:
    sizes = _page_sizes() / 1e3
    median = float(np.median(sizes))
    return Seen.by(
        f"{median:.1f} ({sizes.min():.1f} to {sizes.max():.1f})",
        words.of_the_order_of(median, 17),
        unit="kB",
        note=f"Shown: the median over {SERVERS} draws of the files, with the smallest and the "
        "largest draw, because the mean size of a draw depends on its largest files. The number "
        "of files of a page includes its "
        "base, as in SURGE's program.",
    )


@CLAIMS.judge("C-TH-168")
def _file_size(_: Found) -> Seen:
    whole = float(np.mean([surge.server("large", f"{n}").mean_page_bytes for n in range(1, 6)]))
    return near(
        surge.LARGE_FILES.mean / 1e3,
        CLAIMS.number("C-TH-168"),
        relative=0.01,
        unit="kB",
        note="Shown: the mean size of table 6.2's log-normal files, because HTTP/1.0 transfers "
        f"each file over its own connection. A page with its embedded files has {whole / 1e3:.0f} "
        "kB.",
    )


# ---- The thesis' user ----


def _thesis(
    found: Found,
    model: str,
    https: Iterable[str] = web.HTTP,
    schemes: Iterable[str] = FAST,
    pages: Pages = "",
) -> Pairs:
    """Page times of one user with slow start and with a faster start, by "scheme model HTTP"."""
    return {
        f"{scheme} {model} {http}": _pair(
            found.thesis(model, http, SLOW), found.thesis(model, http, scheme), pages
        )
        for scheme, http in product(schemes, https)
    }


def _spreads(found: Found, model: str, https: Iterable[str] = web.HTTP) -> str:
    return listed({s: spread(_thesis(found, model, https, [s])) for s in FAST}, "{}", "; ")


@CLAIMS.judge("C-TH-169")
def all_gain(found: Found) -> Seen:
    """Check that Jump- and Quick-Start are faster with each model and each version of HTTP."""
    pairs = [_thesis(found, model, schemes=[s]) for s, model in product(FAST, MODELS)]
    checks = {name: words.less(*pair) for own in pairs for name, pair in own.items()}
    slower = [name for name, check in checks.items() if not check.holds]
    return Seen.by(
        f"{len(checks) - len(slower)} of {len(checks)}",
        words.every(checks),
        note=f"Not faster by more than the interval: {', '.join(slower)}." if slower else "",
    )


@CLAIMS.judge("C-TH-170")
def _rather_small(found: Found) -> Seen:
    checks = at_most_half_a_second(_thesis(found, "default"))
    return Seen.by(_spreads(found, "default"), *checks)


@CLAIMS.judge("C-TH-171")
def _over_a_second(found: Found) -> Seen:
    pairs = _thesis(found, "large", ["1.0"])
    saved_s = dict(zip(FAST, saved(pairs).values(), strict=True))
    return Seen.by(listed(saved_s, "{:.2f} s"), *over_a_second(pairs))


@CLAIMS.judge("C-TH-172")
def _persistent(found: Found) -> Seen:
    return Seen.by(_spreads(found, "large", KEPT), significantly(_thesis(found, "large", KEPT)))


@CLAIMS.judge(
    "C-TH-280",
    tries=[
        Change(
            "small pages of up to three packets, 4.3 kB",
            keys="thesis-default-*-n1",
            observe=lambda key, trace: web.observe(key, trace, (0, 3 * lab.MSS_BYTES)),
        ),
        Change(
            "hosts of linux-6, whose slow start begins with ten packets",
            edited({"stack": "linux-6"}),
            "thesis-*-n1",
        ),
    ],
)
def _small_and_big(found: Found) -> Seen:
    small = _thesis(found, "default", pages="small_")
    large = _thesis(found, "large", pages="large_")

    def percent(pairs: Pairs) -> str:
        parts = [f"{100 * (1 - fast.mean / slow):.0f}" for fast, slow in pairs.values()]
        half = len(parts) // 2
        by_scheme = zip(FAST, (parts[:half], parts[half:]), strict=True)
        return listed({scheme: ", ".join(own) for scheme, own in by_scheme}, "{} %")

    widths = [
        max(100 * (fast.half_width or math.nan) / slow for fast, slow in pairs.values())
        for pairs in (small, large)
    ]
    return Seen.by(
        f"5 to 20 kB: {percent(small)}; from 50 kB on: {percent(large)}",
        words.every([words.hardly(1 - fast.mean / slow) for fast, slow in small.values()]),
        significantly(large),
        note="Judged with HTTP/1.0, HTTP/1.1 and pipelining. Small pages are those of SURGE's "
        "default model, large pages those of the model with large files. The 95 % intervals reach "
        f"up to ±{widths[0]:.0f} and "
        f"±{widths[1]:.0f} percentage points.",
    )


# ---- The thesis' users ----


def _loaded(found: Found, model: surge.Model, scheme: str) -> dict[int, tuple[Loads, Loads]]:
    """Page times with slow start and with a faster start, by the number of users."""
    return {
        n: (found.thesis(model, "1.1", SLOW, n), found.thesis(model, "1.1", scheme, n))
        for n in found.users(model)[1:]
    }


def _equal_or_worse(slow: Loads, quick: Loads) -> Check:
    """Check that a scheme is not faster: at most 2 % less time, or a 95 % interval around 0.

    These are the bounds of "identical". More time is allowed.
    """
    mine, than = _pair(slow, quick)
    least = 1 - max(words.IDENTICAL, (mine.half_width or 0.0) / than)
    bound = "not 2 % less, or within the 95 % interval"
    check = words.within(mine.mean / than, least, math.inf, bound)
    return dataclasses.replace(check, words=frozenset({"more"}))


@CLAIMS.judge(
    "C-TH-173",
    tries=[
        Change(
            "16 instead of 10 users of large files and 200 instead of 100 of SURGE's "
            "default (loads of 76 and 66 %)",
            web.with_users({10: ("large", 16), 100: ("default", 200)}),
            [
                web.thesis_key(model, "1.1", scheme, users)
                for model, users in (("large", 10), ("default", 100))
                for scheme in (SLOW, QUICK, LATE)
            ],
        )
    ],
)
def denied(found: Found) -> Seen:
    """Quick-Start at high load takes as long as slow start, or longer."""
    shown, checks = [], []
    for model, label in MODELS.items():
        early, late = (_loaded(found, model, scheme) for scheme in (QUICK, LATE))
        for own in (early, late):
            by_load = {float(users): _equal_or_worse(*pair) for users, pair in own.items()}
            checks.append(words.at_high_load(by_load))
        for users in list(early)[-2:]:
            slow = early[users][0]
            ratios = [own[users][1].mean_s / slow.mean_s for own in (early, late)]
            shown.append(
                f"{label}, {users} users ({100 * slow.utilization:.0f} % load): early "
                f"{ratios[0]:.2f}, late {ratios[1]:.2f}"
            )
    return Seen.by("; ".join(shown), *checks)


@CLAIMS.judge("C-TH-174")
def still_faster(found: Found) -> Seen:
    """Jump-Start at high load takes less time than slow start."""
    shown, checks, differences = [], [], []
    for model, label in MODELS.items():
        pairs = _loaded(found, model, JUMP)
        by_load = {float(users): words.less(*_pair(*pair)) for users, pair in pairs.items()}
        checks.append(words.at_high_load(by_load))
        for slow, jump in list(pairs.values())[-2:]:
            shown.append(
                f"{label}: {jump.mean_s:.2f} of {slow.mean_s:.2f} s at "
                f"{100 * slow.utilization:.0f} % load"
            )
            if (one := _difference(slow, jump)) is not None:
                differences.append(f"{one.mean:.2f} ±{one.half_width:.2f} s")
    return Seen.by(
        "; ".join(shown),
        *checks,
        note=f"Time saved in each judged case, with 95 % interval: {', '.join(differences)}."
        if differences
        else "",
    )
