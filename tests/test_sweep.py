from pathlib import Path

import pytest
from support import experiment

from headway.backends import Backend, backend_named
from headway.errors import HeadwayError, InterruptedRunError
from headway.sweep import grid, run_trials
from headway.trace import load_trace, save_trace


def make(control: str, rtt: str):
    return experiment(
        flows=f"1x{control}",
        duration="2 s",
        warmup="0 s",
        topology={"kind": "dumbbell", "rate": "1Mbit/s", "rtt": rtt, "buffer": "60000 B"},
    )


class Counting:
    """The simulator, which counts its runs and stops at a given one."""

    name = "sim"

    def __init__(self, stop_after: int = 1000) -> None:
        self.ran = 0
        self.stop_after = stop_after
        self.sim: Backend = backend_named("sim")

    def run(self, one):
        return self.sim.run(one)

    def run_each(self, experiments, work, finished, threads=0):
        for index, one in enumerate(experiments):
            if self.ran == self.stop_after:
                raise KeyboardInterrupt
            self.ran += 1
            finished(index, work(index, self.sim.run(one)))

    def key(self, one):
        return self.sim.key(one)


def test_a_grid_has_every_combination() -> None:
    points = grid(make, control=["reno", "cubic"], rtt=["50 ms", "100 ms"])
    assert len(points) == 4
    assert points["control=cubic rtt=100 ms"] == make("cubic", "100 ms")


def test_a_stopped_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    points = grid(make, control=["reno", "cubic"], rtt=["50 ms", "100 ms"])
    first = Counting(stop_after=3)
    with pytest.raises(InterruptedRunError, match=r"3 of 4 trials finished, kept in"):
        run_trials(points, tmp_path, first)
    broken = tmp_path / "control=reno rtt=50 ms" / "udp.parquet"
    broken.write_bytes(broken.read_bytes()[:-1])

    second = Counting()
    seen: list[tuple[int, int]] = []
    traces = run_trials(
        points, tmp_path, second, progress=lambda n, of, _: seen.append((n, of)), resume=True
    )
    assert second.ran == 2  # the missing and the broken trial run again
    assert list(traces) == list(points)
    assert seen == [(2, 4), (3, 4), (4, 4)]
    assert load_trace(tmp_path / "control=reno rtt=50 ms").experiment == make("reno", "50 ms")


def test_another_experiment_under_the_same_key_is_run_again(tmp_path: Path) -> None:
    run_trials({"a": make("reno", "50 ms")}, tmp_path, Counting())
    again = Counting()
    run_trials({"a": make("reno", "60 ms")}, tmp_path, again, resume=True)
    assert again.ran == 1


def test_a_trial_without_room_says_how_many_are_kept(tmp_path: Path, monkeypatch) -> None:
    points = {"small": make("reno", "50 ms")}
    points["large"] = points["small"].model_copy(update={"duration": 3600 * 10**9})
    monkeypatch.setattr("headway._engine.free_bytes", lambda: 10_000_000)
    with pytest.raises(HeadwayError, match=r"trace needs more than.*; 1 of 2 trials are kept"):
        run_trials(points, tmp_path, threads=1)
    assert [path.name for path in tmp_path.iterdir()] == ["small"]


def test_a_failed_save_says_how_many_are_kept(tmp_path: Path, monkeypatch) -> None:
    def full(trace, path):
        if path.name == "b":
            raise HeadwayError(f"{path}: disk full while saving; no part of it was kept")
        return save_trace(trace, path)

    monkeypatch.setattr("headway.sweep.trials.save_trace", full)
    points = {key: make("reno", "50 ms") for key in "abc"}
    with pytest.raises(HeadwayError, match=r"disk full while saving.*; 1 of 3 trials are kept"):
        run_trials(points, tmp_path, Counting())
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
