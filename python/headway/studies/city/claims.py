"""Check: orders and differences of response times, judged by means over the runs."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from headway.claims import Claim, Claims, MissingTrialError, Seen, words
from headway.metrics.stats import Estimate, confidence_interval
from headway.models.quick_start import RATES_BPS, rate_code
from headway.studies.city import experiments
from headway.studies.city.experiments import BASE, JUMP, LABELS, LITTLE, QUICK, SHORT, Found, Walks
from headway.studies.common import sites

CLAIMS: Claims[Found] = Claims(__name__)
LARGEST = "towers-near"
COLUMNS = ("median", "longest", "in all")


def shown(estimate: Estimate) -> str:
    """A mean with its 95 % interval as text; without an interval if there is only one run."""
    width = "" if estimate.half_width is None else f" ± {estimate.half_width:.2f}"
    return f"{estimate.mean:.2f}{width}"


def _saved_s(found: Found, one: str, other: str) -> Estimate:
    """The largest time that one startup saves over another in a quarter, mean of paired runs."""
    before, after = found[other], found[one]
    order = [after.runs[0].names.index(name) for name in before.runs[0].names]
    runs = min(len(before.runs), len(after.runs))
    saved_s = before.each_s[:runs] - after.each_s[:runs, order]
    return confidence_interval(saved_s[:, int(np.argmax(saved_s.mean(axis=0)))].tolist())


def _longest(walks: Walks) -> tuple[float, float]:
    """The slowest quarter's response time and its least possible time, in s."""
    at = int(np.argmax(walks.response_s))
    volume_bytes = walks.runs[0].volumes_bytes[at]
    return float(walks.response_s[at]), sites.least_s(volume_bytes, sites.RTT_MS)


@CLAIMS.judge("C-TH-256")
def _over_the_least(found: Found) -> Seen:
    took_s, least_s = _longest(found[BASE])
    most_mbps = max(float(run.rate_mbps.max()) for run in found[BASE].runs)
    return Seen.by(
        took_s / least_s,
        words.much_more(took_s, least_s),
        words.much_more(sites.RATE_BPS / 1e6 - most_mbps, most_mbps),
        note=f"The slowest part takes {took_s:.2f} s; path and receive buffer need {least_s:.2f} "
        f"s. The link carries {most_mbps:.0f} Mbit/s at most.",
    )


@CLAIMS.judge("C-TH-257")
def _best_of_jump_start(found: Found) -> Seen:
    saved = _saved_s(found, JUMP, BASE)
    took_s, least_s = _longest(found[BASE])
    left = Estimate(took_s - saved.mean, None, saved.half_width, saved.count)
    return Seen.by(
        saved.mean,
        words.within(saved.mean, 5.0, math.inf, "≥ 5 s, by the claims list"),
        words.significantly_less(left, took_s),
        unit="s",
        note=f"Jump-Start saves {shown(saved)} s. With Slow-Start the slowest part takes "
        f"{took_s:.2f} s, of which path and receive buffer need {least_s:.2f} s. So no startup can "
        f"save more than {took_s - least_s:.2f} s.",
    )


def _in_order(found: Found, names: Sequence[str]) -> str:
    return " < ".join(f"{LABELS[name]} {shown(found[name].total)} s" for name in names)


@CLAIMS.judge("C-TH-258")
def _few_seconds(found: Found) -> Seen:
    longest_s = float(found[QUICK].response_s.max())
    return Seen.by(
        f"{_in_order(found, (QUICK, JUMP))}; the longest {longest_s:.2f} s",
        words.few_seconds(longest_s),
        words.less(found[QUICK].total, found[JUMP].total),
    )


@CLAIMS.judge("C-TH-259")
def _between(found: Found) -> Seen:
    names = (QUICK, LITTLE, BASE)
    totals = [found[name].total for name in names]
    return Seen.by(
        _in_order(found, names),
        *(words.less(one, other) for one, other in itertools.pairwise(totals)),
    )


@CLAIMS.judge("C-TH-260")
def _short_path(found: Found) -> Seen:
    """The largest time saved in a quarter of the city, over 50 ms and over 200 ms."""
    fast = (JUMP, QUICK)
    saved = {name: _saved_s(found, SHORT[name], SHORT[BASE]) for name in fast}
    most = max(saved.values(), key=lambda one: one.mean)
    far = max((_saved_s(found, name, BASE) for name in fast), key=lambda one: one.mean)
    each = ", ".join(f"{LABELS[name]} {shown(one)} s" for name, one in saved.items())
    return Seen.by(
        most.mean,
        words.hardly(max(most.mean / 1.0 - 1, 0.0)),
        words.less(most, far),
        unit="s",
        note=f"{each}; over 200 ms at most {shown(far)} s.",
    )


@CLAIMS.judge("C-TH-261")
def _asked(_: Found) -> Seen:
    mbps = RATES_BPS[rate_code(sites.ASKED_BPS)] / 1e6
    checks = words.of_the_order_of(mbps, 100), words.quantity(mbps, 82, 0.01)
    return Seen.by(mbps, *checks, unit="Mbit/s")


@CLAIMS.judge("C-TH-262")
def _largest(found: Found) -> Seen:
    run = found[BASE].runs[0]
    if LARGEST not in run.names:
        raise MissingTrialError("This run's walk ends before the city's largest quarter.")
    size_mb = run.volumes_bytes[run.names.index(LARGEST)] / 1e6
    return Seen.by(size_mb, words.within(size_mb, 80, math.inf, "> 80 MB"), unit="MB")


@CLAIMS.judge("city-times")
def _times(found: Found) -> Seen:
    """Response times of the city's quarters in each walk; none is below the least possible time."""
    rows, spare = {}, [found[BASE].response_s[:0]]
    for key, (name, rtt_ms) in experiments.WALKS.items():
        if key in found:
            walks, over = found[key], "" if key == name else f" over {rtt_ms} ms"
            times_s = (np.median(walks.response_s), walks.response_s.max())
            cells = [*(f"{time_s:.2f}" for time_s in times_s), shown(walks.total)]
            rows[LABELS[name] + over] = dict(zip(COLUMNS, cells, strict=True))
            least_s = [sites.least_s(each, rtt_ms) for each in walks.runs[0].volumes_bytes]
            spare.append(walks.each_s.min(axis=0) / least_s)
    least = float(np.concatenate(spare).min())
    return Seen.by(sites.told(rows), words.within(least, 1, math.inf, "≥ the least"))


def times_table(claims: Sequence[Claim]) -> str:
    """Table of a page: each startup's response times, as median, longest and sum."""
    return sites.table_told(claims, "city-times", COLUMNS)
