"""Check: C-TH-007 to 013 and 054 to 060."""

from collections.abc import Callable

from headway.claims import Change, Claims, Seen, edited, near, words
from headway.experiment import Experiment
from headway.models import startup
from headway.models._checks import Floats
from headway.registry import registry
from headway.studies.common import lab
from headway.studies.common.runs import each, listed
from headway.studies.response_functions.experiments import (
    CAPACITY_BPS,
    CONTROLS,
    QUEUED,
    RTT_S,
    Goodputs,
    compound_bps,
    cubic_bps,
    reno_bps,
    reno_sqrt_bps,
)

CLAIMS: Claims[Goodputs] = Claims(__name__)
FREE_SHARE = 0.75
"""Loss, not the link, counts as the limit of a flow if the flow's equation gives less than this
part of the link's rate.
"""
_FASTER = {name: label for name, label in CONTROLS.items() if name != "reno"}
ETHERNET_BYTES = 38
"""Bytes that Ethernet adds to an IP packet: header, checksum, preamble and gap of a frame."""
RENO_LOSSES = (1e-4, 5e-2)
"""Between these losses simulated Reno is compared with eq. 4.7."""
CUBIC_LOSSES = (3e-4, 1e-3, 3e-3)
"""Losses at which CUBIC is compared with eq. 4.9, if the link does not limit it."""
CUBIC_TRIALS = ("cubic26-p3e-4-*", "cubic26-p1e-3-*", "cubic26-p3e-3-*")
"""Keys of the trials with which CUBIC is compared with eq. 4.9."""
LARGEST_LOSS = 0.1
_NO_DELAYED_ACKS = edited({"flows.0.delayed_ack": False})


def _periodic(one: Experiment) -> Experiment:
    """The trial with a loss of every (1/p)th packet instead of random losses."""
    every = round(1 / one.topology.links()[0][0].loss)
    router = {"name": "periodic-loss", "tunables": {"every_pkts": every}}
    return edited({"topology.loss": 0.0, "topology.routers": [router]})(one)


def _cubic_with(name: str, value: int) -> Callable[[Experiment], Experiment]:
    return edited({"flows.0.control.tunables": {name: value}})


@CLAIMS.judge("C-TH-007")
def _initial_window(_found: Goodputs) -> Seen:
    window = startup.standard_initial_window_bytes(1460) / 1460
    return near(float(window), 3, unit="segments")


def _reno_over(
    found: Goodputs, equation_bps: Callable[[float], Floats], most: float
) -> tuple[str, words.Check]:
    """Simulated Reno divided by an equation, at the loss up to ``most`` that is furthest off."""
    ratios = {
        loss: found.mean_bps("reno", loss) / float(equation_bps(loss))
        for loss in found.losses
        if RENO_LOSSES[0] <= loss <= most
    }
    worst = max(ratios, key=lambda loss: abs(ratios[loss] - 1))
    check = words.both(*(words.similar(ratio, 1.0) for ratio in ratios.values()))
    return f"{ratios[worst]:.3f} at p = {worst:.0e}", check


@CLAIMS.judge("C-TH-008")
def _square_root(found: Goodputs) -> Seen:
    measured, alike = _reno_over(found, reno_sqrt_bps, 1e-3)
    large = RENO_LOSSES[1]
    reno_bps, equation_bps = found.mean_bps("reno", large), float(reno_sqrt_bps(large))
    return Seen.by(
        f"{measured}; {reno_bps / equation_bps:.2f} at p = {large:.0e}",
        alike,
        words.significantly_less(reno_bps, equation_bps),
    )


@CLAIMS.judge("C-TH-009", "C-TH-059")
def _with_timeouts(found: Goodputs) -> Seen:
    return Seen.by(
        *_reno_over(found, reno_bps, RENO_LOSSES[1]),
        note="The timeout term is outside the root, as in the source of the equation. Inside the "
        "root, where the thesis prints it, the term would not be a time.",
    )


@CLAIMS.judge(
    "C-TH-010",
    tries=(
        Change("exactly 1/p packets between two losses", _periodic, CUBIC_TRIALS),
        Change("no fast convergence", _cubic_with("fast_convergence", 0), CUBIC_TRIALS),
        Change("no delayed ACKs", _NO_DELAYED_ACKS, CUBIC_TRIALS),
    ),
)
def _cubic(found: Goodputs) -> Seen:
    pairs = {p: (float(cubic_bps(p)), found.mean_bps("cubic26", p)) for p in CUBIC_LOSSES}
    limited = [p for p, (model, _) in pairs.items() if model >= FREE_SHARE * CAPACITY_BPS]

    def both(loss: float) -> str:
        model, simulated = pairs[loss]
        return f"{model / 1e6:.2f} and {simulated / 1e6:.2f} at {loss:.0e}"

    judged = [p for p in pairs if p not in limited]
    return Seen.by(
        ", ".join(map(both, judged)),
        *(words.within(pairs[p][0] / pairs[p][1], 0.9, 1.1, "±10 %") for p in judged),
        unit="Mbit/s",
        note=f"Not judged, because the link and not loss limits the flow (Mbit/s by eq. 4.9 and "
        f"simulated): {', '.join(map(both, limited))}.",
    )


