"""Check: C-TH-039, 070 to 083, 274, 275."""

import math
from collections.abc import Iterable

from headway.claims import (
    Claims,
    MissingTrialError,
    Seen,
    between,
    near,
    words,
)
from headway.studies.common import lab, network
from headway.studies.common.runs import listed
from headway.studies.startup_behaviour.experiments import (
    LABELS,
    LARGE_WINDOWS_PKTS,
    RTT_S,
    SCHEMES,
    SIZE_BYTES,
    UPLOAD,
    UPLOAD_EXTRA_ACK,
)
from headway.studies.startup_behaviour.observe import Download, Found

CLAIMS: Claims[Found] = Claims(__name__)
UNSCALED_BYTES = 65_535
_FAST = tuple(name for name in SCHEMES if name != lab.SLOW_START)


def _downloads(found: Found, name: str) -> tuple[Download, Download]:
    return found.schemes[name].downloads


@CLAIMS.judge("C-TH-039")
def _unscaled(found: Found) -> Seen:
    upload = found.uploads[UPLOAD]
    sent = upload.first_round_bytes
    return Seen.by(
        sent,
        words.within(sent, UNSCALED_BYTES - lab.MSS_BYTES, UNSCALED_BYTES),
        words.much_more(upload.paced_pkts * lab.MSS_BYTES, UNSCALED_BYTES),
        unit="bytes",
        note="The data is as many whole packets as fit into the receive window. The congestion "
        "window is "
        f"{upload.paced_pkts * lab.MSS_BYTES / 1e3:.0f} kB.",
    )


@CLAIMS.judge("C-TH-274")
def _window_after_pacing(found: Found) -> Seen:
    upload = found.uploads[UPLOAD]
    paced, left = (n * lab.MSS_BYTES for n in (upload.paced_pkts, upload.after_pacing_pkts))
    bound = f"{UNSCALED_BYTES} B rounded to segments"
    low, high = UNSCALED_BYTES - lab.MSS_BYTES + 1, UNSCALED_BYTES + lab.MSS_BYTES - 1
    return Seen.by(
        left,
        words.within(left, low, high, bound),
        words.much_more(paced, UNSCALED_BYTES),
        unit="bytes",
        note=f"The grant's window is {paced / 1e3:.0f} kB.",
    )


@CLAIMS.judge("C-TH-275")
def _extra_ack(found: Found) -> Seen:
    if UPLOAD_EXTRA_ACK not in found.uploads:
        raise MissingTrialError(
            "On the kernel this claim has no trial, because Linux sends no "
            "extra ACK after its SYN-ACK."
        )
    sent = found.uploads[UPLOAD_EXTRA_ACK].first_round_bytes
    exceeds = words.within(sent, UNSCALED_BYTES + 1, math.inf)
    return Seen.by(sent, words.some([exceeds]), unit="bytes")


@CLAIMS.judge("C-TH-070")
def _full(found: Found) -> Seen:
    full = [d.full_after_request_s for d in _downloads(found, lab.SLOW_START)]
    return Seen.by(
        f"{full[0]:.2f} s after setup, {full[1]:.2f} s after idle",
        *(words.about(value, 2) for value in full),
        note="Measured in slots of 200 ms.",
    )


@CLAIMS.judge("C-TH-071")
def _restart(found: Found) -> Seen:
    sent = _downloads(found, lab.SLOW_START)[1].first_round_bytes
    return between(sent / lab.MSS_BYTES, 1.9, 3.1, unit="packets")


@CLAIMS.judge("C-TH-072")
def _jump(found: Found) -> Seen:
    return between(
        _downloads(found, "jump-start")[0].first_round_bytes,
        UNSCALED_BYTES - lab.MSS_BYTES,
        UNSCALED_BYTES + lab.MSS_BYTES,
        unit="bytes",
        note="The data is 45 whole packets of 1448 bytes.",
    )


@CLAIMS.judge("C-TH-073")
def _jump_after_idle(found: Found) -> Seen:
    sent = _downloads(found, "jump-start")[1].first_round_bytes
    return between(sent, 10 * lab.MSS_BYTES, UNSCALED_BYTES + lab.MSS_BYTES, unit="bytes")


def _times_s(found: Found, names: Iterable[str] = SCHEMES) -> dict[str, tuple[float, float]]:
    """Response times after setup and after idle."""
    return {
        name: (one.response_s, two.response_s)
        for name in names
        for one, two in [_downloads(found, name)]
    }


def _both(times_s: dict[str, tuple[float, float]]) -> str:
    return listed({LABELS[name]: own for name, own in times_s.items()}, "{:.2f} and {:.2f} s")


@CLAIMS.judge("C-TH-074")
def _all_better(found: Found) -> Seen:
    full_s = {
        name: (one.full_after_request_s, two.full_after_request_s)
        for name in SCHEMES
        for one, two in [_downloads(found, name)]
    }
    slow = full_s[lab.SLOW_START]
    checks = [words.much_less(full_s[name][n], slow[n]) for name in _FAST for n in (0, 1)]
    return Seen.by(
        _both(full_s), words.every(checks), note="Measured in slots of 200 ms, as in figure 6.15."
    )


