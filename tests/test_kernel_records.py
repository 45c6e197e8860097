"""Tables of the kernel's records, from records written by hand."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from headway.backends.kernel import records
from headway.errors import HeadwayError

START_NS = 5_000_000_000
MS = 1_000_000


def packet(**fields: int) -> np.ndarray:
    row = np.zeros(1, dtype=records.PACKET)
    row["destination_port"] = 20_001
    row["ip_bytes"] = 1500
    for name, value in fields.items():
        row[name] = value + (START_NS if name.endswith("_ns") else 0)
    return row


def log_of(tmp_path: Path, *rows: np.ndarray) -> records.PacketLog:
    path = tmp_path / "log"
    np.concatenate(rows).tofile(path)
    return records.PacketLog.load(path, [20_001], START_NS, 1000 * MS)


@pytest.fixture
def log(tmp_path: Path) -> records.PacketLog:
    return log_of(
        tmp_path,
        # the log's order is that of leaving the emulator; a dropped packet leaves when it arrives
        packet(arrived_ns=20 * MS, outcome=1),
        packet(arrived_ns=21 * MS, outcome=1),
        packet(arrived_ns=22 * MS, outcome=2, ip_bytes=52),
        packet(arrived_ns=10 * MS, departed_ns=30 * MS, delivered_ns=40 * MS),
        packet(arrived_ns=12 * MS, departed_ns=50 * MS, delivered_ns=60 * MS),
        packet(arrived_ns=35 * MS, departed_ns=60 * MS, delivered_ns=70 * MS),
        packet(
            arrived_ns=61 * MS, departed_ns=61 * MS + 500, delivered_ns=71 * MS, link=1,
            source_port=20_001, destination_port=4, ip_bytes=52,
        ),
        packet(
            arrived_ns=62 * MS, departed_ns=63 * MS, delivered_ns=72 * MS, link=1,
            source_port=9, destination_port=20_001, ip_bytes=52,
        ),
    )  # fmt: skip


def test_the_queue_follows_arrivals_and_departures(log: records.PacketLog) -> None:
    queue = log.queue(0)
    assert (queue["time_ns"] // MS).to_list() == [10, 12, 30, 35, 50, 60]
    assert queue["queue_pkts"].to_list() == [1, 2, 1, 2, 1, 0]
    assert queue["queue_bytes"].to_list() == [1500, 3000, 1500, 3000, 1500, 0]


def test_drops_have_their_flow_and_reason(log: records.PacketLog) -> None:
    drops = log.drops()
    assert drops["reason"].to_list() == [0, 0, 1]
    assert drops["flow"].to_list() == [0, 0, 0]
    assert drops["ip_bytes"].to_list() == [1500, 1500, 52]


def test_the_queue_is_full_from_the_first_drop_until_a_packet_is_taken(
    log: records.PacketLog,
) -> None:
    [row] = log.queue_full(0).rows()
    assert row == (0, 20 * MS, 35 * MS, 2)
    assert log.queue_full(1).height == 0


def test_a_packet_that_the_queue_drops_at_its_head_has_waited_in_it(tmp_path: Path) -> None:
    log = log_of(
        tmp_path,
        packet(arrived_ns=10 * MS, departed_ns=20 * MS, outcome=3, ip_bytes=1000),
        packet(arrived_ns=15 * MS, outcome=1),
        packet(arrived_ns=12 * MS, departed_ns=30 * MS, delivered_ns=40 * MS),
    )
    queue = log.queue(0)
    assert (queue["time_ns"] // MS).to_list() == [10, 12, 20, 30]
    assert queue["queue_bytes"].to_list() == [1000, 2500, 1500, 0]
    drops = log.drops()
    assert (drops["time_ns"] // MS).to_list() == [15, 20]
    assert drops["reason"].to_list() == [0, 2]
    counters = log.link_counters(0, [15 * MS, 1000 * MS])
    assert counters["dropped_pkts"].to_list() == [1, 2]
    assert counters["sent_pkts"].to_list() == [0, 1]


def test_stalls_are_when_packets_waited_for_the_emulator(tmp_path: Path) -> None:
    def due(due_ms: float, delivered_ms: float, link: int = 0) -> np.ndarray:
        due_ns, delivered_ns = int(due_ms * MS), int(delivered_ms * MS)
        return packet(arrived_ns=0, due_ns=due_ns, delivered_ns=delivered_ns, link=link)

    log = log_of(
        tmp_path,
        due(-3, -1),  # before the run
        due(10, 10.04),  # late, but less than the least delay that counts as a stall
        due(20, 25),
        due(21.2, 25.01),
        due(26, 26.1),
        due(30, 31, link=1),
        packet(arrived_ns=40 * MS, outcome=1),
    )
    assert log.stalls_ns(0) == [[20 * MS, 25_010_000], [26 * MS, 26_100_000]]
    assert log.stalls_ns(1) == [[30 * MS, 31 * MS]]


def test_link_counters_count_until_each_checkpoint(log: records.PacketLog) -> None:
    counters = log.link_counters(0, [0, 20 * MS, 1000 * MS])
    assert counters["arrived_pkts"].to_list() == [0, 3, 6]
    assert counters["sent_pkts"].to_list() == [0, 0, 3]
    assert counters["dropped_bytes"].to_list() == [0, 1500, 3052]
    # until 20 ms: 1500 B for 2 ms and 3000 B for 8 ms; later 3000 B for 10 ms, 1500 B for 5 ms,
    # 3000 B for 15 ms and 1500 B for 10 ms
    assert counters["queue_byte_us"].to_list()[1] == 1500 * 2000 + 3000 * 8000
    assert counters["queue_byte_us"].to_list()[2] == 1500 * 2000 + 3000 * 18_000 + (
        1500 * 5000 + 3000 * 15_000 + 1500 * 10_000
    )


def test_a_flow_lasts_from_its_first_to_its_last_packet_at_the_sender(
    log: records.PacketLog,
) -> None:
    # the packet from port 9 belongs to no flow
    assert log.span_ns(0, 0) == (10 * MS, 71 * MS)
    # the first packet left its host before the delay of the host's own link
    assert log.span_ns(0, 3 * MS) == (7 * MS, 71 * MS)


def test_a_packet_of_a_network_has_a_row_for_each_link_of_its_route(tmp_path: Path) -> None:
    # Flow 0 has two links there and one back, flow 1 has a link in the other direction. Link 2
    # leads there for both.
    def crossed(
        start_ms: int, link: int, port: int, *, to_server: bool, **fields: int
    ) -> np.ndarray:
        ports = {"destination_port": port, "source_port": 40_000}
        if not to_server:
            ports = {"destination_port": 40_000, "source_port": port}
        times = {"arrived_ns": start_ms * MS, "departed_ns": (start_ms + 1) * MS}
        ends = {"delivered_ns": (start_ms + 2) * MS}
        return packet(link=link, **ports, **times, **ends, **fields)

    path = tmp_path / "log"
    rows = [
        crossed(10, 2, 20_001, to_server=True, packet=1, flags=1),
        crossed(12, 4, 20_001, to_server=True, packet=1, flags=1),
        crossed(14, 1, 20_001, to_server=False, packet=2),
        crossed(20, 2, 20_002, to_server=True, packet=3, flags=1),
        crossed(22, 3, 20_002, to_server=False, packet=4, flags=1),
        crossed(24, 3, 20_001, to_server=False, packet=5),  # not on the way of its flow
    ]
    np.concatenate(rows).tofile(path)
    routes = [((2, 4), (1,)), ((2,), (3,))]
    log = records.PacketLog.load(path, [20_001, 20_002], START_NS, 1000 * MS, routes)
    assert log.flow.tolist() == [0, 0, 0, 1, 1, -1]
    assert log.span_ns(0, 0) == (10 * MS, 16 * MS)
    assert log.span_ns(1, 0) == (20 * MS, 24 * MS)
    assert log.first_arrivals_ns(0) == {40_000: START_NS + 16 * MS}
    # the packet that two links marked counts once
    assert (log.marks(0), log.marks(0, is_back=True)) == (1, 0)
    assert (log.marks(1), log.marks(1, is_back=True)) == (1, 1)
    assert [log.link_counters(link, [1000 * MS])["sent_pkts"].item() for link in range(5)] == [
        0, 1, 2, 2, 1
    ]  # fmt: skip


def test_a_log_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x" * 65)
    with pytest.raises(HeadwayError, match="ends within a record"):
        records.PacketLog.load(tmp_path / "log", [], 0, 1)


def sample(**fields: int) -> np.ndarray:
    row = np.zeros(1, dtype=records.SAMPLE)
    row["ssthresh_pkts"] = 0x7FFFFFFF
    for name, value in fields.items():
        row[name] = value + (START_NS if name.endswith("_ns") else 0)
    return row


SAMPLES = np.concatenate(
    [
        sample(kind=records.SYN, time_ns=0),
        sample(kind=records.ESTABLISHED, time_ns=50 * MS, cwnd_pkts=10, srtt_8us=400_000),
        sample(kind=records.ACK, time_ns=100 * MS, since_ns=50 * MS, cwnd_pkts=10,
               srtt_8us=400_000, sent_pkts=10, acked_bytes=1),
        sample(kind=records.ACK, time_ns=101 * MS, since_ns=100 * MS, cwnd_pkts=12,
               srtt_8us=400_000, sent_pkts=12, acked_bytes=2897),
        sample(kind=records.CA_STATE, time_ns=102 * MS, ca_state=3, cwnd_pkts=12,
               prior_cwnd_pkts=12, ssthresh_pkts=6),
        sample(kind=records.ACK, time_ns=103 * MS, since_ns=101 * MS, ca_state=3, cwnd_pkts=7,
               ssthresh_pkts=6, srtt_8us=400_008, retransmits_pkts=1, sent_pkts=13),
        sample(kind=records.CA_STATE, time_ns=400 * MS, ca_state=4, cwnd_pkts=1,
               prior_cwnd_pkts=7, ssthresh_pkts=3, rtos=1, retransmits_pkts=1),
        sample(kind=records.CA_STATE, time_ns=450 * MS, ca_state=0, cwnd_pkts=7, ssthresh_pkts=6),
    ]
)  # fmt: skip


def test_a_window_holds_since_the_packet_before_the_record() -> None:
    state = records.flow_state(SAMPLES, 3, START_NS)
    assert (state["time_ns"] // MS).to_list() == [50, 50, 100, 102, 400]
    assert state["cwnd_pkts"].to_list() == [10, 10, 12, 7, 1]
    assert state["state"].to_list() == [0, 0, 0, 3, 4]
    assert state["ssthresh_pkts"].to_list() == [None, None, None, 6, 3]
    assert state["srtt_us"].to_list() == [50_000, 50_000, 50_000, 50_001, None]


def test_backoffs_are_recoveries_timeouts_and_undos() -> None:
    rows = records.backoffs(SAMPLES, 3, START_NS)
    assert rows.rows() == [
        (3, 102 * MS, 0, 12, 6),
        (3, 400 * MS, 1, 7, 3),
        (3, 450 * MS, 3, 7, 6),
    ]


def test_an_ssthresh_that_no_control_gives_is_known() -> None:
    # This ssthresh occurred on a live kernel: a timer's call had skipped the control's program.
    assert not records.has_unknown_ssthresh(SAMPLES)
    wild = sample(kind=records.CA_STATE, ca_state=3, cwnd_pkts=2, ssthresh_pkts=667_073_216)
    assert records.has_unknown_ssthresh(np.concatenate([SAMPLES, wild]))


def test_counters_hold_the_last_record_before_a_checkpoint() -> None:
    received = np.array([[START_NS + 60 * MS, 1448], [START_NS + 90 * MS, 5000]])
    counters = records.tcp_counters(
        SAMPLES, received, {"sent_pkts": 20, "retransmits_pkts": 2, "acked_bytes": 5001, "rtos": 1},
        3, START_NS, [60 * MS, 101 * MS, 1000 * MS],
    )  # fmt: skip
    assert counters["delivered_bytes"].to_list() == [1448, 5000, 5000]
    assert counters["sent_pkts"].to_list() == [0, 12, 20]
    assert counters["acked_bytes"].to_list() == [0, 2896, 5000]
    assert counters["rtos"].to_list() == [0, 0, 1]


def test_a_datagram_is_lost_only_if_a_later_one_arrived() -> None:
    sent = np.array([[n, START_NS + n * 20 * MS] for n in range(5)])
    received = np.array(
        [[n, START_NS + n * 20 * MS, START_NS + n * 20 * MS + 5 * MS] for n in (0, 2, 4)]
    )
    # the fourth datagram is still on its way when the run ends
    udp = records.udp_fates(sent, received, 1, START_NS, 81 * MS)
    assert udp.rows() == [(1, 0, 5 * MS), (1, 20 * MS, None), (1, 40 * MS, 5 * MS)]
    assert udp.schema == pl.Schema({"flow": pl.UInt32, "sent_ns": pl.Int64, "owd_ns": pl.Int64})


def test_the_connections_of_a_flow_are_told_apart() -> None:
    rows = np.zeros(6, dtype=records.SAMPLE)
    rows["kind"] = [records.ACK, records.CA_STATE, records.ACK, records.CA_STATE, records.ACK,
                    records.ACK]  # fmt: skip
    rows["time_ns"] = START_NS + np.array([10, 20, 30, 40, 50, 60]) * MS
    rows["since_ns"] = START_NS + np.array([5, 0, 15, 0, 16, 45]) * MS
    rows["peer_port"] = [1, 1, 2, 2, 1, 2]
    rows["local_port"] = 20_001
    rows["acked_bytes"] = [1000, 1000, 500, 500, 3000, 700]
    rows["ssthresh_pkts"] = [9, 9, 7, 20, 9, 20]
    rows["ca_state"] = [0, 3, 0, 0, 3, 0]  # 3: recovery
    received = np.zeros((0, 2), dtype=np.int64)
    at = [25 * MS, 70 * MS]
    table = records.tcp_counters(rows, received, None, 0, START_NS, at, syns=0)
    assert table["acked_bytes"].to_list() == [1000, 3700]
    final = {"acked_bytes": 3801}
    table = records.tcp_counters(rows, received, final, 0, START_NS, at)
    assert table["acked_bytes"].to_list() == [999, 3800]
    # connection 2's higher ssthresh is not an undo of connection 1's reduction
    assert records.backoffs(rows, 0, START_NS)["kind"].to_list() == [0]
    times_ms = (records.flow_state(rows, 0, START_NS)["time_ns"] // MS).to_list()
    # connection 1 changes state at 20 ms; connection 2's change of state is not connection 1's
    assert times_ms == [5, 15, 20, 45]
