"""Sketches of the set-up: hosts, routers and links, as SVG made from the experiments.

Lines and letters have the colour of the surrounding text, so that a sketch is readable on dark and
light pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TypeVar

from headway.experiment import Bulk, Cbr, Chain, Experiment, Flow, Link, Requests
from headway.report.graph_sketch import Drawn, draw
from headway.report.svg import GAP, LETTER, LINE, Sketch, svg, texts
from headway.units import Buffer, format_rate, format_time

Value = TypeVar("Value", int, float, Buffer)

_ROUTER = 13
"""Radius of a router's circle."""
_FEW = 3
"""Up to this many different values of a setting are listed; for more, only the range is shown."""
_NAMED = 6
"""The maximum number of kinds of flows that a sketch names."""
_LABEL_LETTERS = 28
"""Maximum number of letters in a line of a link's label."""
_EFFECTS = {
    "jitter": "jitter",
    "burst_loss": "bursty loss",
    "policer": "policer",
    "shaper": "shaper",
    "aggregation": "frames",
    "ack_thinning": "thinned ACKs",
    "corruption": "bit errors",
    "mtu": "small MTU",
    "quick_start": "Quick-Start router",
}
"""Fields of a link that sketches name if the link has them."""
_MOST_LABELLED = 5
"""Most hops of a chain whose links are all labelled; in longer chains only the first hop is."""


@dataclass(frozen=True)
class Node:
    """A host, drawn as a box with lines of text, or a router, drawn as a circle.

    ``several`` draws a stack of boxes, which stands for several hosts.
    """

    lines: Sequence[str] = ()
    router: bool = False
    several: bool = False

    @property
    def width(self) -> float:
        """Width in user units of the SVG."""
        return 2 * _ROUTER if self.router else max(map(len, self.lines)) * LETTER + 2 * GAP


@dataclass(frozen=True)
class Edge:
    """A link, drawn as a line between two nodes with text above and below."""

    above: Sequence[str] = ()
    below: Sequence[str] = ()

    @property
    def width(self) -> float:
        """Width in user units of the SVG."""
        longest = max(map(len, (*self.above, *self.below)), default=0)
        return max(22.0, longest * LETTER + 2 * GAP)


@dataclass(frozen=True)
class Way:
    """A labelled arrow below the row of nodes, from one node to another."""

    begin: int
    end: int
    label: str


def row(
    nodes: Sequence[Node], edges: Sequence[Edge], caption: str, ways: Sequence[Way] = ()
) -> Sketch:
    """Draw nodes in a row, with an edge between neighbours; n nodes have n - 1 edges."""
    above = LINE * max((len(edge.above) for edge in edges), default=0)
    half = max(_ROUTER if node.router else (LINE * len(node.lines) + GAP) / 2 for node in nodes)
    middle = max(above + GAP, half) + GAP
    below = max([half, *(LINE * len(edge.below) + GAP for edge in edges)])
    parts: list[str] = []
    centres: list[float] = []
    x = float(GAP)
    for index, node in enumerate(nodes):
        parts += _node(node, x, middle)
        centres.append(x + node.width / 2)
        x += node.width
        if index < len(edges):
            parts += _edge(edges[index], x, middle)
            x += edges[index].width
    y = middle + below + GAP
    for way in ways:
        room = abs(centres[way.end] - centres[way.begin]) / LETTER
        lines = wrap(way.label, max(_LABEL_LETTERS, int(room)), break_on_hyphens=False)
        y += LINE * len(lines)
        parts += _way(lines, centres[way.begin], centres[way.end], y)
        y += GAP
    return Sketch(svg(parts, x + GAP, y + GAP, caption), caption)


def sketches(experiments: Iterable[Experiment]) -> list[Sketch]:
    """Draw a sketch for all dumbbells, for all chains of a length, and for all networks of a shape.

    Settings that differ between the experiments are shown as values or as a range.
    """
    rows: dict[int, list[Experiment]] = {}
    networks: dict[tuple[object, ...], list[Experiment]] = {}
    for one in experiments:
        graph = one.topology.graph()
        if graph.is_row:
            hops = len(one.topology.hops) if isinstance(one.topology, Chain) else 0
            rows.setdefault(hops, []).append(one)
        else:
            networks.setdefault((one.topology.kind, *graph.links), []).append(one)
    drawn = [_chain(own) if hops else _dumbbell(own) for hops, own in sorted(rows.items())]
    return drawn + [_network(own) for own in networks.values()]


