"""Warnings of ``headway try``: one line for each thing that did not run as requested."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headway.engine import engine
from headway.experiment import (
    Bulk,
    Cbr,
    Control,
    Experiment,
    Flow,
    Link,
    Transfers,
    limit_bytes,
    named_links,
)
from headway.registry import registry
from headway.units import BITS_PER_BYTE, NS_PER_S, format_rate, format_size, format_time
from headway.workloads.workload import PAYLOAD_SHARE

_FULL_PACKET_BYTES = 1500
"""Size of a full TCP data packet: the MTU of all hosts of an experiment."""
_NAMED = 3
"""Most flows that a warning names; further flows are only counted."""
_COMPLETE_SHARE = 0.9
"""A first flight counts as complete if at least this share of its packets was sent."""
_FLIGHTS_PER_BUFFER = 2
"""The buffer size that a warning recommends, in first flights. The window grows before the ACKs of
the first flight arrive, so one flight is not enough."""
_MSS_BYTES, _SK_BUFF_BYTES = 1460, 2304
"""Payload of a full packet, and the bytes that Linux charges a send buffer for it."""

FlowDigest = dict[str, Any]
"""A flow of one digest, or of the mean of several digests: see headway.digest."""


def warnings(experiment: Experiment, flows: Sequence[FlowDigest]) -> list[str]:
    """Return all warnings, one line each; ``flows`` are the digests' means over the trials.

    Equal warnings of several flows share a line.
    """
    lines = [
        *_small_queues(experiment),
        *_several_protocols(experiment),
        *_overloads(experiment),
        *_black_holes(experiment),
    ]
    flows_by_text: dict[str, list[str]] = {}
    tcp = [number for number, flow in enumerate(experiment.flows) if flow.is_tcp]
    for number, digest in zip(tcp, flows, strict=True):
        flow = experiment.flows[number]
        undelivered = _nothing_arrived(experiment, flow, digest)
        texts = [
            undelivered,
            _missing_input(experiment, number, digest),
            _limited_first_flight(flow, digest),
            _without_routers(digest),
        ]
        if undelivered is None:
            texts += [_unfinished(experiment, digest), _never_left_slow_start(flow, digest)]
        for text in filter(None, texts):
            flows_by_text.setdefault(text, []).append(digest["name"])
    return lines + [f"{_names(names)}: {text}" for text, names in flows_by_text.items()]


def _names(names: Sequence[str]) -> str:
    if len(names) <= _NAMED:
        return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1} more flows"


def _small_queues(experiment: Experiment) -> Iterable[str]:
    sizes = [
        flow.app.packet if isinstance(flow.app, Cbr) else _FULL_PACKET_BYTES
        for flow in experiment.flows
        if flow.is_tcp or isinstance(flow.app, Cbr)
    ]
    largest = max(sizes, default=0)
    for where, link in _links_with_data(experiment):
        limit = limit_bytes(link, experiment.base_rtt_ns)
        if limit is not None and limit < largest:
            given = f" ({link.buffer})" if link.buffer.unit == "BDP" else ""
            yield (
                f"buffer{where}: {format_size(limit)}{given} hold less than a packet of "
                f"{largest} B, so no packet of that size gets through; "
                "a packet counts until it is sent"
            )


def _links_with_data(experiment: Experiment) -> Iterable[tuple[str, Link]]:
    """The links that most data crosses, with the words that name each of them in a warning.

    In a dumbbell or a chain these are the forward links. In a network they are the links on the
    flows' own routes.
    """
    if experiment.topology.graph().is_row:
        hops = experiment.topology.links()
        for index, (forward, _) in enumerate(hops):
            yield f" of hop {index}" if len(hops) > 1 else "", forward
        return
    named = list(named_links(experiment.topology).items())
    crossed = set(itertools.chain.from_iterable(there for there, _ in experiment.all_routes()))
    for number in sorted(crossed):
        name, link = named[number]
        yield f" of {name}", link


def _black_holes(experiment: Experiment) -> Iterable[str]:
    """Warn of links that drop full packets of TCP flows without telling the sender."""
    crossed: set[int] = set()
    for flow, (there, back) in zip(experiment.flows, experiment.all_routes(), strict=True):
        if flow.is_tcp:
            crossed.update(there, back)
    for number, (name, link) in enumerate(named_links(experiment.topology).items()):
        if link.mtu is not None and not link.mtu.icmp and number in crossed:
            yield (
                f"{name} drops packets above {format_size(link.mtu.size)} silently (icmp=off), and "
                "hosts do not look for a smaller MTU themselves (tcp_mtu_probing 0), so TCP flows "
                "with larger packets only time out"
            )


def _overloads(experiment: Experiment) -> Iterable[str]:
    """Warn of links to which endless transfers of several flows together offer too much."""
    offered_bps: dict[int, float] = {}
    apps = [flow.app for flow in experiment.flows]
    if not any(isinstance(app, Transfers) and app.think is None for app in apps):
        return
    names, links = zip(*named_links(experiment.topology).items(), strict=True)
    routes = experiment.all_routes()
    for flow, app, (there, _) in zip(experiment.flows, apps, routes, strict=True):
        if not isinstance(app, Transfers) or app.think is not None or flow.stop is not None:
            continue
        if app.load is not None:
            own_bps = app.load * experiment.slowest_bps(links[number] for number in there)
        else:
            interval_s = engine.parse_arrivals(app.arrivals or "") / NS_PER_S
            own_bps = app.mean_size_bytes * BITS_PER_BYTE / PAYLOAD_SHARE / interval_s
        for number in there:
            offered_bps[number] = offered_bps.get(number, 0.0) + own_bps
    for number, (name, link) in enumerate(zip(names, links, strict=True)):
        load = offered_bps.get(number, 0.0) / link.shaped_bps
        if load >= 1:
            yield (
                f"{name}: transfers offer a load of {load:.3g}, so more and more of them are under "
                "way; their completion times depend on --duration"
            )


def _nothing_arrived(experiment: Experiment, flow: Flow, digest: FlowDigest) -> str | None:
    began = flow.start is None or flow.start < experiment.duration
    if digest["delivered_bytes"] or not isinstance(flow.app, Bulk):
        return None
    return "nothing arrived" if began else "starts after the end of the run"


def _unfinished(experiment: Experiment, digest: FlowDigest) -> str | None:
    if digest["size_bytes"] is None or digest["fct_us"] is not None:
        return None
    arrived = format_size(int(digest["delivered_bytes"]))
    return (
        f"not done when the run ended ({format_time(experiment.duration)}): {arrived} of "
        f"{format_size(int(digest['size_bytes']))} had arrived; use a longer --duration"
    )


def _several_protocols(experiment: Experiment) -> Iterable[str]:
    """Warn of links whose routers control flows of more than one protocol."""
    with_control = {control.header for control in registry().controls if control.header}
    for where, link in _links_with_data(experiment):
        names = [router.label for router in link.routers]
        headers = (registry().router(router.name).header for router in link.routers)
        controlling = [
            name for name, header in zip(names, headers, strict=True) if header in with_control
        ]
        if len(controlling) > 1:
            yield (
                f"routers{where}: {_names(controlling)} each measure all traffic of the link but "
                "control only their own flows, so the protocols do not share it equally"
            )


def _missing_input(experiment: Experiment, number: int, digest: FlowDigest) -> str | None:
    control = experiment.flows[number].control
    assert control is not None
    check = _STARTUPS.get(digest["startup"] or "")
    return check(experiment, number, control, digest) if check else None


def _without_routers(digest: FlowDigest) -> str | None:
    if not digest["fall_backs"]:
        return None
    return (
        f"no router on the path answers {digest['cc']}, so it used its loss-based fallback; "
        f"--router {digest['cc']} adds one"
    )


def _no_saved_window(_: Experiment, __: int, control: Control, ___: FlowDigest) -> str | None:
    if control.tunables.get("cr_saved_cwnd_pkts", 0) > 0:
        return None
    return (
        "careful-resume had no saved window, so the flow used slow start; give "
        "cr_saved_cwnd_pkts=PACKETS (and cr_saved_rtt_us)"
    )


def _no_pacing_rate(
    experiment: Experiment, number: int, control: Control, _: FlowDigest
) -> str | None:
    return _no_rate("mega-start", "ms_rate_kbps", experiment.flows[number], control, "paced")


def _no_rate(startup: str, tunable: str, flow: Flow, control: Control, verb: str) -> str | None:
    """Warn that the application gave no initial rate, and name the default rate that was used."""
    if flow.initial_rate or flow.deadline or tunable in control.tunables:
        return None
    rate_kbps = _default(startup, tunable)
    return (
        f"no rate was announced, so {startup} {verb} its default, {format_rate(rate_kbps * 1000)}; "
        f"give initial_rate=RATE"
    )


def _no_grant(
    experiment: Experiment, number: int, control: Control, digest: FlowDigest
) -> str | None:
    if digest["quick_start_grants"] is None and not _links_without_quick_start(experiment, number):
        return None  # the kernel counts grants only as a sum over all flows with Quick-Start
    if digest["quick_start_grants"] and digest["quick_start_used"] == 0:
        return (
            "Quick-Start's routers granted no more than slow start sends anyway, so the flow used "
            "slow start"
        )
    if digest["quick_start_grants"]:
        flow = experiment.flows[number]
        return _no_rate("quick-start", "qs_rate_kbps", flow, control, "asked for")
    if _links_without_quick_start(experiment, number):
        return (
            "no router on the path answers Quick-Start requests, so the flow used slow start; "
            "--quick-start lets them answer"
        )
    if not digest["quick_start_requests"]:
        return (
            "quick-start asked for no rate, so the flow used slow start: not enough data was "
            "announced (qs_min_bytes), or the rate is no more than slow start's"
        )
    return "no Quick-Start request was granted, so the flow used slow start"


def _links_without_quick_start(experiment: Experiment, number: int) -> list[Link]:
    """The links on a flow's path whose routers do not support Quick-Start."""
    links = list(named_links(experiment.topology).values())
    there, back = experiment.routes(number)
    return [links[link] for link in (*there, *back) if links[link].quick_start is None]


