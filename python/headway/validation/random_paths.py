"""The random experiments of the kind "paths": effects of links, stars, windows, settings of hosts.

A few endless flows share a link, beside a probe of small datagrams that measures its delay. The
data of all flows but uploads crosses the link ``there``, and their ACKs the link ``back``. In a
star these lead from the hub to a host and from a host to the hub.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from headway.experiment import Experiment
from headway.validation.random_draws import (
    PACKET_BYTES,
    Conflicts,
    Draws,
    PathNumbers,
    Space,
    rounded,
)

KIND = "paths"

_PATH: Mapping[str, tuple[str, ...]] = {
    "rate": ("1-4Mbit/s", "4-15Mbit/s", "15-40Mbit/s"),
    "rtt": ("10-30ms", "30-100ms", "100-250ms"),
    "buffer": ("12-60pkts", "0.4-1BDP", "1-3BDP"),
}
_CHANGING = {
    "jitter": "normal",
    "burst_loss": "frequent",
    "policer": "drops",
    "shaper": "on",
    "aggregation": "1-4ms",
}
"""The effects that begin or end during a run, each with the setting that then applies."""

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "star": ("3-5 hosts", "6-8 hosts"),
    "flows": ("2", "3-4"),
    "rtts": ("2-4 times", "4-10 times"),
    "upload": ("on",),
    "asymmetric": ("2-5 times", "5-20 times"),
    "jitter": ("uniform", "normal", "pareto", "correlated"),
    "burst_loss": ("rare", "frequent"),
    "policer": ("drops", "marks"),
    "shaper": ("on",),
    "aggregation": ("1-4ms", "4-15ms"),
    "ack_thinning": ("filter", "1 in 2-8"),
    "corruption": ("on",),
    "mtu": ("576-1400 B",),
    "change": tuple(f"{name} {how}" for name in _CHANGING for how in ("begins", "ends")),
    "window": ("rcvbuf", "sndbuf", "both"),
    "sysctl": (
        "tcp_rmem", "tcp_wmem", "tcp_notsent_lowat", "tcp_rto_min_us", "tcp_sack 0",
        "tcp_timestamps 0", "tcp_window_scaling 0", "tcp_frto 0", "tcp_early_retrans 0",
        "tcp_recovery 3", "tcp_slow_start_after_idle 0",
    ),
    "route": ("initcwnd", "initrwnd", "rto_min", "quickack"),
}  # fmt: skip
"""Settings of the options. A case has a few of them."""

_BUCKETS = tuple(f"change={name} {how}" for name in ("policer", "shaper")
                 for how in ("begins", "ends"))  # fmt: skip
SPACE = Space(
    _PATH,
    ("cubic", "reno", "htcp", "bbr"),
    OPTIONS,
    3,
    6,
    Conflicts((
        # a star has a flow from every host
        (("star",), ("flows",)),
        # of two token buckets only the slower one counts
        (("policer",), ("shaper", *_BUCKETS)),
        (("shaper",), _BUCKETS),
        *(((name,), (f"change={name} begins", f"change={name} ends")) for name in _CHANGING),
        # one overrides the other
        (("window=rcvbuf", "window=both"), ("sysctl=tcp_rmem", "route=initrwnd")),
        (("window=sndbuf", "window=both"), ("sysctl=tcp_wmem",)),
        (("route=rto_min",), ("sysctl=tcp_rto_min_us",)),
    )),
)  # fmt: skip
"""The settings that the cases are drawn from."""

_PROBE = {"app": {"kind": "cbr", "packet": "100 B", "interval": "20 ms"}, "start": "0 s"}
_LONGEST_RTT_S = 1.0
_TICK_MS = 4

Fields = dict[str, Any]


def experiment_of(settings: Mapping[str, str], draws: Draws, drawn_from: Space) -> Experiment:
    """An experiment with these settings."""
    numbers = PathNumbers.draw(settings, draws, drawn_from.least_queue_bytes)
    length_s = max(10, min(math.ceil(60 * numbers.rtt_s), 20))
    flows = _flows(settings, numbers, draws)
    hosts = len(flows) + 1 if "star" in settings else 0
    there, back = _links(settings, numbers, length_s, draws)
    return Experiment.model_validate(
        {
            "topology": _topology(hosts, there, back),
            "flows": [*_at_hosts(settings, flows, draws), _at_host(hosts, _PROBE, 1)],
            "duration": f"{length_s} s",
            "warmup": f"{200 * length_s} ms",
            "seed": 1 + draws.below(1_000_000),
            "sysctls": _sysctls(settings.get("sysctl", ""), numbers, draws),
            "route_attributes": _route_attributes(settings.get("route", ""), draws),
        }
    )


def _topology(hosts: int, there: Fields, back: Fields) -> Fields:
    if hosts:
        return {"kind": "star", "hosts": hosts, "edge": {"forward": back, "reverse": there}}
    path = {name: value for name, value in there.items() if name != "delay"}
    rtt_us = 2 * int(there["delay"].split()[0])
    return {"kind": "dumbbell", **path, "rtt": f"{rtt_us} us", "reverse": back}


def _range(text: str) -> tuple[float, float]:
    """The bounds of a class such as "2-4 times"."""
    low, high = text.split(maxsplit=1)[0].split("-")
    return float(low), float(high)


def _count(text: str, draws: Draws) -> int:
    """A whole number from a class such as "3-5 hosts" or "2"."""
    low, _, high = text.split(maxsplit=1)[0].partition("-")
    return int(low) + draws.below(int(high or low) - int(low) + 1)


def _links(
    settings: Mapping[str, str], numbers: PathNumbers, length_s: int, draws: Draws
) -> tuple[Fields, Fields]:
    """The links ``there`` and ``back``, with their effects."""
    delay_us = max(numbers.rtt_us // (4 if "star" in settings else 2), 1)
    rates_bps = [numbers.rate_bps, numbers.rate_bps]
    buffers = [numbers.buffer, numbers.buffer]
    if "asymmetric" in settings:
        rates_bps[1] = rounded(numbers.rate_bps / draws.between(*_range(settings["asymmetric"])))
        buffers[1] = f"{rounded(draws.between(10, 100))} pkts"
    links: list[Fields] = [
        {"rate": f"{rate_bps} bit/s", "delay": f"{delay_us} us", "buffer": buffer}
        for rate_bps, buffer in zip(rates_bps, buffers, strict=True)
    ]
    changed, _, how = settings.get("change", "").partition(" ")
    for name, plain in _CHANGING.items():
        if name not in settings and name != changed:
            continue
        # losses and buckets are for data; the delay of ACKs matters as much as that of data
        of_acks = name in ("jitter", "aggregation") and draws.chance(0.5)
        link, rate_bps = links[of_acks], rates_bps[of_acks]
        effect = _effect(name, settings.get(name, plain), rate_bps, numbers.rtt_us, draws)
        if name != changed or how == "ends":
            link[name] = effect
        if name != changed:
            continue
        at_ms = round(1000 * length_s * draws.between(0.4, 0.7))
        then = {"start": f"{at_ms} ms", name: "off" if how == "ends" else effect}
        link["vary"] = {"kind": "schedule", "steps": [{"start": "0 s"}, then]}
    if "ack_thinning" in settings:
        links[1]["ack_thinning"] = _thinning(settings["ack_thinning"], draws)
    if "corruption" in settings:
        links[0]["corruption"] = {"packet": round(draws.between(0.0002, 0.004), 5)}
    if "mtu" in settings:
        links[0]["mtu"] = {"size": f"{rounded(draws.between(*_range(settings['mtu'])))} B"}
    return links[0], links[1]


def _thinning(what: str, draws: Draws) -> Fields:
    """How the link of the ACKs thins them."""
    if what == "filter":
        return {"filter": True}
    low, high = _range(what.removeprefix("1 in "))
    return {"keep": f"1/{rounded(draws.between(low, high))}"}


def _effect(name: str, what: str, rate_bps: int, rtt_us: int, draws: Draws) -> Fields:
    """The fields of an effect of a link with this rate."""
    if name == "jitter":
        fields: Fields = {"spread": f"{rounded(rtt_us * draws.between(0.01, 0.1))} us"}
        if what == "correlated":
            return {**fields, "distribution": "normal",
                    "correlation": round(draws.between(0.2, 0.9), 2)}  # fmt: skip
        return {**fields, "distribution": what}
    if name == "burst_loss":
        often = draws.between(*((0.0002, 0.001) if what == "rare" else (0.001, 0.004)))
        return {"to_bad": round(often, 5), "to_good": round(draws.between(0.2, 0.8), 2)}
    if name == "aggregation":
        interval_us = rounded(draws.within(what) * 1e6)
        whole_pkts = rate_bps * interval_us / (8e6 * PACKET_BYTES)
        limited = draws.chance(0.5)
        most_pkts = max(2, rounded(whole_pkts * draws.between(0.7, 2)))
        return {"interval": f"{interval_us} us", "packets": most_pkts if limited else None}
    bucket_bps = rounded(rate_bps * draws.between(0.4, 0.85))
    burst_bytes = max(rounded(bucket_bps / 8 * draws.between(0.02, 0.2)), 2 * PACKET_BYTES)
    fields = {"rate": f"{bucket_bps} bit/s", "burst": f"{burst_bytes} B"}
    return {**fields, "mark": what == "marks"} if name == "policer" else fields


def _flows(settings: Mapping[str, str], numbers: PathNumbers, draws: Draws) -> list[Fields]:
    """The flows that share the link; every second has a different control."""
    count = 2 if "rtts" in settings else 1
    if "star" in settings:
        count = _count(settings["star"], draws) - 1
    elif "flows" in settings:
        count = _count(settings["flows"], draws)
    other = "cubic" if settings["control"] != "cubic" else "reno"
    all_flows: Fields = {"app": {"kind": "bulk"}}
    for name in ("rcvbuf", "sndbuf"):
        if settings.get("window") in (name, "both"):
            size_bytes = rounded(numbers.bdp_bytes * draws.between(0.2, 1.2))
            all_flows[name] = f"{max(size_bytes, 8000)} B"
    if settings.get("policer") == "marks":
        all_flows["ecn"] = "on"
    flows = []
    for number in range(count):
        late_ms = rounded(draws.between(50, 1500)) if number else 0
        flow = {**all_flows, "control": settings["control"], "start": f"{late_ms} ms"}
        if number % 2 == 1:
            flow["control"] = other
            if "rtts" in settings:
                times = draws.between(*_range(settings["rtts"]))
                rtt_s = min(numbers.rtt_s * times, _LONGEST_RTT_S)
                flow["delay"] = f"{rounded((rtt_s - numbers.rtt_s) / 2 * 1e6)} us"
        flows.append(flow)
    return flows


def _at_hosts(settings: Mapping[str, str], flows: list[Fields], draws: Draws) -> list[Fields]:
    """The flows at their hosts, and the upload."""
    hosts = len(flows) + 1 if "star" in settings else 0
    placed = [_at_host(hosts, flow, number) for number, flow in enumerate(flows, 1)]
    if "upload" in settings:
        upload = {**flows[0], "start": f"{rounded(draws.between(50, 1500))} ms"}
        ends = {"source": "host0", "destination": "host1"} if hosts else {"direction": "reverse"}
        placed.append({**upload, **ends})
    return placed


def _at_host(hosts: int, flow: Fields, number: int) -> Fields:
    """The flow, in a star from the host with this number to host 0."""
    return {**flow, "source": f"host{number}", "destination": "host0"} if hosts else flow


def _sysctls(what: str, numbers: PathNumbers, draws: Draws) -> Fields:
    """The sysctl that a setting names, with its value."""
    name, _, value = what.partition(" ")
    if value or not name:
        return {name: value} if name else {}
    window_bytes = rounded(2 * numbers.bdp_bytes * draws.between(0.3, 2))
    return {
        name: {
            "tcp_rmem": f"4096 131072 {max(window_bytes, 131_072)}",
            "tcp_wmem": f"4096 16384 {max(window_bytes, 32_768)}",
            "tcp_notsent_lowat": rounded(draws.between(16_000, 200_000)),
            "tcp_rto_min_us": 1000 * _TICK_MS * rounded(draws.between(5, 100)),
        }[name]
    }


def _route_attributes(name: str, draws: Draws) -> Fields:
    """The attribute of routes with this name and its value."""
    values = {
        "initcwnd": rounded(draws.between(2, 40)),
        "initrwnd": rounded(draws.between(5, 100)),
        "rto_min": f"{_TICK_MS * rounded(draws.between(5, 100))} ms",
        "quickack": 1,
    }
    return {name: values[name]} if name else {}