def _dumbbell(experiments: Sequence[Experiment]) -> Sketch:
    forward = [one.topology.links()[0][0] for one in experiments]
    back = [one.topology.links()[0][1] for one in experiments]
    rtts_ns: set[int] = set()
    for one in experiments:
        path_ns = one.base_rtt_ns
        rtts_ns.update(path_ns + 2 * flow.delay for flow in one.flows)
    flows = {len(one.flows) for one in experiments}
    asks = all(not _pushes(flow) for one in experiments for flow in one.flows)
    left, right = ("client", "server") if asks else ("sender", "receiver")
    one_pair = flows == {1}
    count = _values(flows, str)
    ends = [
        Node([name] if one_pair else [count, f"{name}s"], several=not one_pair)
        for name in (left, right)
    ]
    rtt = f"{_values(rtts_ns, _rounded)} round trip"
    notes = [*_extras(forward), *_back(forward, back)]
    link = Edge(_folded(*_limits(forward), rtt), _folded(*notes))
    router = Node(router=True)
    words = "; ".join((", ".join(_limits(forward)), rtt, *notes))
    return row(
        [ends[0], router, router, ends[1]],
        [Edge(), link, Edge()],
        f"{count} pair{'' if one_pair else 's'} of hosts over one bottleneck: {words}. "
        f"{_trials(experiments)}",
    )


def _chain(experiments: Sequence[Experiment]) -> Sketch:
    links = list(zip(*(one.topology.links() for one in experiments), strict=True))
    forward = [[pair[0] for pair in hop] for hop in links]
    labels = [
        (*_limits(hop), f"{_values({link.delay for link in hop}, format_time)} each way")
        for hop in forward
    ]
    alike = len(set(labels)) == 1 or len(labels) > _MOST_LABELLED
    edges = [
        Edge(
            [] if alike and index else _folded(*label),
            _folded(*_extras(forward[index]), *_back(*zip(*links[index], strict=True))),
        )
        for index, label in enumerate(labels)
    ]
    between: dict[tuple[int, int], set[str]] = {}
    for one in experiments:
        for flow in one.flows:
            ends = (flow.from_hop, len(links) if flow.to_hop is None else flow.to_hop)
            if flow.direction == "reverse":
                ends = ends[::-1]
            between.setdefault(ends, set()).add(_kind(flow))
    ways = [Way(*ends, _named(sorted(own))) for ends, own in sorted(between.items())]
    words = "; ".join(", ".join(label) for label in dict.fromkeys(labels))
    return row(
        [Node(router=True)] * (len(links) + 1),
        edges,
        f"Hops in a row, {len(links)}: {words}. {_trials(experiments)}",
        ways,
    )


