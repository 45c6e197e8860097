"""Runs that need more memory than the machine has end in one line, and finished trials are kept."""

from __future__ import annotations

import json
import re
import resource
from pathlib import Path
from typing import Any

import pytest
from support import beside, headway

from headway import _engine
from headway.backends import sim
from headway.backends.sim import SimBackend
from headway.cli.app import execute
from headway.cli.show import Bar, watch
from headway.digest import QUANTILE_RESOLUTION, Digest, digest_of
from headway.errors import HeadwayError
from headway.experiment import Capture, Experiment
from headway.trace import load_trace, save_trace
from headway.trace_writer import GrowingTrace, temporary_folder

MB = 1_000_000


def _limited(megabytes: int, *arguments: str) -> Any:
    """Run the command in a process whose address space is limited."""
    most = megabytes * MB
    return headway(
        *arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))
    )


def _path(rate: str) -> dict[str, Any]:
    return {"kind": "dumbbell", "rate": rate, "rtt": "20 ms", "buffer": "1BDP"}


def _has(monkeypatch: pytest.MonkeyPatch, megabytes: float) -> None:
    """Let the engine find this much free memory on the machine."""
    monkeypatch.setattr(_engine, "free_bytes", lambda: int(megabytes * MB))


@pytest.mark.slow
def test_a_long_try_takes_no_more_memory_than_a_short_one() -> None:
    # The run's trace would be half a gigabyte. The send buffer (tcp_wmem, 4 MiB) is smaller than
    # the
    # BDP, so the flow does not fill the path.
    done = _limited(400, "try", "--rate", "1Gbit/s", "--duration", "60s", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["link"]["throughput_bps"] > 4.5e8


@pytest.mark.slow
def test_thirty_thousand_flows_end() -> None:
    # With an algorithm whose time grows with flows × rows, 100,000 flows took more than fifteen
    # minutes; with the present algorithm they take less than one.
    done = headway(
        *("try", "--flows", "30000xreno:start=0s", "--duration", "80ms"),
        *("--rate", "30Gbit/s", "--rtt", "20ms", "--buffer", "1BDP"),
    )
    assert done.returncode == 0, done.stderr
    assert "and 29,900 more flows" in done.stdout
    assert "drops 0," not in done.stdout  # the queue cannot hold the packets sent at once


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["--flows", "1000000000xcubic"], "flows: 1000000000xcubic"),
        (["--flows", "400000xcubic"], "flows: 400000 would need at least 3.2 GB of memory; "),
        (
            ["--trials", "1000000000"],
            "--trials: 1000000000 would need at least 5,000.0 GB of memory",
        ),
    ],
)
def test_what_surely_has_no_room_is_refused_before_it_begins(
    arguments: list[str],
    field: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _has(monkeypatch, 3000)
    assert execute(["try", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"headway: {field}")
    assert said.count("\n") == 1


def test_readings_of_the_counters_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    _has(monkeypatch, 100)
    many = Experiment.model_validate(
        {
            "topology": _path("1Mbit/s"),
            "flows": "1000xcubic",
            "duration": "10 s",
            "sample": "1 ms",
        }
    )
    with pytest.raises(HeadwayError, match=r"^sample: 1 ms: 10000 readings of 1000 flows would"):
        SimBackend().run(many)


@pytest.mark.parametrize("capture", [None, Capture()])
def test_a_trace_that_grows_too_large_ends_the_run_in_one_line(
    capture: Capture | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _has(monkeypatch, 20)
    long = Experiment.model_validate(
        {"topology": _path("1Gbit/s"), "flows": "1xcubic", "duration": "1 h", "capture": capture}
    )
    with pytest.raises(HeadwayError, match=r"^simulator: after \d+\.\d s the trace needs more th"):
        SimBackend().run(long)


def test_packets_are_written_out_while_they_are_captured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for file in ("at-once", "in-parts"):
        path = tmp_path / f"{file}.pcapng"
        arguments = ["--rate", "20Mbit/s", "--duration", "15s", "--pcap", str(path), "--json"]
        assert execute(["try", *arguments]) == 0
        monkeypatch.setattr(SimBackend, "spill_bytes", 2 * MB)
        _has(monkeypatch, 60)
    assert (tmp_path / "at-once.pcapng").read_bytes() == path.read_bytes()
    assert path.stat().st_size > 30 * MB
    assert len(list(tmp_path.iterdir())) == 2


def test_the_engine_bounds_itself_where_nobody_does() -> None:
    long = Experiment.model_validate(
        {"topology": _path("1Gbit/s"), "flows": "1xcubic", "duration": "1 h"}
    )
    scenario = sim.scenario_json(long.model_copy(update={"capture": Capture()}))
    with pytest.raises(MemoryError, match="more than the 30 MB that are free for it"):
        _engine.run(scenario, limit_bytes=30 * MB)
    assert _engine.free_bytes() > 30 * MB


def test_trials_that_were_finished_are_shown_when_a_later_one_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    whole = SimBackend._record

    def second_fails(self: SimBackend, experiment: Experiment, *rest: Any, **more: Any) -> Any:
        if experiment.seed == 2:
            raise HeadwayError("simulator: no more memory")
        return whole(self, experiment, *rest, **more)

    monkeypatch.setattr(SimBackend, "_record", second_fails)
    arguments = ["--trials", "2", "--threads", "1", "--duration", "2s", "--out", str(tmp_path)]
    assert execute(["try", *arguments]) == 2
    said = capsys.readouterr()
    assert "cubic-0" in said.out
    assert said.err == "headway: simulator: no more memory\n"
    assert [folder.name for folder in (tmp_path / "trials").iterdir()] == ["seed1"]


def test_a_trace_that_is_saved_is_written_out_while_it_grows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    long = Experiment.model_validate(
        {
            "topology": _path("20Mbit/s"),
            "flows": "1xcubic,1xreno:size=1MB,1xvoip",
            "duration": "40 s",
            "warmup": "1 s",
            "start_spread": "1 s",
            "sample": "70 ms",
            "capture": {"snaplen": "64 B"},
        }
    )
    in_memory = SimBackend().run(long)
    saved = save_trace(in_memory, tmp_path / "in-memory")

    told: list[tuple[float, float]] = []
    _has(monkeypatch, 16)  # 16 MB are free; a trace may use a third of them
    with pytest.raises(HeadwayError, match="the trace needs more"):
        SimBackend().run(long)
    backend = SimBackend(lambda done_s, total_s: told.append((done_s, total_s)))
    backend.spill_bytes = MB
    place = tmp_path / "trials" / "seed1"

    def finished(index: int, result: tuple[Digest, GrowingTrace]) -> None:
        digest, growing = result
        assert not growing.is_in_memory
        growing.save(place)
        for path, one, other in beside(digest_of(in_memory), digest):
            close = pytest.approx(one, rel=QUANTILE_RESOLUTION) if isinstance(one, float) else one
            assert other == close, path

    with temporary_folder(place.parent) as folder:
        backend.record_each([long], folder, finished)
    assert told[-1] == (40.0, 40.0)
    grown = load_trace(place)
    assert grown.flows == in_memory.flows
    assert grown.meta == in_memory.meta
    assert grown.capture == in_memory.capture
    for name, table in in_memory.tables.items():
        assert grown[name].equals(table), name
    assert sorted(path.name for path in place.iterdir()) == sorted(
        path.name for path in saved.iterdir()
    )
    assert [path.name for path in place.parent.iterdir()] == ["seed1"]


def test_the_bar_shows_simulated_time_speed_and_memory() -> None:
    class Drawn:
        shown: str

        def add_task(self, *_: object, **__: object) -> int:
            return 0

        def update(self, _task: int, *, what: str, **done: float) -> None:
            self.shown = f"{what} {done['completed']:g}/{done['total']:g}"

    drawn: Any = Drawn()
    bar = Bar(drawn)
    watch(backend := SimBackend(), bar)
    bar(0, 3, "")
    assert backend.simulated is not None
    backend.simulated(12.0, 90.0)
    assert re.fullmatch(r"0/3 12 of 90 s, [\d,]+ s per second, [\d,]+ MB 12/90", drawn.shown), (
        drawn.shown
    )
