"""Check: C-TH-180 and 181, XCP and RCP with campus traffic."""

from __future__ import annotations

from headway.claims import Seen, Statement, scaled, swapped, words
from headway.studies.common import network
from headway.studies.trace_mix import causes
from headway.studies.trace_mix.experiments import MODERATE, SCHEMES, UNLIMITED, key
from headway.studies.trace_mix.observe import Mix as Found


def _told(found: Found, scheme: str) -> str:
    """A scheme's loss, and its mean epoch duration with an unlimited queue."""
    own, free = found[key(scheme, MODERATE)], found[f"{scheme}-{UNLIMITED}"]
    return (
        f"With the queue of 50 packets {network.SCHEMES[scheme]} loses {100 * own.loss:.1f} %. "
        f"With an unlimited queue its epochs take {1e3 * free.mean_s:.0f} ms."
    )


def _xcp(found: Found) -> Seen:
    xcp, slow = (found[key(scheme, MODERATE)].mean_s for scheme in ("xcp", "slow-start"))
    lost = 100 * found[key("slow-start", MODERATE)].loss
    return Seen.by(
        f"{1e3 * xcp:.0f} ms, Slow-Start {1e3 * slow:.0f} ms",
        words.more(xcp, slow),
        note=f"{_told(found, 'xcp')} Slow-Start loses {lost:.1f} %.",
    )


def _rcp(found: Found) -> Seen:
    rcp = found[key("rcp", MODERATE)].mean_s
    others = {scheme.label: found[key(scheme.key, MODERATE)].mean_s for scheme in SCHEMES}
    best = min(others, key=lambda label: others[label])
    return Seen.by(
        f"{1e3 * rcp:.0f} ms, {best} {1e3 * others[best]:.0f} ms",
        words.every([words.significantly_less(rcp, other) for other in others.values()]),
        note=_told(found, "rcp"),
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-180",
        "XCP's mean epoch duration",
        "even worse than that of unmodified TCP",
        _xcp,
        spoil=scaled("xcp-35", 0.5, "seconds.mean"),
        mend=scaled("xcp-35", 1.2, "seconds.mean"),
    ),
    Statement(
        "C-TH-181",
        "RCP's mean epoch duration",
        "significantly outperforms any TCP-based scheme",
        _rcp,
        why=causes.RCP_BESIDE_TCP,
        spoil=swapped("rcp", "slow-start"),
        mend=scaled("rcp-35", 0.5, "seconds.mean"),
    ),
)
