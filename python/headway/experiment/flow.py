"""One flow, and the compact text form of flows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from headway import units
from headway.engine import engine
from headway.errors import ExperimentError
from headway.experiment.algorithms import KERNEL_OWN, Control
from headway.experiment.apps import (
    Bulk,
    Cbr,
    Exchanges,
    Pages,
    Pingpong,
    Requests,
    Sessions,
    Site,
    Transfers,
    Vectors,
    Voip,
)
from headway.registry import is_recorded, registry
from headway.spec import (
    Given,
    MaybeLength,
    MaybeMemory,
    MaybeRate,
    MaybeSize,
    MaybeTime,
    Spec,
    Time,
    Written,  # noqa: F401 - see Given
    default,
    shorten,
    within,
)

if TYPE_CHECKING:
    from headway._engine import FlowFields

_SOCKET_OPTION = within(
    engine.MIN_SOCKET_OPTION_BYTES,
    engine.MAX_SOCKET_OPTION_BYTES,
    units.format_size,
    "2048 B to 512 MiB",
)
_LONGEST_NAME = engine.MAX_NAME_CHARS
_WINDOW = within(engine.MIN_WINDOW_BYTES, engine.MAX_WINDOW_BYTES, units.format_size)


Ecn = Literal[
    "off",
    "on",
    "passive",
    "off/on",
    "off/passive",
    "on/off",
    "on/passive",
    "passive/off",
    "passive/on",
    "accurate",
    "accurate/off",
    "accurate/on",
    "accurate/passive",
    "off/accurate",
    "on/accurate",
    "passive/accurate",
]
"""ECN setting of both ends of a connection, or of the opener and the responder."""
ACCURATE = "accurate"
ASKING = ("on", ACCURATE)
"""ECN settings with which an opener asks for ECN."""


Direction = Literal["forward", "reverse"]
"""The direction in which a flow's opener sends through a dumbbell or a chain."""


