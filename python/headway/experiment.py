"""The typed experiment: path, flows, stack, length, seed.

Everything is written with its unit and checked when it is made; an Experiment that exists can
be run. Models are frozen and compare by value.

A bandwidth-delay product ("1 BDP") is rate × base RTT in whole bytes, and the limit is then one
in bytes. The base RTT of a dumbbell is its ``rtt`` plus twice its two access delays; that of a
chain is the sum over all its hops. A flow's own extra delay does not count.
"""

from __future__ import annotations

import random
import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    PositiveInt,
    ValidationError,
    field_validator,
    model_validator,
)

from headway import units
from headway.registry import check_tunables, options_of_text, registry
from headway.router import QuickStart
from headway.spec import Length, PositiveSize, Rate, Size, Spec, Time
from headway.workloads.workload import Workload

QueueLimit = Annotated[units.Buffer, BeforeValidator(units.parse_buffer), PlainSerializer(str)]
"""Bytes, packets or bandwidth-delay products, written "60000 B", "40 pkts", "1 BDP"."""
Probability = Annotated[float, BeforeValidator(units.parse_probability)]

Record = Literal["flows", "queue", "udp", "drops"]
RECORDS: tuple[Record, ...] = ("flows", "queue", "udp", "drops")
KERNEL_OWN = "kernel:"
"""Before the name of a control that the running kernel brings itself: "kernel:bbr"."""
_KERNEL_NAME = re.compile(r"[A-Za-z0-9_.-]{1,15}")
BATCHES = 10
"""Equal parts of [warmup, duration] between which counters are read, for batch means."""


class Aqm(Spec):
    """A queue's algorithm and its tunables; text is enough where defaults will do: "drop-tail"."""

    name: str = "drop-tail"
    tunables: dict[str, int] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _check(cls, value: Any) -> Any:
        fields = _named_withoptions_of_text(value)
        owner = registry().queue(str(fields.get("name", "drop-tail")))
        fields["tunables"] = check_tunables([owner], fields.get("tunables") or {})
        return fields


class Control(Spec):
    """How a flow goes on, how it starts, and both their tunables.

    Text says the same: "cubic", "cubic+slow-start", "htcp:adaptive_backoff=off".
    ``startup`` None means the control's own. "kernel:NAME" is a control that the running kernel
    brings itself, for the kernel backend; it starts as it does and has no tunables here.
    """

    name: str
    startup: str | None = None
    tunables: dict[str, int] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _check(cls, value: Any) -> Any:
        fields = _named_withoptions_of_text(value)
        name, plus, startup = str(fields.get("name", "")).partition("+")
        if plus:
            fields.update(name=name, startup=startup)
        if name.startswith(KERNEL_OWN):
            return _of_the_kernel(name, fields)
        control = registry().control(name)
        started = registry().startup(fields.get("startup") or control.startup or "slow-start")
        fields["tunables"] = check_tunables([control, started], fields.get("tunables") or {})
        return fields

    @property
    def kernel_own(self) -> str | None:
        """The kernel's name of a control it brings itself; None for one of ours."""
        own = self.name.startswith(KERNEL_OWN)
        return self.name.removeprefix(KERNEL_OWN) if own else None

    def __str__(self) -> str:
        return self.name + (f"+{self.startup}" if self.startup else "")