def _network(experiments: Sequence[Experiment]) -> Sketch:
    graph = experiments[0].topology.graph()
    links = list(zip(*(one.topology.links() for one in experiments), strict=True))
    labels = []
    for edge in links:
        forward, back = zip(*edge, strict=True)
        delays = _values({link.delay for link in forward}, format_time)
        labels.append((*_limits(forward), f"{delays} each way", *_back(forward, back)))
    kinds = list(dict.fromkeys(labels))
    edges = [
        Drawn(graph.links[2 * number][1:], _folded(*label) if len(kinds) > 1 else ())
        for number, label in enumerate(labels)
    ]
    ends: dict[str, set[str]] = {}
    used: set[int] = set()
    for one in experiments:
        for flow, (there, _) in zip(one.flows, one.all_routes(), strict=True):
            used.update(link // 2 for link in there)
            begin, end = graph.links[there[0]][1], graph.links[there[-1]][2]
            way = f"{graph.nodes[begin]} to {graph.nodes[end]}"
            ends.setdefault(way, set()).add(_kind(flow))
    words = "; ".join(", ".join(label) for label in kinds[:_FEW])
    more = f"; and {len(kinds) - _FEW} more kinds" if len(kinds) > _FEW else ""
    named = _named([f"{', '.join(sorted(own))} from {way}" for way, own in ends.items()])
    caption = (
        f"A network of {len(graph.nodes)} nodes and {len(edges)} edges: {words}{more}. "
        f"{_trials(experiments)} Routes: {named}."
    )
    return draw(graph.nodes, edges, caption, used)


def _trials(experiments: Sequence[Experiment]) -> str:
    flows = _named(sorted({_kind(flow) for one in experiments for flow in one.flows}))
    lengths = _values({one.duration for one in experiments}, _length)
    stacks = _named(sorted({one.stack for one in experiments}))
    number = len(experiments)
    return (
        f"{number} trial{'s' if number > 1 else ''} of {lengths}, hosts of {stacks}; "
        f"flows: {flows}."
    )


def _length(time_ns: int) -> str:
    """A duration in s as text, rounded to three significant digits if it is below 1000 s."""
    return f"{time_ns / 1e9:.3g} s" if time_ns < 1000e9 else f"{time_ns / 1e9:.0f} s"


def _kind(flow: Flow) -> str:
    if flow.control is not None:
        return flow.control.label
    return "datagrams at a constant rate" if isinstance(flow.app, Cbr) else "requests without data"


def _pushes(flow: Flow) -> bool:
    return isinstance(flow.app, Bulk | Cbr | Requests)


def _limits(links: Sequence[Link]) -> list[str]:
    """Two lines on links: their rates, and their queue limits with the AQM."""
    return [
        _values({link.rate for link in links}, format_rate),
        f"{_buffers({link.buffer for link in links})}, "
        + _named(sorted({link.aqm.name for link in links})),
    ]


def _rounded(time_ns: int) -> str:
    """A time as text, rounded to four significant digits."""
    return format_time(int(float(f"{time_ns:.4g}")))


def _back(forward: Sequence[Link], back: Sequence[Link]) -> list[str]:
    """A line on the reverse links, if they differ from the forward links."""
    limits = [] if _limits(back) == _limits(forward) else _limits(back)
    losses = [] if _losses(back) == _losses(forward) else _losses(back)
    effects = [] if _effects(back) == _effects(forward) else _effects(back)
    parts = [*limits, *losses, *effects]
    return [f"back: {', '.join(parts)}"] if parts else []


def _losses(links: Sequence[Link]) -> list[str]:
    losses = {link.loss for link in links} - {0.0}
    return [f"random loss {_values(losses, '{:g}'.format)}"] if losses else []


def _effects(links: Sequence[Link]) -> list[str]:
    """Effects and Quick-Start routers of the links."""
    effects = []
    for field, shown in _EFFECTS.items():
        has = [bool(link.ever(field)) for link in links]
        if any(has):
            effects.append(shown if all(has) else f"{shown} in some trials")
    return effects


def _extras(links: Sequence[Link]) -> list[str]:
    """Losses, effects, places of routers and dropped IP options of the links."""
    extras = [*_losses(links), *_effects(links)]
    if any(link.routers_at_arrival for link in links):
        extras.append("routers write on arrival")
    if any(link.drop_ip_options for link in links):
        extras.append("drops IP options")
    return extras


def _buffers(buffers: set[Buffer]) -> str:
    by_unit: dict[str, set[Buffer]] = {}
    for buffer in buffers:
        by_unit.setdefault(buffer.unit, set()).add(buffer)
    return " or ".join(_values(own, str) for _, own in sorted(by_unit.items()))


def _values(values: set[Value], shown: Callable[[Value], str]) -> str:
    """Values as text: all of them if they are few, otherwise the smallest and the largest."""
    ordered = sorted(values)
    texts = list(dict.fromkeys(map(shown, ordered)))
    if len(texts) > _FEW:
        texts = [texts[0], texts[-1]]
        join = " to "
    else:
        join = " or "
    *first, last = texts
    unit = last.rpartition(" ")[2]
    if all(text.endswith(f" {unit}") for text in first):
        first = [text.removesuffix(f" {unit}") for text in first]
    return f"{', '.join(first)}{join}{last}" if first else last


def _named(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _folded(*texts: str) -> list[str]:
    return [
        line
        for text in texts
        for line in wrap(text, _LABEL_LETTERS, break_long_words=False, break_on_hyphens=False)
    ]


def _node(node: Node, x: float, middle: float) -> list[str]:
    if node.router:
        centre = x + _ROUTER
        arm = _ROUTER * 0.5
        cross = "".join(
            f'<path d="M{centre + dx * arm:g} {middle + dy * arm:g}L{centre - dx * arm:g} '
            f'{middle - dy * arm:g}"/>'
            for dx, dy in ((1, 1), (1, -1))
        )
        return [f'<circle cx="{centre:g}" cy="{middle:g}" r="{_ROUTER}"/>{cross}']
    height = LINE * len(node.lines) + GAP
    top = middle - height / 2
    box = f'width="{node.width:g}" height="{height:g}" rx="3"'
    behind = f'<rect class="behind" x="{x + 4:g}" y="{top - 4:g}" {box}/>' if node.several else ""
    first = middle - LINE * (len(node.lines) - 1) / 2
    return [
        f'{behind}<rect x="{x:g}" y="{top:g}" {box}/>',
        *texts(node.lines, x + node.width / 2, first),
    ]


def _edge(edge: Edge, x: float, middle: float) -> list[str]:
    centre = x + edge.width / 2
    return [
        f'<path d="M{x:g} {middle:g}H{x + edge.width:g}"/>',
        *texts(edge.above, centre, middle - GAP - LINE * (len(edge.above) - 0.5)),
        *texts(edge.below, centre, middle + GAP + LINE / 2),
    ]


def _way(lines: Sequence[str], begin: float, end: float, y: float) -> list[str]:
    back = end - 6 if begin < end else end + 6
    tip = f"M{back:g} {y - 3:g}L{end:g} {y:g}L{back:g} {y + 3:g}"
    return [
        f'<path d="M{begin:g} {y:g}H{end:g}{tip}"/>',
        *texts(lines, (begin + end) / 2, y - LINE * (len(lines) - 0.5) - 3),
    ]