class Relay(Spec):
    """A host at router ``at_hop`` of a chain that splits a flow's connection in two.

    Like a split-TCP proxy, it has one connection to each end. It reads from one end only as much as
    fits into its send buffer towards the other end, so a slow leg slows the fast one. ``control``
    and ``stack`` apply to what it sends to both ends; None takes the flow's.
    """

    at_hop: int = Field(ge=1)
    control: Given[Control | None, Control | Mapping[str, Any] | str | None] = default(None)
    stack: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        is_number = isinstance(value, int) or (isinstance(value, str) and value.isdecimal())
        return {"at_hop": value} if is_number else value

    @field_validator("control", mode="before")
    @classmethod
    def _parse_control(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("stack")
    @classmethod
    def _known_stack(cls, value: str | None) -> str | None:
        return value and registry().stack(value).name


class Flow(Spec):
    """One connection (or UDP stream) from its own host to another host of its own.

    Path and time: ``start`` None lets the experiment draw it from its ``start_spread``. ``delay``
    is extra one-way delay on the flow's path, in each direction. ``from_hop`` and ``to_hop`` are
    routers of a chain, counted from 0: the flow enters at one, leaves at the other, and crosses the
    hops between; ``to_hop`` None is behind the last hop. With ``direction`` "reverse" the flow runs
    the other way: its opener is at ``to_hop`` (in a dumbbell, on the far side), so that an upload
    runs beside a download. A ``relay`` splits the connection at a router in between: see ``Relay``.
    In a network, ``source`` and ``destination`` name the nodes of the opener and of the other end.
    ``route`` and ``reverse_route`` list the nodes that packets pass, from end to end, as a list of
    names or as "a-b-c"; None is the shortest route. ``stack`` is the TCP stack of both hosts; None
    is the experiment's.

    Buffers of both hosts, as in Linux. ``rcvbuf`` and ``sndbuf``, 2048 B to 512 MiB, are the values
    of SO_RCVBUF and SO_SNDBUF: the kernel doubles them, and the buffers do not grow, so ``rcvbuf``
    limits the receive window. ``rmem`` and ``wmem`` are the minimum, default and maximum of
    tcp_rmem and tcp_wmem, each 4096 B to 1 GiB: the buffers begin with the default and grow up to
    the maximum. The minimum has no effect, because hosts are not short of memory. Writers wait for
    room in the send buffer, with ``linux-2.6`` only if ``wmem`` or ``sndbuf`` is set.
    ``initial_rwnd``, 2920 B to 8 MiB, is the receive window at the start, which grows with the
    buffer; the default of ``rmem`` is raised to twice this if ``rmem`` is None. With ``extra_ack``
    the responder announces it again right after its SYN-ACK, whose own window is at most 65535
    bytes. The receiver of a bulk transfer reads at once, or data at ``read_rate``, or at most
    ``read_size`` every ``read_interval``, beginning one interval after the connection opened.

    Hints of the application: ``initial_rate`` is the rate to start with, in IP bits per second, and
    ``data_volume`` the volume that will follow. The application sets both before it sends, and
    startups may use them. With ``stabilize`` it never needs more than the initial rate.
    ``deadline`` is the time in which a response should arrive after its request was sent, or a bulk
    transfer with a size after its start. Without an initial rate the deadline determines one, and
    whether a fast startup is needed. With ``announces`` each side announces the volume of every
    connection; with ``announces_first`` only the size of the first message. ``willing_rate`` is the
    highest rate that both hosts accept as receivers of Quick-Start requests; below 80 kbit/s they
    do not answer.

    ``ecn`` is the ECN setting (RFC 3168), as Linux's tcp_ecn: "off", "on" (requests ECN when
    opening a connection, and accepts it), "passive" (accepts it) or "accurate" (Accurate ECN,
    RFC 9768: requests and accepts it, and falls back to ECN; not with linux-2.6). It applies to
    both ends or, as "on/passive" or a pair, to the opener and the responder. None is the stack's:
    "passive" with linux-6 and "off" with linux-2.6. ``frto`` False disables F-RTO (RFC 5682,
    Linux's tcp_frto), which detects spurious timeouts, at both ends. None is the stack's: on with
    linux-6, and off with linux-2.6, which does not have it.
    """

    app: Annotated[
        Bulk
        | Cbr
        | Vectors
        | Exchanges
        | Pages
        | Pingpong
        | Sessions
        | Requests
        | Site
        | Transfers,
        Field(discriminator="kind"),
    ] = Bulk()
    control: Given[Control | None, Control | Mapping[str, Any] | str | None] = default(None)
    name: str | None = None
    sack: bool = True
    timestamps: bool = True
    delayed_ack: bool = True
    ecn: Given[Ecn | None, Ecn | tuple[str, str] | None] = default(None)
    frto: bool | None = None
    nodelay: bool = False
    stack: str | None = None
    rcvbuf: Annotated[MaybeSize, _SOCKET_OPTION] = default(None)
    sndbuf: Annotated[MaybeSize, _SOCKET_OPTION] = default(None)
    rmem: MaybeMemory = default(None)
    wmem: MaybeMemory = default(None)
    read_rate: MaybeRate = default(None)
    read_size: MaybeSize = default(None)
    read_interval: MaybeLength = default(None)
    initial_rwnd: Annotated[MaybeSize, _WINDOW] = default(None)
    extra_ack: bool = False
    initial_rate: MaybeRate = default(None)
    data_volume: MaybeSize = default(None)
    announces: bool = False
    announces_first: bool = False
    stabilize: bool = False
    deadline: MaybeLength = default(None)
    willing_rate: MaybeRate = default(None)
    start: MaybeTime = default(None)
    stop: MaybeTime = default(None)
    delay: Time = default(0)
    from_hop: int = Field(default=0, ge=0)
    to_hop: int | None = Field(default=None, ge=1)
    direction: Direction = "forward"
    source: str | None = None
    destination: str | None = None
    route: Given[str | None, str | Sequence[str] | None] = default(None)
    reverse_route: Given[str | None, str | Sequence[str] | None] = default(None)
    relay: Given[Relay | None, Relay | Mapping[str, Any] | int | None] = default(None)

    @model_validator(mode="before")
    @classmethod
    def _rename_options(cls, value: Any) -> Any:
        """Convert options with former names; runs after ``_parse_text``."""
        if isinstance(value, dict) and not value.keys().isdisjoint(engine.RENAMED_OPTIONS):
            return _renamed(value)
        return value

    @model_validator(mode="before")
    @classmethod
    def _parse_text(cls, value: Any) -> Any:
        return _flow_fields(engine.parse_flow(value)) if isinstance(value, str) else value

    @field_validator("control", mode="before")
    @classmethod
    def _parse_control(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("ecn", mode="before")
    @classmethod
    def _join_ecn(cls, value: Any) -> Any:
        if isinstance(value, tuple | list) and len(value) == 2:
            return str(value[0]) if value[0] == value[1] else f"{value[0]}/{value[1]}"
        return value

    @field_validator("source", "destination", "route", "reverse_route")
    @classmethod
    def _check_nodes(cls, value: str | None) -> str | None:
        if value is not None:
            engine.check_nodes(value)
        return value

    @field_validator("route", "reverse_route", mode="before")
    @classmethod
    def _join_nodes(cls, value: Any) -> Any:
        return "-".join(map(str, value)) if isinstance(value, tuple | list) else value

    @field_validator("stack")
    @classmethod
    def _known_stack(cls, value: str | None) -> str | None:
        return value and registry().stack(value).name

    @model_validator(mode="after")
    def _check_control(self) -> Self:
        if isinstance(self.app, Cbr | Requests) and self.control is not None:
            raise ValueError(f"a {self.app.kind} flow is UDP and has no control")
        if not isinstance(self.app, Cbr | Requests) and self.control is None:
            raise ValueError("a TCP flow needs a control, for example control='cubic'")
        return self

    @model_validator(mode="after")
    def _check_ecn(self) -> Self:
        name = "" if self.control is None else self.control.name
        asked = [mode for mode in self.ecn_of_ends or () if mode in ASKING]
        if not asked or name.startswith(KERNEL_OWN) or is_recorded(name):
            return self
        if registry().control(name).takes_ecn_bits:
            raise ValueError(
                f"ecn: {asked[0]} is not allowed; the header of {name} is in the ECN bits, so its "
                "flows cannot use ECN"
            )
        return self

    @model_validator(mode="after")
    def _check_announces(self) -> Self:
        if self.announces and self.announces_first:
            raise ValueError(
                "announces_first: cannot be used with announces; leave one of them out"
            )
        return self

    @model_validator(mode="after")
    def _check_deadline(self) -> Self:
        bounded = isinstance(self.app, Vectors | Sessions | Exchanges | Pages | Site)
        bounded = bounded or (isinstance(self.app, Bulk) and self.app.size is not None)
        if self.deadline is not None and not bounded:
            raise ValueError(
                "deadline: is only for applications with responses, and for bulk transfers with a "
                "size"
            )
        return self

    @model_validator(mode="after")
    def _check_reading(self) -> Self:
        portions = (self.read_size is None, self.read_interval is None)
        if portions[0] != portions[1]:
            raise ValueError("read_size, read_interval: must be set together; set both or neither")
        if self.read_rate is not None and not portions[0]:
            raise ValueError("read_rate: cannot be used with read_size; leave one of them out")
        slow = self.read_rate is not None or not portions[0]
        if slow and not isinstance(self.app, Bulk):
            name = "read_size" if self.read_rate is None else "read_rate"
            raise ValueError(f"{name}: is only for bulk transfers, not for {self.app.kind}")
        return self

    @model_validator(mode="after")
    def _check_hops_and_times(self) -> Self:
        if self.to_hop is not None and self.from_hop >= self.to_hop:
            raise ValueError(
                f"from_hop: {self.from_hop} is not allowed; must be less than to_hop, {self.to_hop}"
            )
        if self.relay is not None:
            self._check_relay(self.relay.at_hop)
        if self.start is not None and self.stop is not None and self.stop <= self.start:
            raise ValueError(
                f"stop: {units.format_time(self.stop)} is not allowed; "
                f"must be later than start, {units.format_time(self.start)}"
            )
        return self

    @model_validator(mode="after")
    def _check_load(self) -> Self:
        load = self.app.load if isinstance(self.app, Transfers) else None
        if load is not None and load >= 1 and self.stop is None:
            raise ValueError(
                f"app.load: {load:g} is not allowed; less than 1, or set stop: an overload cannot "
                "last"
            )
        return self

    def _check_relay(self, at_hop: int) -> None:
        if self.control is None:
            raise ValueError("relay: a UDP flow has no connection to split")
        if at_hop <= self.from_hop or (self.to_hop is not None and at_hop >= self.to_hop):
            end = "the end" if self.to_hop is None else self.to_hop
            raise ValueError(
                f"relay.at_hop: {at_hop} is not allowed; "
                f"between from_hop, {self.from_hop}, and to_hop, {end}"
            )

    @field_validator("name")
    @classmethod
    def _check_name(cls, value: str | None) -> str | None:
        if value is not None and not (len(value) <= _LONGEST_NAME and value.isprintable()):
            raise ValueError(
                f"{shorten(repr(value))} is not allowed; up to {_LONGEST_NAME} printable characters"
            )
        return value

    @property
    def ecn_of_ends(self) -> tuple[str, str] | None:
        """The ECN settings of the opener and the responder; None uses the stack's defaults."""
        if self.ecn is None:
            return None
        opener, _, responder = self.ecn.partition("/")
        return opener, responder or opener

    @property
    def is_tcp(self) -> bool:
        """Whether this flow is a TCP connection."""
        return self.control is not None


def _renamed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with present names; warns of each former name. Raises ValueError."""
    made = {name: value for name, value in fields.items() if name not in engine.RENAMED_OPTIONS}
    for old in engine.RENAMED_OPTIONS:
        written = fields.get(old)
        if written is None:
            continue
        try:
            if not isinstance(written, str):
                units.parse_size(written)  # always raises: a number without a unit, or no size
            new, value = engine.renamed_option(old, str(written)) or (old, written)
        except ValueError as error:
            raise ValueError(f"{old}: {error}") from None
        if made.get(new) is not None:
            raise ValueError(f"{old}: cannot be used with {new}; leave {old} out")
        made[new] = value
        short = value.replace(" ", "")
        warnings.warn(
            f"{old} has another name since 0.2; write {new}={short}", FutureWarning, stacklevel=2
        )
    return made


FLOW_OPTIONS = engine.FLOW_OPTIONS
"""Options of a flow's text form, in addition to the tunables of its algorithms."""


def parse_flows(text: str) -> list[Flow]:
    """Parse flows from text: ``COUNTxNAME[+STARTUP][:OPTION=VALUE]...``, separated by commas.

    NAME is a control, or "voip". An option is one of FLOW_OPTIONS (the fields of Flow, and
    ``size`` of a bulk transfer, written with their units) or a tunable of the control or startup.
    There may be up to 1,000,000 flows. Raises ExperimentError, which names the wrong part.
    """
    try:
        parts = engine.parse_flows(text)
    except ValueError as error:
        raise ExperimentError(str(error)) from None
    flows: list[Flow] = []
    for number, part, fields in parts:
        try:
            flows += [Flow.model_validate(_flow_fields(fields))] * number
        except ExperimentError as error:
            raise ExperimentError(f"{part}: {error}") from None
    return flows


def _flow_fields(parsed: FlowFields) -> dict[str, Any]:
    control, options = parsed
    fields: dict[str, Any] = dict(options)
    if control is None:
        return {"app": Voip, **fields}
    if app := _take_app(fields):
        fields["app"] = app
    if "relay_control" in fields:
        if "relay" not in fields:
            raise ValueError("relay_control: needs a relay; set relay, too")
        fields["relay"] = {
            "at_hop": fields["relay"],
            "control": fields.pop("relay_control"),
        }
    name, startup, tunables = control
    return {"control": {"name": name, "startup": startup, "tunables": tunables}, **fields}


def _take_app(fields: dict[str, Any]) -> dict[str, Any]:
    """Remove the application's options from ``fields``, and return the application's fields."""
    ways = [name for name in ("arrivals", "load", "think") if name in fields]
    if ways:
        return _take_transfers(fields)
    for name in ("spacing", "sizes"):
        if name in fields:
            raise ValueError(f"{name}: is only for transfers; set arrivals, load or think, too")
    kinds = [name for name in ("size", "exchanges", "pages") if name in fields]
    if len(kinds) > 1:
        raise ValueError(f"{kinds[0]}: cannot be used with {kinds[-1]}; leave one of them out")
    web_names = ("http", "connections")
    web_options: dict[str, Any] = {name: fields.pop(name) for name in web_names if name in fields}
    if web_options and kinds != ["pages"]:
        raise ValueError(f"{next(iter(web_options))}: is only for Web pages; set pages=FILE, too")
    match kinds:
        case ["size"]:
            return {"kind": "bulk", "size": fields.pop("size")}
        case [kind]:
            return {"kind": kind, "file": fields.pop(kind), **web_options}
    return {}


def _take_transfers(fields: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of transfers from ``fields``, and return the application's fields.

    ``size`` is short for ``sizes`` with one size.
    """
    other = next((name for name in ("exchanges", "pages") if name in fields), None)
    if other is not None:
        raise ValueError(f"{other}: cannot be used with transfers; leave one of them out")
    names = ("arrivals", "load", "think", "spacing", "sizes", "size")
    app = {name: fields.pop(name) for name in names if name in fields}
    if "size" in app and "sizes" in app:
        raise ValueError("size: cannot be used with sizes; leave one of them out")
    if "size" in app:
        app["sizes"] = app.pop("size")
    return {"kind": "transfers", **app}
