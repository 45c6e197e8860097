"""Setup: the files of rap-over-satellite, with a proxy where the satellite's up-link begins."""

from __future__ import annotations

from typing import Any

from headway.experiment import Experiment
from headway.studies.rap_over_satellite import experiments as raw
from headway.study import StudyContext

RTT_MS = 2 * raw.ONE_WAY_MS
BDP_PKTS = raw.RATE_BPS * RTT_MS // (8 * 1000 * 1500)
SIDE_RATE_BPS, SIDE_DELAY = 1_000_000_000, "100 us"
MONITOR = f"pep-monitor:rtt_ms={RTT_MS}"
QUICK_RUNS = 5
BOTH_LOSSES_S = (18 / 0.75, 24 / 0.65)
"""TCP PEP's published completion times without loss and at 1 %; fit.py derives them."""

HYBLAS = {
    "hybla6_pep": "hybla",
    "hybla26_pep": "hybla:max_exponent=0:carry=off",
}
"""TCP PEP with Hybla's slow start of Linux 6 and of Linux 2.6."""
PROXIED: dict[str, str] = {
    "tcp_pep": "hybla+slow-start",
    "xcp_pep": "xcp_pep",
    "mpcp_pep": "mpcp_pep",
    "vcp_pep": "vcp_pep",
    "xcp_plain": "xcp_pep:start=plain",
    "mpcp_plain": "mpcp_pep:start=plain",
    "cubic_pep": "cubic26:initial_ssthresh=100",
    **HYBLAS,
}
"""Schemes with a proxy, by the control of its satellite leg. The plain start is the paper's."""
STARTS: dict[str, str] = {
    "today": "cubic",
    "jump_start": "cubic+jump-start:js_max_bytes=0",
    "careful_resume": f"cubic+careful-resume:cr_saved_cwnd_pkts={BDP_PKTS}"
    f":cr_saved_rtt_us={RTT_MS * 1000}",
    "quick_start": "cubic+quick-start",
    "hybla": "hybla",
}
"""Schemes without a proxy, between today's hosts: faster starts of the sender alone."""
SCHEMES = {
    **raw.SCHEMES,
    "tcp_pep": "TCP PEP",
    "xcp_pep": "XCP PEP",
    "mpcp_pep": "MPCP PEP",
    "vcp_pep": "VCP PEP",
    "xcp_plain": "XCP PEP, plain start",
    "mpcp_plain": "MPCP PEP, plain start",
    "cubic_pep": "CUBIC PEP",
    "hybla6_pep": "TCP PEP, Hybla's start of Linux 6",
    "hybla26_pep": "TCP PEP, Hybla's start of Linux 2.6",
    "today": "CUBIC, Linux 6",
    "jump_start": "CUBIC, Jump-Start",
    "careful_resume": "CUBIC, Careful Resume",
    "quick_start": "CUBIC, Quick-Start",
    "hybla": "Hybla",
}
LOSSES, SIDE_LOSS = raw.LOSSES, raw.SIDE_LOSS
key = raw.key


def runs(ctx: StudyContext) -> range:
    """Numbers of the runs."""
    return range(1, (QUICK_RUNS if ctx.quick else raw.RUNS) + 1)


def satellite(trial: str) -> int:
    """The number of the link that carries the satellite's data in a trial."""
    return 2 if trial.split("-", maxsplit=1)[0] in PROXIED else 0


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per scheme, loss and run; runs have the same starts and delays for every scheme."""
    return raw.trials_of(SCHEMES, runs(ctx), trial, seed=ctx.seed)


def trial(
    scheme: str,
    loss: float,
    run: int,
    *,
    seed: int,
    delays: bool = False,
    starts_s: float = raw.STARTS_S,
    control: str = "",
) -> Experiment:
    """Five files at once: as in rap-over-satellite, with a proxy, or with another start.

    ``control`` replaces that of a proxy's satellite leg.
    """
    if scheme in raw.SCHEMES:
        return raw.trial(scheme, loss, run, seed=seed, delays=delays, starts_s=starts_s)
    plain = raw.trial("cubic26", loss, run, seed=seed, delays=delays, starts_s=starts_s)
    if scheme in PROXIED:
        return _proxied(plain, control or PROXIED[scheme])
    return _started(plain, scheme)


def _proxied(plain: Experiment, control: str) -> Experiment:
    """Put the proxy at the satellite's router, with a side link to the senders' host."""
    fields = plain.model_dump(exclude_unset=True)
    link: dict[str, Any] = dict(fields["topology"])
    way = {
        "rate": link["rate"],
        "delay": f"{raw.ONE_WAY_MS} ms",
        "buffer": link["buffer"],
    }
    side = {
        "rate": f"{SIDE_RATE_BPS} bit/s",
        "delay": SIDE_DELAY,
        "buffer": f"{raw.BUFFER_PKTS} pkts",
    }
    up = {**way, "loss": link.get("loss", 0.0), "routers": (MONITOR,)}
    flows = [{**flow, "relay": {"at_hop": 1, "control": control}} for flow in fields.pop("flows")]
    fields["topology"] = {
        "kind": "chain",
        "hops": [{"forward": side}, {"forward": up, "reverse": way}],
    }
    return Experiment.model_validate({**fields, "flows": flows})


def _started(plain: Experiment, scheme: str) -> Experiment:
    """Give each sender its start, the link's rate and the size of its file."""
    fields = plain.model_dump(exclude_unset=True)
    fields["topology"] = {"kind": "dumbbell", **fields["topology"]}
    flows = [
        {
            **flow,
            "control": STARTS[scheme],
            "extra_ack": True,
            "send_buffer": "16 MB",
            "data_volume": f"{raw.SIZE_BYTES} B",
            "initial_rate": f"{raw.RATE_BPS} bit/s",
        }
        for flow in fields.pop("flows")
    ]
    if scheme == "quick_start":
        fields["topology"]["quick_start"] = f"interval_ms={RTT_MS}"
    fields["stack"] = "linux-6"
    return Experiment.model_validate({**fields, "flows": flows})