@CLAIMS.judge("C-TH-075")
def _optimum(found: Found) -> Seen:
    guided = [name for name in network.SCHEMES if name in found.schemes]
    times_s = _times_s(found, [*SCHEMES, *guided])
    mega = times_s.pop("mega-start")
    least_s = RTT_S + SIZE_BYTES * 8 * lab.MTU_BYTES / lab.MSS_BYTES / lab.LINK_BPS
    return Seen.by(
        f"{mega[0]:.3f} and {mega[1]:.3f} s; {_both(times_s)}",
        *(
            words.within(other[n], mega[n], math.inf, "no scheme finishes earlier")
            for other in times_s.values()
            for n in (0, 1)
        ),
        note=f"No scheme can finish sooner than after a round trip and 2 MB at the link's rate, "
        f"{least_s:.3f} s.",
    )


@CLAIMS.judge("C-TH-076")
def _initial(found: Found) -> Seen:
    times_s = _times_s(found)
    slow_s = times_s.pop(lab.SLOW_START)
    gains = {name: (slow_s[0] / own_s[0], slow_s[1] / own_s[1]) for name, own_s in times_s.items()}
    shown = listed({LABELS[name]: gain for name, gain in gains.items()}, "{:.2f} and {:.2f}")
    own = gains.pop("initial-start")
    return Seen.by(
        shown,
        *(words.more(own[n], 1) for n in (0, 1)),
        *(words.less(own[n], other[n]) for other in gains.values() for n in (0, 1)),
        unit="times",
        note="Judged by the responses after connection setup and after the idle time.",
    )


@CLAIMS.judge("C-TH-077")
def _smaller_buffer(found: Found) -> Seen:
    slow_s = found.small[lab.SLOW_START].response_s
    large_s = {w: found.small[str(w)].response_s for w in LARGE_WINDOWS_PKTS}
    return Seen.by(
        ", ".join(f"{own_s / slow_s:.2f} with {name}" for name, own_s in large_s.items())
        + f" packets, of slow start's {slow_s:.2f} s",
        # "or worse": a time above slow start's counts as equal to it
        *(words.similar(min(own_s, slow_s), slow_s) for own_s in large_s.values()),
    )


@CLAIMS.judge("C-TH-078")
def _granted(found: Found) -> Seen:
    return near(found.schemes["quick-start"].grants, 2)


@CLAIMS.judge("C-TH-079")
def _ramp(found: Found) -> Seen:
    first = _downloads(found, "quick-start")[0]
    ramp_ms = 1e3 * (first.full_after_s - RTT_S / 2)
    return Seen.by(
        ramp_ms,
        words.about(ramp_ms, 300),
        unit="ms",
        note="Measured in slots of 200 ms; the shown time is the middle of a slot.",
    )


@CLAIMS.judge("C-TH-080")
def _guided(found: Found) -> Seen:
    names = (lab.SLOW_START, "quick-start", *network.SCHEMES)
    times_s = _times_s(found, names)
    slow_s, quick_s, xcp_s, rcp_s = times_s.values()
    return Seen.by(
        _both(times_s),
        *(words.similar(rcp_s[n], quick_s[n]) for n in (0, 1)),
        *(words.slightly_less(slow_s[n] / xcp_s[n], slow_s[n] / quick_s[n]) for n in (0, 1)),
        note="Speedups of "
        + " and ".join(f"{slow_s[n] / xcp_s[n]:.2f}" for n in (0, 1))
        + " with XCP, "
        + " and ".join(f"{slow_s[n] / quick_s[n]:.2f}" for n in (0, 1))
        + " with Quick-Start.",
    )


@CLAIMS.judge("C-TH-081")
def _inflated(found: Found) -> Seen:
    kept = {
        name: after.paced_bps / first.paced_bps
        for name in ("jump-start", "mega-start", "quick-start")
        for first, after in [_downloads(found, name)]
    }
    first, after = _downloads(found, "jump-start")
    return Seen.by(
        listed({LABELS[name]: share for name, share in kept.items()}, "{:.2f}")
        + " of the rate before",
        words.less(kept["jump-start"], 1),
        *(words.similar(kept[name], 1) for name in ("mega-start", "quick-start")),
        note=f"Jump-Start paces {after.paced_bps / 1e6:.1f} instead of "
        f"{first.paced_bps / 1e6:.1f} Mbit/s. The previous response filled the queue, and the "
        "smoothed RTT still includes that delay.",
    )


@CLAIMS.judge("C-TH-082")
def _signalling(found: Found) -> Seen:
    mega, quick = (_downloads(found, name)[1] for name in ("mega-start", "quick-start"))
    later_ms = 1e3 * (quick.fast_after_request_s - mega.fast_after_request_s)
    return Seen.by(later_ms, words.about(later_ms, 200), unit="ms")
