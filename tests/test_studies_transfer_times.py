"""The observations of the study transfer-times, checked by hand."""

from __future__ import annotations

import math

from support import S, experiment, trace

from headway.models import startup
from headway.studies.transfer_times.experiments import FirstFlight, Recovery, first_flight, recovery
from headway.study import discover

MS = S // 1000
CWND, OPEN, RECOVERING = 45, 0, 3


def test_a_first_flight_is_what_comes_within_a_round_trip_burst_by_burst() -> None:
    arrivals = [
        # a SYN, and an ACK without data
        *((0, 60), (200 * MS, 52)),
        # two packets together and one apart; the fourth packet belongs to the next round trip
        *((201 * MS, 1500), (201 * MS + 12_000, 1500), (251 * MS, 1048), (402 * MS, 1500)),
    ]
    rows, waiting = [], 0
    for time_ns, ip_bytes in arrivals:
        rows += [(0, time_ns, waiting + ip_bytes, 1), (0, time_ns + 12_000 - 1, waiting, 0)]
    seen = first_flight(trace({"queue": rows}, of=experiment()), 200)
    assert seen == FirstFlight(3, 2 * 1448 + 996, bursts=2, largest_burst_pkts=2)


def test_recovery_leaves_the_window_that_ssthresh_keeps() -> None:
    def state(time_ms: int, cwnd: int, ssthresh: int, now: int) -> tuple[int, ...]:
        return (0, time_ms * MS, cwnd, ssthresh, 200_000, cwnd, now)

    rows = [
        state(200, CWND, 2**31, OPEN),
        state(600, 40, 36, RECOVERING),
        # the ACK that ends recovery adds one packet
        state(1000, 11, 10, OPEN),
        state(1200, 12, 10, OPEN),
    ]
    drops = [(0, 201 * MS, 0, 1500, 0)] * 25 + [(0, 900 * MS, 0, 1500, 0)]
    of = experiment()
    assert recovery(trace({"flow_state": rows, "drops": drops}, of=of)) == Recovery(45, 25, 10)
    assert startup.jump_start_window_after_loss_pkts(45, 25) == 10
    never = recovery(trace({"flow_state": rows[:2], "drops": drops}, of=of))
    assert math.isnan(never.window_pkts)


def test_only_the_simulator_judges_and_only_the_kernel_is_compared() -> None:
    study = discover()["transfer-times"]
    assert study.on("sim") is study
    assert study.statements
    assert not study.agreements
    live = study.on("kernel")
    assert live.only_backend == "kernel"
    assert live.agreements
    assert not live.statements