def _default(startup: str, tunable: str) -> int:
    found = {each.name: each.default for each in registry().startup(startup).tunables}
    return found[tunable]


_STARTUPS: dict[str, Callable[[Experiment, int, Control, FlowDigest], str | None]] = {
    "careful-resume": _no_saved_window,
    "mega-start": _no_pacing_rate,
    "quick-start": _no_grant,
}
"""For each startup, a function that warns if the flow lacks what the startup needs."""


def _limited_first_flight(flow: Flow, digest: FlowDigest) -> str | None:
    """Warn of a first flight that the peer's window or the send buffer cut short."""
    flight = digest["first_flight"]
    if flight is None or flight["sent_pkts"] >= _COMPLETE_SHARE * flight["asked_pkts"]:
        return None
    asked_pkts = round(flight["asked_pkts"])
    limits, advice = [], []
    for limit, limited_pkts, options in (
        ("the peer's window", flight["rwnd_limited_pkts"], _larger_window(flow, flight)),
        ("the send buffer", flight["sndbuf_limited_pkts"], _larger_buffer(flow, flight)),
    ):
        if asked_pkts - limited_pkts < _COMPLETE_SHARE * asked_pkts:
            limits.append(f"{limit} had room for {round(asked_pkts - limited_pkts)}")
            advice += options
    if not limits:
        return None
    give = f"; give {':'.join(advice)}" if advice else ""
    if not advice and flow.initial_rwnd == engine.MAX_WINDOW_BYTES:
        give = ", the largest window that TCP can announce"
    slowed = ""
    if flight["growth_limited_pkts"] > (1 - _COMPLETE_SHARE) * asked_pkts:
        slowed = (
            "; limited slow start then slowed the growth of the window "
            "(qs_max_ssthresh_pkts=0 turns it off)"
        )
    return (
        f"{digest['startup']} could have sent {asked_pkts} packets before the first ACK, and sent "
        f"{round(flight['sent_pkts'])}: {' and '.join(limits)}{give}{slowed}"
    )