@CLAIMS.judge("C-TH-011")
def _compound_constant(_found: Goodputs) -> Seen:
    segment_bps = 8 * lab.MSS_BYTES / RTT_S
    return near(float(compound_bps(1.0)) / segment_bps, 0.225, relative=0.20)


@CLAIMS.judge("C-TH-012")
def _queues(found: Goodputs) -> Seen:
    cubic, compound = (found.queues[f"queue-{control}"] for control in QUEUED)
    return Seen.by(
        f"Compound {compound.governed_pkts:.1f}, CUBIC {cubic.mean_pkts:.1f}",
        words.much_less(compound.governed_pkts, cubic.mean_pkts),
        unit="packets",
        note=f"Delay governs Compound for {100 * compound.governed_part:.0f} % of the time. Over "
        f"the whole run {compound.mean_pkts:.1f} packets wait on average. Compound's delay window "
        "shrinks when 30 packets wait in the queue of 50, and reaches zero before Compound's Reno "
        "part has filled the queue.",
    )


@CLAIMS.judge("C-TH-013")
def _thresholds(_found: Goodputs) -> Seen:
    [compound] = [one for one in registry().controls if one.name == "compound"]
    known = {one.name: one.default for one in compound.tunables}
    thresholds = known["low_window"], known["gamma"]
    return Seen.by(
        "{} and {} segments".format(*thresholds), words.is_so(thresholds == (41, 30), "exact")
    )


@CLAIMS.judge("C-TH-054")
def _default_path(_found: Goodputs) -> Seen:
    path = lab.path(buffer_pkts=lab.SMALL_BUFFER_PKTS)
    described = (
        f"{path.rate / 1e6:g} Mbit/s, {path.buffer} {path.aqm.name}, "
        f"{path.access_rate / 1e9:g} Gbit/s, {lab.MTU_BYTES} bytes"
    )
    return Seen.by(
        described,
        words.is_so(described == "9.76 Mbit/s, 50 pkts drop-tail, 1 Gbit/s, 1500 bytes", "exact"),
        note="9.76 Mbit/s of IP packets are 10 Mbit/s of Ethernet (C-TH-055).",
    )


@CLAIMS.judge("C-TH-055")
def _ethernet(_found: Goodputs) -> Seen:
    share = lab.MTU_BYTES / (lab.MTU_BYTES + ETHERNET_BYTES)
    return near(10 * share, 9.76, relative=1e-3, unit="Mbit/s")


@CLAIMS.judge("C-TH-056")
def _near_the_link(found: Goodputs) -> Seen:
    reno = found.mean_bps("reno", 1e-5) / 1e6
    cubic, compound = (found.mean_bps(name, 1e-4) / 1e6 for name in _FASTER)
    return Seen.by(
        f"Reno {reno:.2f} at 1e-5, CUBIC {cubic:.2f} and Compound {compound:.2f} at 1e-4",
        *(words.similar(one, CAPACITY_BPS / 1e6) for one in (reno, cubic, compound)),
        unit="Mbit/s",
        note=f"At a loss of 1e-4 eq. 4.7 gives Reno only {float(reno_bps(1e-4)) / 1e6:.1f} Mbit/s.",
    )


def _over_reno(found: Goodputs, loss: float) -> dict[str, float]:
    reno_bps = found.mean_bps("reno", loss)
    return {label: found.mean_bps(name, loss) / reno_bps for name, label in _FASTER.items()}


@CLAIMS.judge("C-TH-057")
def _moderate(found: Goodputs) -> Seen:
    ratios = _over_reno(found, 1e-3)
    return each(ratios, lambda ratio: words.significantly_more(ratio, 1.0), "{:.3f}")


@CLAIMS.judge("C-TH-058")
def _large(found: Goodputs) -> Seen:
    ratios = _over_reno(found, 5e-2)
    note = ""
    if found.losses[-1] >= LARGEST_LOSS:
        note = f"At a loss of 10 %: {listed(_over_reno(found, found.losses[-1]), '{:.3f}')}."
    return each(ratios, lambda ratio: words.similar(ratio, 1.0), "{:.3f}", note=note)