def _of_the_kernel(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    if not _KERNEL_NAME.fullmatch(name.removeprefix(KERNEL_OWN)):
        raise ValueError(f"{name!r}: write kernel:NAME, for example kernel:bbr")
    if fields.get("startup") or fields.get("tunables"):
        raise ValueError(f"{name} is the kernel's own: no startup and no tunables can be set")
    return fields


class Bulk(Spec):
    """Sends ``size`` as fast as TCP lets it, then closes; None sends until the end."""

    kind: Literal["bulk"] = "bulk"
    size: PositiveSize | None = None


class Cbr(Spec):
    """Constant bit rate over UDP: one IP packet of ``packet`` bytes, headers and all, at a time."""

    kind: Literal["cbr"] = "cbr"
    packet: PositiveSize
    interval: Length


class Vectors(Spec):
    """Requests and responses: epochs of (request, response, think time until the next).

    ``connections`` has the number of epochs on each connection: when those of one are over, think
    times and all, it closes and the next opens. None: all are on one.
    """

    kind: Literal["vectors"] = "vectors"
    epochs: tuple[tuple[Size, Size, Time], ...] = Field(min_length=1)
    connections: tuple[PositiveInt, ...] | None = None

    @model_validator(mode="after")
    def _all_epochs_have_a_connection(self) -> Self:
        if self.connections is not None and sum(self.connections) != len(self.epochs):
            raise ValueError(
                f"connections: {sum(self.connections)} epochs in all, but there are "
                f"{len(self.epochs)}"
            )
        return self


class Pingpong(Spec):
    """Messages of ``request`` bytes with exponential gaps of mean ``mean_interval``, each echoed.

    An open loop: a message is due whether or not the one before was answered (thesis 6.2.3).
    """

    kind: Literal["pingpong"] = "pingpong"
    request: PositiveSize
    mean_interval: Length


class Requests(Spec):
    """Quick-Start requests without data, with exponential gaps of mean ``mean_interval``.

    Each is an empty UDP datagram that asks for the rate of one of ``codes`` (1 to 15, 40 kbit/s
    times two to its power), all as likely: the load of the thesis' section 6.3.3.3.
    """

    kind: Literal["requests"] = "requests"
    codes: tuple[Annotated[int, Field(ge=1, le=15)], ...] = Field(min_length=1, max_length=1000)
    mean_interval: Length


Voip = Cbr(packet="186 B", interval="20 ms")
"""A G.711 call, one direction: 160 bytes of voice every 20 ms, 186-byte IP packets (paper 001)."""


class Sessions(Spec):
    """The share of one host pair in a workload of ``pairs``: that of number ``pair``, from 0.

    The opener asks, the other end answers, on one connection per session or, if the workload is
    persistent, on one for all. Responses travel in the reverse direction.
    """

    kind: Literal["sessions"] = "sessions"
    workload: Workload
    pair: int = Field(ge=0)
    pairs: int = Field(ge=1)

    @model_validator(mode="after")
    def _is_one_of_them(self) -> Self:
        if self.pair >= self.pairs:
            raise ValueError(f"pair: {self.pair} must be less than pairs, {self.pairs}")
        return self


class Flow(Spec):
    """One connection (or UDP stream) from a host of its own to another host of its own.

    ``start`` None lets the experiment draw it from its ``start_spread``. ``delay`` is extra
    one-way delay of the flow's own path, in each direction. ``from_hop`` and ``to_hop``
    place it on a chain; ``to_hop`` None is the last. ``receive_buffer`` is that of both hosts
    from the start (Linux: the default of tcp_rmem); None is the stack's own, which grows.

    ``initial_rate`` and ``data_volume`` are what the application tells its sockets before it
    sends: the rate to start with, in IP bits per second, and how much will come. Startups may use
    them. With ``stabilize`` the initial rate is all it ever needs. ``deadline`` is the time in
    which a response should arrive from when its request leaves, or a bulk transfer with a size from
    its start; where no rate is named it gives one, and says whether a fast startup is needed.
    ``receive_window`` is what both hosts announce from the start, and ``extra_ack`` lets the
    responder say it right after the SYN-ACK, whose own window ends at 65535 bytes. With
    ``announces`` every connection's volume is announced, by either side its own; with
    ``announces_first`` how large its first message will be, and no more. ``willing_rate``
    bounds what both hosts accept as receivers of Quick-Start requests; below 80 kbit/s they do
    not answer.
    """

    app: Annotated[
        Bulk | Cbr | Vectors | Pingpong | Sessions | Requests, Field(discriminator="kind")
    ] = Bulk()
    control: Control | None = None
    name: str | None = None
    sack: bool = True
    timestamps: bool = True
    delayed_ack: bool = True
    nodelay: bool = False
    receive_buffer: Annotated[PositiveSize, Field(ge=4096, le=1 << 30)] | None = None
    receive_window: Annotated[PositiveSize, Field(ge=2920, le=65535 << 7)] | None = None
    extra_ack: bool = False
    initial_rate: Annotated[Rate, Field(gt=0)] | None = None
    data_volume: PositiveSize | None = None
    announces: bool = False
    announces_first: bool = False
    stabilize: bool = False
    deadline: Annotated[Time, Field(gt=0)] | None = None
    willing_rate: Rate | None = None
    start: Time | None = None
    stop: Time | None = None
    delay: Time = 0
    from_hop: int = Field(default=0, ge=0)
    to_hop: int | None = Field(default=None, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        return _flow_fields(value) if isinstance(value, str) else value

    @field_validator("control", mode="before")
    @classmethod
    def _control_text(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _tcp_has_control(self) -> Self:
        if isinstance(self.app, Cbr | Requests) and self.control is not None:
            raise ValueError(f"a {self.app.kind} flow is UDP and has no control")
        if not isinstance(self.app, Cbr | Requests) and self.control is None:
            raise ValueError("a TCP flow needs a control, for example control='cubic'")
        return self

    @model_validator(mode="after")
    def _announces_one_or_all(self) -> Self:
        if self.announces and self.announces_first:
            raise ValueError("announces_first: is less than announces; leave one of them out")
        return self

    @model_validator(mode="after")
    def _deadline_has_an_end(self) -> Self:
        bounded = isinstance(self.app, Vectors | Sessions)
        bounded = bounded or (isinstance(self.app, Bulk) and self.app.size is not None)
        if self.deadline is not None and not bounded:
            raise ValueError("deadline: needs responses, or a bulk transfer with a size")
        return self

    @property
    def is_tcp(self) -> bool:
        """Whether this flow is a TCP connection."""
        return self.control is not None


class Link(Spec):
    """One direction of a hop: a queue, a rate, a delay, and what goes wrong on the way.

    ``loss``, ``duplicate`` and ``reorder`` are probabilities per packet; a reordered packet
    comes ``reorder_delay`` later. ``quick_start`` is what the router before the link does with
    requests; ``drop_ip_options`` drops packets with IP options, as some paths do.
    """

    rate: Rate
    delay: Time
    buffer: QueueLimit
    aqm: Aqm = Field(default_factory=Aqm)
    loss: Probability = 0.0
    duplicate: Probability = 0.0
    reorder: Probability = 0.0
    reorder_delay: Time = 0
    quick_start: QuickStart = None
    drop_ip_options: bool = False

    @field_validator("aqm", mode="before")
    @classmethod
    def _aqm_text(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class Dumbbell(Spec):
    """One bottleneck in each direction between any number of host pairs.

    ``rtt`` is propagation only, half of it each way. ``buffer``, ``aqm``, ``loss``,
    ``duplicate`` and ``reorder`` are those of the forward direction, where data goes.
    ``reverse`` None mirrors rate, delay, buffer, ``quick_start`` and ``drop_ip_options``,
    drop-tail, without loss.
    """

    kind: Literal["dumbbell"] = "dumbbell"
    rate: Rate
    rtt: Time
    buffer: QueueLimit
    aqm: Aqm = Field(default_factory=Aqm)
    loss: Probability = 0.0
    duplicate: Probability = 0.0
    reorder: Probability = 0.0
    reorder_delay: Time = 0
    quick_start: QuickStart = None
    drop_ip_options: bool = False
    reverse: Link | None = None
    access_rate: Rate = 10**9
    access_delay: Time = 0

    @field_validator("aqm", mode="before")
    @classmethod
    def _aqm_text(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    def links(self) -> list[tuple[Link, Link]]:
        """The hop's forward and reverse link."""
        half_ns = self.rtt // 2
        forward = Link.model_construct(
            rate=self.rate,
            delay=half_ns,
            buffer=self.buffer,
            aqm=self.aqm,
            loss=self.loss,
            duplicate=self.duplicate,
            reorder=self.reorder,
            reorder_delay=self.reorder_delay,
            quick_start=self.quick_start,
            drop_ip_options=self.drop_ip_options,
        )
        return [(forward, self.reverse or _mirror(forward, self.rtt - half_ns))]


class Hop(Spec):
    """One hop of a chain; ``reverse`` None mirrors the forward link as a dumbbell's does."""

    forward: Link
    reverse: Link | None = None


class Chain(Spec):
    """Routers in a row (a parking lot); flows enter and leave where they say."""

    kind: Literal["chain"] = "chain"
    hops: tuple[Hop, ...] = Field(min_length=1)
    access_rate: Rate = 10**9
    access_delay: Time = 0

    def links(self) -> list[tuple[Link, Link]]:
        """Each hop's forward and reverse link."""
        return [
            (hop.forward, hop.reverse or _mirror(hop.forward, hop.forward.delay))
            for hop in self.hops
        ]


class Capture(Spec):
    """A packet capture in pcapng: one link ("forward0") or both directions ("bottleneck")."""

    link: str = "bottleneck"
    snaplen: Size = 0


class Experiment(Spec):
    """All that decides a run. The same experiment gives the same trace, bit for bit.

    ``flows`` is a list of Flow, or text such as "2xcubic,1xhtcp:adaptive_backoff=off,1xvoip".
    Metrics use [warmup, duration]. Flows without a start begin somewhere in
    [0, start_spread), drawn from the seed. ``sample`` adds readings of the counters at that
    interval to those at the warm-up and at the ten batches of the rest.
    """

    topology: Annotated[Dumbbell | Chain, Field(discriminator="kind")]
    flows: tuple[Flow, ...] = Field(min_length=1)
    duration: Length
    warmup: Time = 0
    stack: str = "linux-6"
    seed: int = Field(default=1, ge=0, lt=2**63)
    start_spread: Time = 0
    sample: Length | None = None
    record: tuple[Record, ...] = RECORDS
    capture: Capture | None = None

    @field_validator("flows", mode="before")
    @classmethod
    def _flows_text(cls, value: Any) -> Any:
        return parse_flows(value) if isinstance(value, str) else value

    @field_validator("stack")
    @classmethod
    def _known_stack(cls, value: str) -> str:
        return registry().stack(value).name

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.warmup >= self.duration:
            raise ValueError(
                f"warmup {units.format_time(self.warmup)} must be less than "
                f"duration {units.format_time(self.duration)}"
            )
        for index, (forward, reverse) in enumerate(self.topology.links()):
            for link in (forward, reverse):
                if link.buffer.unit == "BDP" and limit_bytes(link, self.base_rtt_ns) == 0:
                    raise ValueError(f"buffer: {link.buffer} of hop {index} is less than one byte")
        return self

    @property
    def base_rtt_ns(self) -> int:
        """Propagation delay there and back over the whole path, without extra host delays."""
        hops_ns = sum(forward.delay + back.delay for forward, back in self.topology.links())
        return hops_ns + 4 * self.topology.access_delay

    def flow_names(self) -> list[str]:
        """One name per flow: its own, else its control's (or "voip", "cbr") and its index."""
        return [
            flow.name
            or f"{flow.control.name if flow.control else 'voip' if flow.app == Voip else 'cbr'}-{i}"
            for i, flow in enumerate(self.flows)
        ]

    def start_times_ns(self) -> list[int]:
        """When each flow starts; those without a time of their own are drawn from the seed."""
        # random() of a text seed is the one generator Python promises never to change.
        return [
            flow.start
            if flow.start is not None
            else int(random.Random(f"{self.seed}/start/{i}").random() * self.start_spread)
            for i, flow in enumerate(self.flows)
        ]

    def checkpoints_ns(self) -> list[int]:
        """When counters are read, sorted: the warm-up, the batches' ends, every ``sample``."""
        span_ns = self.duration - self.warmup
        times = {self.warmup + span_ns * k // BATCHES for k in range(BATCHES)}
        if self.sample is not None:
            times.update(range(self.sample, self.duration, self.sample))
        return sorted(times)


def limit_bytes(link: Link, base_rtt_ns: int) -> int | None:
    """The link's queue limit in bytes, or None if it is in packets."""
    amount, unit = link.buffer
    if unit == "pkts":
        return None
    return int(amount * units.bdp_bytes(link.rate, base_rtt_ns)) if unit == "BDP" else int(amount)


def parse_flows(text: str) -> list[Flow]:
    """Flows from compact text: COUNTxNAME[+STARTUP][:OPTION=VALUE]..., separated by commas.

    NAME is a control, or "voip". An option is a field of Flow (sack, timestamps, delayed_ack,
    nodelay, receive_buffer, receive_window, extra_ack, initial_rate, data_volume, announces,
    announces_first, stabilize, deadline, willing_rate, start, stop, delay, from_hop, to_hop, size)
    or a tunable of the control or startup. Raises ValueError naming the part that is wrong.
    """
    flows: list[Flow] = []
    for part in text.split(","):
        count, cross, rest = part.strip().partition("x")
        if not (cross and count.isdigit()):
            count, rest = "1", part.strip()
        if not rest or int(count) == 0:
            raise ValueError(f"{part!r}: write for example 2xcubic or 1xhtcp:adaptive_backoff=off")
        try:
            flows += [Flow.model_validate(_flow_fields(rest))] * int(count)
        except ValidationError as error:
            raise ValueError(f"{part.strip()}: {explain(error)}") from None
    return flows


_UNION_MEMBERS = ("dumbbell", "chain", "bulk", "cbr", "vectors", "pingpong", "sessions")


def explain(error: ValidationError) -> str:
    """The first thing that is wrong, as one line: the field, then what and what is allowed."""
    first = error.errors(include_url=False)[0]
    # Pydantic puts the chosen union member into the location; nobody wrote that.
    where = ".".join(
        str(part) for part in first["loc"] if part not in ("dumbbell", "chain", "bulk")
    )
    if first["type"] == "value_error":
        what = str(first["ctx"]["error"])
    elif first["type"] == "extra_forbidden":
        what = "no such field"
    else:
        what = f"{first['msg'].lower()} (got {first['input']!r})"
    return " ".join((f"{where}: {what}" if where else what).split())


def _mirror(link: Link, delay_ns: int) -> Link:
    return Link.model_construct(
        rate=link.rate,
        delay=delay_ns,
        buffer=link.buffer,
        aqm=Aqm(name="drop-tail"),
        quick_start=link.quick_start,
        drop_ip_options=link.drop_ip_options,
    )


def _named_withoptions_of_text(value: Any) -> dict[str, Any]:
    """Fields of a Control or Aqm from text ("htcp:adaptive_backoff=off") or from fields."""
    if isinstance(value, str):
        value = {"name": value}
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is no name")
    fields = dict(value)
    name, *options = _name_and_options(str(fields.get("name", "")))
    if options:
        fields.update(
            name=name, tunables={**dict(fields.get("tunables") or {}), **options_of_text(options)}
        )
    return fields


def _name_and_options(text: str) -> list[str]:
    """What colons separate; a kernel's own control has one in its name."""
    own = KERNEL_OWN if text.startswith(KERNEL_OWN) else ""
    name, *options = text.removeprefix(own).split(":")
    return [own + name, *options]


_FLOW_OPTIONS = frozenset(Flow.model_fields) - {"app", "control"} | {"size"}


def _flow_fields(text: str) -> dict[str, Any]:
    name, *parts = _name_and_options(text)
    options = options_of_text(parts)
    fields: dict[str, Any] = {key: options.pop(key) for key in _FLOW_OPTIONS if key in options}
    if name == "voip":
        if options:
            raise ValueError(f"voip has no option {next(iter(options))!r}")
        return {"app": Voip, **fields}
    if "size" in fields:
        fields["app"] = {"kind": "bulk", "size": fields.pop("size")}
    return {"control": {"name": name, "tunables": options}, **fields}