def _larger_window(flow: Flow, flight: dict[str, float]) -> list[str]:
    """Options that the flow lacks, with which its peer would announce a large enough window."""
    advised_bytes = _round_up(_FLIGHTS_PER_BUFFER * flight["largest_pkts"] * _MSS_BYTES)
    advised_bytes = min(advised_bytes, engine.MAX_WINDOW_BYTES)
    options = []
    if (flow.initial_rwnd or 0) < advised_bytes:
        options.append(f"initial_rwnd={_option(advised_bytes)}")
    assert flow.control is not None
    if flight["syn_limited_pkts"] and flow.control.startup == "jump-start":
        # By default Jump-Start limits its first flight to the SYN-ACK's receive window.
        options.append("ignore_peer_window=1")
    elif flight["syn_limited_pkts"] and not flow.extra_ack:
        options.append("extra_ack=on")
    return options


def _larger_buffer(flow: Flow, flight: dict[str, float]) -> list[str]:
    advised_bytes = _round_up(_FLIGHTS_PER_BUFFER * flight["largest_pkts"] * _SK_BUFF_BYTES)
    advised_bytes = min(advised_bytes, engine.MAX_BUFFER_BYTES)
    own_bytes = 2 * flow.sndbuf if flow.sndbuf else flow.wmem[1] if flow.wmem else 0
    if own_bytes >= advised_bytes:
        return []
    # the kernel doubles SO_SNDBUF
    return [f"sndbuf={_option(_round_up(advised_bytes / 2))}"]


def _round_up(size_bytes: float) -> int:
    """Round up to two significant digits."""
    unit: int = 10 ** max(len(str(math.ceil(size_bytes))) - 2, 0)
    return math.ceil(size_bytes / unit) * unit


def _option(size_bytes: int) -> str:
    """A size in the syntax of a flow's options."""
    for unit, name in ((1_000_000, "MB"), (1000, "kB")):
        if size_bytes % (unit // 10) == 0 and size_bytes >= unit:
            return f"{size_bytes / unit:g}{name}"
    return f"{size_bytes}B"


def _never_left_slow_start(flow: Flow, digest: FlowDigest) -> str | None:
    endless = isinstance(flow.app, Bulk) and flow.app.size is None
    of_the_kernel = flow.control is not None and flow.control.kernel_own is not None
    no_slow_start = digest["startup"] is None  # None: the control has its own startup phase
    if not endless or digest["slow_start_us"] is not None or of_the_kernel or no_slow_start:
        return None
    return "never left slow start: its goodput shows the startup, not the control"
