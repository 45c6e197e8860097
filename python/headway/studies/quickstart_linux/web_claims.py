"""Check: C-QSL-019 to 026, C-TH-167 to 174 and 280, what is said of the Web."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from headway.claims import Seen, Statement, between, replaced, scaled, swapped
from headway.metrics.stats import Array
from headway.studies.quickstart_linux.experiments import CONTROLS, LABELS
from headway.studies.quickstart_linux.observe import Found
from headway.studies.quickstart_linux.web import HTTP, LOAD_HTTP, MODELS, one_key
from headway.workloads import surge

FAST = ("quick-start", "jump-start")
KEPT = ("1.1", "1.1p")


def _gains(found: Found, model: str, scheme: str, https: Iterable[str]) -> dict[str, float]:
    """Slow start's mean page time less the scheme's, by "HTTP control"."""
    return {
        f"{http} {LABELS[control]}": found.page_s(model, http, control, "slow-start")
        - found.page_s(model, http, control, scheme)
        for http in https
        for control in CONTROLS
    }


def _spread(gains: dict[str, float]) -> str:
    return f"{min(gains.values()):+.2f} to {max(gains.values()):+.2f} s"


# ---- One user ----


def _every(found: Found) -> Seen:
    gains = {model: _gains(found, model, "quick-start", HTTP) for model in MODELS}
    positive = [gain > 0 for own in gains.values() for gain in own.values()]
    return Seen(
        f"{sum(positive)} of {len(positive)}",
        all(positive),
        note=f"SURGE default: {_spread(gains['default'])}; large: {_spread(gains['large'])}.",
    )


def _small(found: Found) -> Seen:
    gains = _gains(found, "default", "quick-start", HTTP)
    return Seen(_spread(gains), max(gains.values()) < 0.5, "< 0.5 s")


def _size(found: Found) -> Seen:
    row = found.pages(one_key("default", "1.1", "reno", "slow-start"))
    return between(
        row.mean_bytes / 1e3,
        10,
        25,
        unit="kB",
        note="Heavy tails; the papers print no sizes of files. See the choices.",
    )


def _first(found: Found) -> Seen:
    first = _gains(found, "large", "quick-start", ("1.0",))
    return Seen(_spread(first), min(first.values()) > 0.8, "> 0.8 s")


def _kept(found: Found) -> Seen:
    kept = [
        found.page_s("large", http, "reno", "quick-start")
        / found.page_s("large", http, "reno", "slow-start")
        for http in KEPT
    ]
    return Seen(
        ", ".join(f"{100 * value:.0f} %" for value in kept),
        max(kept) <= 0.9,
        "at least 10 % saved",
        note="Reno.",
    )


# ---- Many ----


def _mean_load(found: Found, scheme: str) -> Array:
    return np.asarray(np.mean([found.load_s(http, scheme) for http in LOAD_HTTP], axis=0))


def _rise(found: Found) -> Seen:
    slow = _mean_load(found, "slow-start")
    return Seen(
        ", ".join(f"{value:.2f}" for value in slow)
        + f" s for {', '.join(str(n) for n in found.users)} users",
        bool(np.all(np.diff(slow) > -0.05 * slow[:-1]) and slow[-1] > slow[0]),
        "monotone within 5 %",
        note="CUBIC and the two variants of HTTP/1.1.",
    )


def _less(found: Found) -> Seen:
    gain = _mean_load(found, "slow-start") - _mean_load(found, "quick-start")
    return Seen(
        ", ".join(f"{value:+.2f}" for value in gain) + " s",
        bool(gain[-1] < 0.5 * gain[0]),
        "at most users below half of one user's",
    )


def _half(found: Found) -> Seen:
    full = found.page_s("large", "1.1", "cubic", "slow-start")
    shares = found.shares_s()
    return Seen(
        f"{shares[0.5]:.2f} s, slow start {full:.2f} s",
        shares[0.5] < full,
        note=", ".join(f"{100 * s:.0f} %: {t:.2f} s" for s, t in shares.items()),
    )


# ---- The thesis ----


def _file_size(_: Found) -> Seen:
    return between(surge.LARGE_FILES.mean / 1e3, 240, 260, unit="kB")


def _all_gain(found: Found) -> Seen:
    every = [
        value
        for scheme in FAST
        for model in MODELS
        for value in _gains(found, model, scheme, HTTP).values()
    ]
    return Seen(f"{sum(value > 0 for value in every)} of {len(every)}", min(every) > 0)


def _rather_small(found: Found) -> Seen:
    gains = {s: _gains(found, "default", s, HTTP) for s in FAST}
    return Seen(
        "; ".join(f"{s} {_spread(own)}" for s, own in gains.items()),
        max(max(own.values()) for own in gains.values()) < 0.5,
        "< 0.5 s",
    )


def _over_a_second(found: Found) -> Seen:
    first = {s: _gains(found, "large", s, ("1.0",)) for s in FAST}
    return Seen(
        "; ".join(f"{s} {_spread(own)}" for s, own in first.items()),
        min(min(own.values()) for own in first.values()) > 0.8,
        "> 0.8 s",
    )


def _persistent(found: Found) -> Seen:
    later = {s: _gains(found, "large", s, KEPT) for s in FAST}
    return Seen(
        "; ".join(f"{s} {_spread(own)}" for s, own in later.items()),
        min(min(own.values()) for own in later.values()) > 0,
    )


def _denied(found: Found) -> Seen:
    slow, early, late = (
        found.load_s("1.1", scheme)[-1]
        for scheme in ("slow-start", "quick-start", "quick-start-late")
    )
    return Seen(
        f"early {early / slow:.2f}, late {late / slow:.2f}",
        min(early, late) >= 0.95 * slow,
        "≥ 0.95",
    )


def _still_faster(found: Found) -> Seen:
    slow, jump = (found.load_s("1.1", scheme)[-1] for scheme in ("slow-start", "jump-start"))
    return Seen(f"{jump:.2f} s, slow start {slow:.2f} s", jump < slow)


def _small_and_big(found: Found) -> Seen:
    small, big = (
        found.page_s(model, "1.1", "cubic", "quick-start")
        / found.page_s(model, "1.1", "cubic", "slow-start")
        for model in ("default", "large")
    )
    return Seen(
        f"{100 * (1 - small):.0f} % and {100 * (1 - big):.0f} % saved by Quick-Start",
        1 - small < 0.10 and 1 - big > 0.30,
        "as published",
        note="HTTP/1.1, CUBIC, mean page times.",
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-QSL-019",
        "mean object time: Quick-Start below slow start in every combination",
        "in all 12",
        _every,
        spoil=swapped("slow-start", "quick-start"),
    ),
    Statement(
        "C-QSL-020",
        "SURGE default: what Quick-Start saves per object",
        "rather small",
        _small,
        spoil=scaled("web-default-*-slow-start", 2.0, "mean_s"),
    ),
    Statement(
        "C-QSL-021",
        "SURGE default: mean size of an object",
        "of the order of 17 kB",
        _size,
        spoil=scaled("web-default-*", 2.0, "mean_bytes"),
        mend=scaled("web-default-*", 0.5, "mean_bytes"),
    ),
    Statement(
        "C-QSL-022",
        "large files, HTTP/1.0: what Quick-Start saves per object",
        "more than 1 s",
        _first,
        spoil=scaled("web-large-1.0-*-quick-start", 1.5, "mean_s"),
    ),
    Statement(
        "C-QSL-023",
        "large files, HTTP/1.1 without and with pipelining: Quick-Start's part of the time",
        "significant",
        _kept,
        spoil=scaled("web-large-1.1*-quick-start", 1.6, "mean_s"),
    ),
    Statement(
        "C-QSL-024",
        "download times over the number of users",
        "increase",
        _rise,
        spoil=replaced("load-*-slow-start-n15", 0.5, "mean_s"),
        mend=replaced("load-*-slow-start-n1", 0.5, "mean_s"),
    ),
    Statement(
        "C-QSL-025",
        "benefit of Quick-Start over the number of users",
        "decreases",
        _less,
        spoil=swapped("n1", "n15"),
    ),
    Statement(
        "C-QSL-026",
        "with half of the capacity for Quick-Start downloads are still faster",
        "improvement remains",
        _half,
        spoil=scaled("share-50", 1.6, "mean_s"),
    ),
    Statement(
        "C-TH-167",
        "SURGE default: mean size of an object",
        "about 17 kB",
        _size,
        same_as="C-QSL-021",
        spoil=scaled("web-default-*", 2.0, "mean_bytes"),
        mend=scaled("web-default-*", 0.5, "mean_bytes"),
    ),
    Statement(
        "C-TH-168",
        "large files: mean size of a file",
        250,
        _file_size,
        carrier="model",
    ),
    Statement(
        "C-TH-169",
        "one user: Jump- and Quick-Start below slow start for every model and HTTP variant",
        "in all",
        _all_gain,
        spoil=swapped("slow-start", "quick-start"),
    ),
    Statement(
        "C-TH-170",
        "SURGE default: absolute difference",
        "rather small",
        _rather_small,
        spoil=scaled("web-default-*-slow-start", 2.0, "mean_s"),
    ),
    Statement(
        "C-TH-171",
        "large files, HTTP/1.0: speedup",
        "more than 1 s",
        _over_a_second,
        spoil=scaled("web-large-1.0-*-jump-start", 1.5, "mean_s"),
    ),
    Statement(
        "C-TH-172",
        "large files, HTTP/1.1 without and with pipelining",
        "significant",
        _persistent,
        spoil=swapped("slow-start", "jump-start"),
    ),
    Statement(
        "C-TH-173",
        "HTTP/1.1, most users: Quick-Start's time over slow start's",
        "equal or worse",
        _denied,
        spoil=scaled("load-1.1-quick-start*", 0.8, "mean_s"),
    ),
    Statement(
        "C-TH-174",
        "HTTP/1.1, most users: Jump-Start still faster than slow start",
        "faster",
        _still_faster,
        spoil=swapped("slow-start", "jump-start"),
    ),
    Statement(
        "C-TH-280",
        "small pages hardly gain, transfers of 100 kB and more do",
        "< 10 % and > 30 %",
        _small_and_big,
        spoil=swapped("default", "large"),
    ),
)
