"""The first divergence: made-up captures with one planted difference, and real ones."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest
from support import S, trace
from support import experiment as described
from test_try import run, tried

from headway.backends.sim import SimBackend
from headway.errors import HeadwayError
from headway.experiment import Capture, Experiment
from headway.packets import LEFT, RIGHT, Stream, streams
from headway.trace import Trace
from headway.validation.diverge import FIELDS, Compared, CompareOptions, captured, compare, diverge

MS = 1_000_000
OPENER, RESPONDER = (0x0A000001, 40_000), (0x0A000002, 5001)
ISN = {True: 4_000_000_000, False: 77}  # the opener's sequence numbers wrap around
TSVAL = {True: 5_000, False: 900_000}
FLAGS = {"F": 1, "S": 2, "R": 4, "P": 8, "A": 16, "E": 64, "C": 128}


@dataclass(frozen=True)
class Made:
    """A TCP packet for made-up captures; sequence and ACK numbers count from the SYN."""

    at_ns: int
    outbound: bool
    sequence: int = 1
    length: int = 0
    ack: int | None = 1
    window: int = 512
    flags: str = "A"
    options: bytes = b""
    ecn: int = 0
    value_ms: int | None = None
    echo_ms: int = 0
    sack: tuple[tuple[int, int], ...] = ()
    delay_ns: int = 10 * MS
    lost: bool = False

    def bytes(self) -> bytes:
        """The packet without payload, as a capture with a short snap length has it."""
        options = self.options
        if self.value_ms is not None:
            stamps = TSVAL[self.outbound] + self.value_ms, TSVAL[not self.outbound] + self.echo_ms
            options += b"\1\1\x08\x0a" + struct.pack(">II", *stamps)
        if self.sack:
            options += b"\1\1" + bytes([5, 2 + 8 * len(self.sack)])
            for edge in (edge for block in self.sack for edge in block):
                options += struct.pack(">I", (ISN[not self.outbound] + edge) % 2**32)
        options += b"\0" * (-len(options) % 4)
        source, destination = (OPENER, RESPONDER) if self.outbound else (RESPONDER, OPENER)
        bits = sum(FLAGS[flag] for flag in self.flags)
        acked = 0 if self.ack is None else ISN[not self.outbound] + self.ack
        tcp = struct.pack(
            ">HHIIBBHHH",
            *(source[1], destination[1]),
            *((ISN[self.outbound] + self.sequence) % 2**32, acked % 2**32),
            *((20 + len(options)) // 4 << 4, bits, self.window, 0, 0),
        )
        total = 20 + 20 + len(options) + self.length
        ip = struct.pack(
            ">BBHHHBBHII", 0x45, self.ecn, total, 0, 0, 64, 6, 0, source[0], destination[0]
        )
        return ip + tcp + options


def block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def pcapng(made: Sequence[Made]) -> bytes:
    """A capture in which each packet appears at both hosts."""
    seen = [(m.at_ns, LEFT if m.outbound else RIGHT, m) for m in made]
    seen += [(m.at_ns + m.delay_ns, RIGHT if m.outbound else LEFT, m) for m in made if not m.lost]
    blocks = [block(0x0A0D0D0A, bytes(16)), block(1, bytes(8)), block(1, bytes(8))]
    for time_ns, side, packet in seen:
        data = packet.bytes()
        head = struct.pack("<IIIII", side, time_ns >> 32, time_ns & 0xFFFFFFFF, len(data), 9999)
        blocks.append(block(6, head + data + bytes(-len(data) % 4)))
    return b"".join(blocks)


SYN_OPTIONS = b"\2\4\x05\xb4\1\3\3\7\4\2"
SYN = Made(0, True, 0, ack=None, window=64_240, flags="S", options=SYN_OPTIONS, value_ms=0)
MADE = [
    SYN,
    replace(SYN, at_ns=10 * MS, outbound=False, ack=1, flags="SA"),
    Made(20 * MS, True, value_ms=20),
    Made(20 * MS, True, 1, 1448, value_ms=20),
    Made(20 * MS + 1, True, 1449, 1448, value_ms=20, lost=True),
    Made(20 * MS + 2, True, 2897, 1448, flags="PA", value_ms=20),
    Made(30 * MS, False, ack=1449, value_ms=20, echo_ms=20),
    Made(30 * MS + 1, False, ack=1449, value_ms=20, echo_ms=20, sack=((2897, 4345),)),
    Made(240 * MS, True, 1449, 1448, value_ms=240, echo_ms=20),
    Made(250 * MS, False, ack=4345, value_ms=240, echo_ms=240),
]
"""Three segments; the second is lost and sent again."""


def made(packets: Sequence[Made] = MADE) -> Trace:
    tables = {
        "flow_state": [(0, 20 * MS, 10, None, 20_000, 3, 0), (0, 30 * MS, 5, 5, 20_500, 1, 3)],
        "backoffs": [(0, 230 * MS, 1, 5, 5)],
        "drops": [(0, 21 * MS, 0, 1500, 0)],
    }
    done = trace(tables, of=described(flows="1xcubic"), capture=pcapng(packets))
    flow = done.flows[0].model_copy(update={"first_packet_ns": packets[0].at_ns, "done_ns": S})
    return replace(done, flows=(flow,))


def planted(index: int, **changes: object) -> Trace:
    packets = list(MADE)
    packets[index] = replace(packets[index], **changes)  # type: ignore[arg-type]
    return made(packets)


def test_equal_captures_do_not_differ() -> None:
    compared = compare(made(), made())
    assert compared.first is None
    assert compared.packets == 2 * len(MADE) - 1
    assert compared.lines()[0].startswith("no packet differs: 19 packets at both hosts")


def test_numbers_count_from_the_syn_and_wrap() -> None:
    found = streams(made())
    sent = found[Stream(0, LEFT, True)]
    assert [(p.sequence, p.length) for p in sent[3:]] == [(1449, 1448), (2897, 1448), (1449, 1448)]
    last = found[Stream(0, LEFT, False)][2]
    assert (last.ack, last.sack, last.window) == (1449, ((2897, 4345),), 512 << 7)
    assert (last.timestamp, last.echo, last.time_ns) == (20, 20, 40 * MS + 1)


@pytest.mark.parametrize(
    ("index", "changes", "field", "values"),
    [
        (5, {"sequence": 4345}, "sequence", ("2897", "4345")),
        (5, {"length": 1000}, "length", ("1448", "1000")),
        (6, {"ack": 2897}, "ack", ("1449", "2897")),
        (6, {"window": 511}, "window", ("65536", "65408")),
        (1, {"window": 65_535}, "window", ("64240", "65535")),
        (5, {"flags": "A"}, "flags", ("PA", "A")),
        (5, {"ecn": 2}, "ecn", ("0", "2")),
        (0, {"options": b"\2\4\x05\xa0\1\3\3\7\4\2"}, "options",
         ("mss 1460 wscale 7 sackOK ts", "mss 1440 wscale 7 sackOK ts")),
        (0, {"options": b"\2\4\x05\xb4\1\3\3\7"}, "options",
         ("mss 1460 wscale 7 sackOK ts", "mss 1460 wscale 7 ts")),
        (6, {"options": b"\x1e\4\0\0"}, "options", ("ts", "ts kind 30")),
        (7, {"sack": ((2897, 4344),)}, "sack", ("2897-4345", "2897-4344")),
        (7, {"sack": ()}, "sack", ("2897-4345", "none")),
        (6, {"value_ms": None}, "options", ("ts", "none")),
        (6, {"value_ms": 30}, "timestamp", ("20 ms", "30 ms")),
        (9, {"echo_ms": 20}, "echo", ("240 ms", "20 ms")),
        (8, {"at_ns": 246 * MS}, "time", ("240.000 ms", "246.000 ms")),
    ],
)  # fmt: skip
def test_a_planted_difference_is_located(
    index: int, changes: dict[str, object], field: str, values: tuple[str, str]
) -> None:
    compared = compare(made(), planted(index, **changes))
    first = compared.first
    assert first is not None
    told = {difference.field: difference.values for difference in first.differences}
    assert told[field] == values
    outbound = MADE[index].outbound
    assert first.host == ("sender" if outbound else "receiver")
    assert first.sent
    assert first.number == sum(m.outbound == outbound for m in MADE[: index + 1])
    assert first.time_ns == MADE[index].at_ns
    text = "\n".join(compared.lines())
    assert text.startswith(f"first divergence: cubic-0, packet {first.number} sent by the ")
    assert max(map(len, compared.lines())) <= 100
    # a comparison with the two traces exchanged finds the same packet
    again = compare(planted(index, **changes), made()).first
    assert again is not None
    assert (again.host, again.number) == (first.host, first.number)


def test_times_within_the_tolerance_do_not_differ() -> None:
    late = planted(8, at_ns=244 * MS)
    assert compare(made(), late).first is None
    assert compare(made(), late, how=CompareOptions(tolerance_ns=3 * MS)).first is not None


def test_fields_that_are_ignored_and_what_came_too_early_are_passed_over() -> None:
    packets = list(MADE)
    packets[1] = replace(packets[1], window=65_535)
    packets[6] = replace(packets[6], window=400)
    packets[8] = replace(packets[8], length=1000)
    other = made(packets)

    def number(how: CompareOptions) -> tuple[int, bool]:
        first = compare(made(), other, how=how).first
        assert first is not None
        return first.number, first.sent

    assert number(CompareOptions()) == (1, True)
    # now the first difference is the arrival of the same packet at the other host
    assert number(CompareOptions(after_ns=15 * MS)) == (1, False)
    assert number(CompareOptions(after_ns=25 * MS)) == (2, True)
    assert number(CompareOptions(fields=("sequence", "length", "time"))) == (6, True)
    assert number(CompareOptions(after_ns=100 * MS)) == (6, True)
    assert compare(made(), other, how=CompareOptions(fields=("ack", "time"))).first is None
    assert "not compared: window" in str(
        CompareOptions(fields=tuple(f for f in FIELDS if f != "window"))
    )


def test_what_the_network_lost_differs_where_it_is_missing() -> None:
    first = compare(made(), planted(5, lost=True)).first
    assert first is not None
    assert (first.host, first.sent, first.number) == ("receiver", False, 4)
    assert ("sequence", ("2897", "1449")) in [(d.field, d.values) for d in first.differences]


def test_a_packet_that_one_run_does_not_have_differs_unless_that_run_was_over() -> None:
    compared = compare(made(), made(MADE[:-2]))
    assert compared.first is None  # the second run had ended, so packets after its end do not count
    unfinished = made(MADE[:-2])
    flow = unfinished.flows[0].model_copy(update={"done_ns": None})
    unfinished = replace(unfinished, flows=(flow,))
    first = compare(made(), unfinished).first
    assert first is not None
    assert [(d.field, d.values) for d in first.differences] == [("packet", ("there", None))]
    assert (first.host, first.number, first.time_ns) == ("sender", 6, 240 * MS)


def test_the_state_of_both_senders_is_that_of_the_moment() -> None:
    first = compare(made(), planted(8, at_ns=260 * MS)).first
    assert first is not None
    one, other = first.states
    assert one == other
    assert (one.cwnd_pkts, one.ssthresh_pkts, one.srtt_us, one.inflight_pkts) == (5, 5, 20_500, 1)
    assert (one.state, one.retransmitted_pkts, one.timeouts, one.drops_pkts) == (
        "recovery", 1, 1, 1,
    )  # fmt: skip
    early = compare(made(), planted(3, length=1400)).first
    assert early is not None
    assert (early.states[0].cwnd_pkts, early.states[0].ssthresh_pkts) == (10, None)
    assert (early.states[0].state, early.states[0].timeouts) == ("open", 0)


def test_what_came_before_ends_with_the_packet_that_differs() -> None:
    first = compare(made(), planted(8, at_ns=260 * MS), how=CompareOptions(before=2)).first
    assert first is not None
    lines = [line.split() for line in first.before[0]]
    assert [line[-1] for line in lines] == ["20", "2897-4345", "20"]
    assert lines[-1][:4] == [">", "240.000", "sent", "1449+1448"]
    assert [line[0] for line in lines[:-1]] == ["40.000", "40.000"]


def test_runs_that_start_at_other_times_are_aligned() -> None:
    moved = [replace(m, at_ns=m.at_ns + 777 * MS) for m in MADE]
    assert compare(made(), made(moved)).first is None


def test_when_hosts_close_is_not_compared() -> None:
    """One run sends its FIN before the last segment is repaired, the other after all ACKs."""
    fin = Made(20 * MS + 3, True, 4345, flags="FA", value_ms=20)
    early = [*MADE[:6], fin, *MADE[6:8]]
    early += [
        Made(30 * MS + 2, False, ack=1449, value_ms=20, echo_ms=20, sack=((2897, 4346),)),
        MADE[8],
        replace(MADE[9], ack=4346),
        Made(251 * MS, False, 1, ack=4346, flags="FA", value_ms=241, echo_ms=240),
    ]
    late = [
        *MADE,
        Made(270 * MS, True, 4345, ack=1, flags="FA", value_ms=270, echo_ms=240),
        Made(280 * MS, False, 1, ack=4346, flags="FA", value_ms=270, echo_ms=270),
        Made(290 * MS, True, 4346, ack=2, value_ms=290, echo_ms=270),
    ]
    assert compare(made(early), made(late)).first is None
    short = [*early[:5], replace(early[5], length=1000), *early[6:]]
    assert compare(made(short), made(late)).first is not None


def test_a_link_that_was_late_is_told() -> None:
    other = planted(8, at_ns=260 * MS)
    stalls = {"forward0": [[3 * MS, 9 * MS], [200 * MS, 215 * MS]], "reverse0": []}
    late = replace(other, meta={**other.meta, "emulator": {"stalls_ns": stalls}})
    first = compare(made(), late).first
    assert first is not None
    assert first.late == ("forward0 was 15.000 ms late at 200.000 ms",)
    assert "the machine may be the cause: repeat the run" in compare(made(), late).lines()
    on_time = compare(made(), other).first
    assert on_time is not None
    assert on_time.late == ()


def test_a_capture_without_a_flow_is_one_line() -> None:
    with pytest.raises(HeadwayError, match="capture has 0 connections, and 1 flows sent"):
        compare(made(), replace(made(), capture=pcapng([])))
    with pytest.raises(HeadwayError, match="no capture"):
        compare(made(), replace(made(), capture=None))


PATH = {"kind": "dumbbell", "rate": "5 Mbit/s", "rtt": "40 ms", "buffer": "8 pkts"}


def experiment(flows: object = "1xcubic:size=400kB", **more: object) -> Experiment:
    return Experiment.model_validate({"topology": PATH, "flows": flows, "duration": "3 s", **more})


def simulated(of: Experiment) -> Trace:
    return SimBackend().run(of)


def test_the_simulators_hosts_see_what_its_link_carries() -> None:
    """A capture at the first link has the same packets as a capture at the hosts, at nearby
    times.
    """
    at_link = simulated(experiment(capture=Capture()))
    at_hosts = streams(simulated(captured(experiment())))
    of_link = streams(at_link)
    assert set(of_link) == {Stream(0, LEFT, True), Stream(0, LEFT, False)}
    for key, packets in of_link.items():
        assert len(packets) > 100
        for there, here in zip(at_hosts[key], packets, strict=True):
            apart_ns = here.time_ns - there.time_ns if key.sent else there.time_ns - here.time_ns
            # the times differ by what a packet spends on the access link (1 Gbit/s) and in its
            # queue
            assert 0 < apart_ns < 2 * MS
            assert replace(there, time_ns=0) == replace(here, time_ns=0)
    lost = at_link.tables["drops"].height
    sent = {way: len(at_hosts[Stream(0, way, True)]) for way in (LEFT, RIGHT)}
    assert lost > 0
    assert len(at_hosts[Stream(0, RIGHT, False)]) == sent[LEFT] - lost
    assert len(at_hosts[Stream(0, LEFT, False)]) == sent[RIGHT]


def test_delays_of_access_links_lie_between_the_hosts() -> None:
    delayed = experiment("1xcubic:size=20kB:delay=30ms")
    found = streams(simulated(captured(delayed)))
    sent = found[Stream(0, LEFT, True)][0].time_ns
    came = found[Stream(0, RIGHT, False)][0].time_ns
    back = found[Stream(0, LEFT, False)][0].time_ns
    assert came - sent == pytest.approx(50 * MS, rel=0.01)
    assert back - sent == pytest.approx(100 * MS, rel=0.01)


def test_a_run_of_several_flows_and_datagrams_has_a_stream_for_each() -> None:
    found = streams(simulated(captured(experiment("2xcubic:size=50kB,1xvoip"))))
    assert {key.flow for key in found} == {0, 1, 2}
    datagrams = found[Stream(2, LEFT, True)]
    assert {(p.sequence, p.flags) for p in datagrams} == {(None, "")}
    assert datagrams[0].length > 0


class Changed:
    """A simulator that changes each experiment before it runs it."""

    name = "changed"

    def __init__(self, change: Callable[[Experiment], Experiment]) -> None:
        self._change = change

    def run(self, asked: Experiment) -> Trace:
        return simulated(self._change(asked))


def beside(change: Callable[[Experiment], Experiment], of: Experiment) -> Compared:
    return diverge(of, SimBackend(), Changed(change))  # type: ignore[arg-type]


def test_two_simulations_of_one_experiment_do_not_differ() -> None:
    compared = beside(lambda asked: asked, experiment())
    assert compared.first is None
    assert compared.packets > 800


def test_another_option_of_one_side_is_located() -> None:
    def small(asked: Experiment) -> Experiment:
        [flow] = asked.flows
        changed = flow.model_copy(update={"rmem": (4096, 32_768, 6 << 20)})
        return asked.model_copy(update={"flows": (changed,)})

    first = beside(small, experiment()).first
    assert first is not None
    assert (first.host, first.sent, first.number) == ("sender", True, 1)
    assert [d.field for d in first.differences] == ["window"]


def test_another_queue_of_one_side_is_located_where_a_packet_is_missing() -> None:
    def shallow(asked: Experiment) -> Experiment:
        path = asked.topology.model_copy(update={"buffer": experiment().topology.buffer})
        return asked.model_copy(update={"topology": path})

    deep = experiment().model_copy(
        update={
            "topology": type(experiment().topology).model_validate({**PATH, "buffer": "9 pkts"})
        }
    )
    first = beside(shallow, deep).first
    assert first is not None
    assert (first.host, first.sent) == ("receiver", False)
    assert first.states[1].drops_pkts > first.states[0].drops_pkts


def test_what_cannot_be_aligned_is_refused() -> None:
    exchanges = [["1 kB", "2 kB", "0 s"]]
    several = {"app": {"kind": "vectors", "epochs": exchanges, "connections": [1]},
               "control": "reno"}  # fmt: skip
    with pytest.raises(HeadwayError, match="vectors is not allowed with more than one connection"):
        captured(experiment([several]))
    relayed = "reno:relay=1"
    hop = {"forward": {"rate": "5 Mbit/s", "delay": "10 ms", "buffer": "20 pkts"}}
    path = {"kind": "chain", "hops": [hop, hop]}
    with pytest.raises(HeadwayError, match="relay is not allowed; use flows without a relay"):
        captured(experiment(relayed, topology=path))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--diverge"], "--diverge: needs a second backend; add --beside kernel"),
        (["--diverge-time", "1 ms"], "--diverge-time: needs --diverge"),
        (
            ["--beside", "kernel", "--diverge", "--diverge-time", "1 m"],
            "--diverge-time: unknown unit 'm'",
        ),
    ],
)
def test_options_that_do_not_go_together_are_one_line(capfd, options, said) -> None:
    status, out, err = run(capfd, "try", *options)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_what_try_prints_of_a_divergence(capfd, monkeypatch: pytest.MonkeyPatch) -> None:
    import headway.cli.adhoc as command

    named = command.backend_named

    class Quicker(SimBackend):
        name = "kernel"

        def run_each(self, experiments, work, finished, threads=0, failed=None):
            slower = [e.model_copy(update={"stack": "linux-2.6"}) for e in experiments]
            super().run_each(slower, work, finished, threads, failed)

    monkeypatch.setattr(
        command, "backend_named", lambda name: Quicker() if name == "kernel" else named(name)
    )
    options = ["--flows", "cubic:size=50kB", "--duration", "5s", "--beside", "kernel", "--diverge"]
    status, out, _ = run(capfd, "try", *options)
    assert status == 0
    assert "first divergence: cubic-0, packet 1 sent by the sender, 0.000 ms after" in out
    assert "window" in out
    result = tried(capfd, *options)
    assert result["divergence"]["first"]["number"] == 1
    assert result["divergence"]["names"] == ["sim", "kernel"]
