"""Transfers that arrive during a run: their description, their results and their figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_cli import run

from headway import metrics
from headway.backends import run as run_one
from headway.backends.sim import SimBackend, scenario
from headway.engine import engine
from headway.errors import ExperimentError
from headway.experiment import Experiment, Flow, LeafSpine, Transfers, all_to_all, parse_flows
from headway.figures import figure_bytes
from headway.figures import transfers as figure_of

PATH = {"kind": "dumbbell", "rate": "20Mbit/s", "rtt": "10 ms", "buffer": "100 pkts"}


def made(flows: Any, **changes: Any) -> Experiment:
    return Experiment.model_validate(
        {"topology": PATH, "flows": flows, "duration": "10 s", **changes}
    )


def test_options_of_a_flow_describe_transfers() -> None:
    [one] = parse_flows("cubic:arrivals=50/s:size=20kB:spacing=constant")
    assert one.app == Transfers(sizes="20kB", arrivals="50/s", spacing="constant")
    [one] = parse_flows("cubic:load=60%:sizes=pareto/20kB/1.2/10MB")
    assert one.app == Transfers(sizes="pareto/20kB/1.2/10MB", load=0.6)
    assert one.app.mean_size_bytes == pytest.approx(20_000)
    [one] = parse_flows("cubic:think=2s:sizes=web-search")
    assert one.app == Transfers(sizes="web-search", think="2 s")


def test_a_load_is_a_part_of_the_slowest_link_of_the_route() -> None:
    def interval_ns(**changes: Any) -> int:
        lowered = scenario(made("cubic:load=0.5:size=144800B", **changes))
        return int(lowered["flows"][0]["app"]["interval_ns"])

    # 100 packets of 1500 bytes take 60 ms at 20 Mbit/s
    assert interval_ns() == 120_000_000
    assert interval_ns(topology={**PATH, "access_rate": "2 Mbit/s"}) == 1_200_000_000
    hops = [{"forward": {"rate": f"{rate} Mbit/s", "delay": "1 ms", "buffer": "9 pkts"}}
            for rate in (100, 10, 40)]  # fmt: skip
    chain = {"kind": "chain", "hops": hops}
    assert interval_ns(topology=chain) == 240_000_000
    part = made("cubic:load=0.5:size=144800B:from_hop=2", topology=chain)
    assert scenario(part)["flows"][0]["app"]["interval_ns"] == 60_000_000


def test_a_group_has_the_transfers_of_one_name_or_else_of_one_control() -> None:
    flows = "2xcubic:arrivals=9/s:size=1kB,reno+jump-start:arrivals=9/s:size=1kB,"
    flows += "2xcubic:arrivals=9/s:size=2kB:name=web"
    found = SimBackend().digest(made(flows))["transfers"]
    assert [group["group"] for group in found] == ["cubic", "reno+jump-start", "web"]
    begun = [group["begun"] for group in found]
    assert begun == pytest.approx([180, 90, 180], abs=60)
    assert all(group["by_size"][0]["completed"] == 0 for group in found[1:][1:])


def test_a_file_has_points_of_a_distribution_function(tmp_path: Path) -> None:
    file = tmp_path / "sizes.cdf"
    file.write_text("# bytes, share\n1000 0.5\n3000, 1\n")
    app = Transfers(sizes=str(file), arrivals="5/s")
    assert app.sizes == "cdf/1000@0.5/3000@1"
    assert app.mean_size_bytes == 0.5 * 1000 + 0.5 * 2000
    assert Transfers.model_validate_json(app.model_dump_json()) == app
    sizes = engine.draw_sizes(app.sizes, 10_000, 7)
    assert sizes == engine.draw_sizes(app.sizes, 10_000, 7)
    assert sum(size == 1000 for size in sizes) == pytest.approx(5000, abs=225)
    assert sum(size <= 2000 for size in sizes) == pytest.approx(7500, abs=195)
    assert 1000 == min(sizes) < max(sizes) <= 3000


@pytest.mark.parametrize(
    ("flow", "said"),
    [
        ("load=0:size=1kB", "load: '0' is not allowed; more than 0"),
        ("load=1:size=1kB", "app.load: 1 is not allowed; less than 1, or set stop"),
        ("arrivals=0/s:size=1kB", "arrivals: '0/s' is not allowed; more than 1 a year"),
        ("arrivals=50:size=1kB", "arrivals: '50' has no unit; allowed: /s, /min, /h"),
        ("think=0s:size=1kB", "think: '0s' must be more than 0"),
        ("arrivals=5/s", "app.sizes: is missing"),
        ("arrivals=5/s:load=0.5:size=1kB", "arrivals: cannot be used with load"),
        ("arrivals=5/s:size=1kB:sizes=2kB", "size: cannot be used with sizes"),
        ("arrivals=5/s:size=1kB:pages=x", "pages: cannot be used with transfers"),
        ("sizes=1kB", "sizes: is only for transfers; set arrivals, load or think, too"),
        ("arrivals=5/s:sizes=pareto/1kB/1", "shape '1' must be more than 1"),
        ("arrivals=5/s:sizes=no-such-file", "'no-such-file' is not allowed; a size, log-normal/"),
        ("arrivals=5/s:size=1kB:spacing=even", "spacing: 'even' is not allowed; one of"),
        ("arrivals=5/s:size=1kB:deadline=1s", "deadline: is only for applications with responses"),
        ("load=0.5:size=1B", "flows[0].app.load: 0.5 is not allowed; with these sizes"),
    ],
)
def test_a_wrong_transfer_is_refused_in_one_line(flow: str, said: str) -> None:
    fast = {**PATH, "rate": "100 Gbit/s", "access_rate": "100 Gbit/s"}
    with pytest.raises(ExperimentError) as caught:
        made(f"cubic:{flow}", topology=fast)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("1000 0.5\n", "the last share is 0.5; it must be 1"),
        ("1000 0.5\n900 1\n", "point 2: 900 bytes are not allowed; at least the size before, 1000"),
        (
            "1000 0.5\n2000 0.4\n",
            "point 2: the share 0.4 is not allowed; at least the share before",
        ),
        ("", "no points"),
        ("1000\n", "line 1: '1000' is not allowed; a size in bytes and a share"),
        ("\0", "line 1"),
    ],
)
def test_a_wrong_file_of_sizes_is_refused_with_its_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    content: str,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)  # the line shortens long paths
    Path("sizes.cdf").write_text(content)
    status, out, err = run(capfd, "try", "--flows", "cubic:load=0.5:sizes=./sizes.cdf")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"./sizes.cdf: {said}" in err


def test_an_overload_needs_an_end() -> None:
    flow = "cubic:load=1.5:size=20kB:stop=2s"
    [group] = SimBackend().digest(made(flow))["transfers"]
    assert group["begun"] == pytest.approx(1.5 * 20e6 / 8 / 20_000 * 1448 / 1500 * 2, rel=0.2)
    assert group["unfinished"] == 0


def test_flows_that_overload_a_link_together_are_warned_of(
    capfd: pytest.CaptureFixture[str],
) -> None:
    flows = "3xcubic:load=0.3:size=20kB,cubic:arrivals=5/s:size=10kB,cubic:think=1s:size=1MB"
    path = ("--rate", "1Mbit/s", "--duration", "1s", "--flows")
    _, _, err = run(capfd, "try", *path, flows)
    # 0.9, and 10 kB five times a second: 0.4 Mbit/s of data, 0.414 Mbit/s of packets
    assert "headway: warning: forward0: transfers offer a load of 1.31, so more and more" in err
    assert run(capfd, "try", *path, flows.replace("arrivals=5/s", "arrivals=1/min"))[2] == ""


def test_all_to_all_divides_what_a_host_sends_among_the_others() -> None:
    hosts = ["host0", "host1", "host2"]
    flows = all_to_all("cubic:load=0.3:sizes=web-search", hosts)
    pairs = [(flow.source, flow.destination) for flow in flows]
    assert pairs == [(one, other) for one in hosts for other in hosts if one != other]
    assert [flow.app.load for flow in flows] == [0.15] * 6  # type: ignore[union-attr]
    [first, *_] = all_to_all("cubic:arrivals=50/s:size=1kB", hosts)
    assert engine.parse_arrivals(first.app.arrivals) == 40_000_000  # type: ignore[union-attr, arg-type]
    with pytest.raises(ExperimentError, match="flow: bulk is not allowed"):
        all_to_all("cubic", hosts)
    with pytest.raises(ExperimentError, match="hosts: 1 are not allowed; at least 2"):
        all_to_all(flows[0], hosts[:1])


def test_transfers_of_all_pairs_cross_a_fabric() -> None:
    port = {"forward": {"rate": "1 Gbit/s", "delay": "5 us", "buffer": "100 pkts"}}
    fabric = LeafSpine.model_validate(
        {"leaves": 2, "spines": 2, "hosts": 2, "host_edge": port, "spine_edge": port}
    )
    one = Flow.model_validate("reno:load=0.3:sizes=pareto/20kB/1.2/1MB:start=0s")
    experiment = Experiment.model_validate(
        {
            "topology": fabric.model_dump(mode="json"),
            "flows": all_to_all(one, [f"host{number}" for number in range(4)]),
            "duration": "200 ms",
        }
    )
    digest = SimBackend().digest(experiment)
    [group] = digest["transfers"]
    # four hosts send at 0.3 Gbit/s: 290 Mbit/s of application data, 362 transfers in 200 ms each
    assert group["begun"] == pytest.approx(4 * 362, rel=0.1)
    assert group["unfinished"] < group["begun"] / 20
    assert group["all"]["slowdown"]["min"] >= 1
    assert group["all"]["slowdown"]["median"] < 2


def test_the_trace_has_a_row_per_transfer() -> None:
    trace = run_one(made("cubic:load=0.1:sizes=10kB:name=web,reno:size=1kB", warmup="1 s"))
    rows = metrics.transfers(trace)
    assert set(rows["group"]) == {"web"}
    assert rows["start_ns"].min() >= 10**9  # type: ignore[operator]
    assert rows["size_bytes"].unique().to_list() == [10_000]
    # SYN, SYN-ACK and data propagate for 15 ms; 10 kB in 7 packets take 4.15 ms
    assert rows["fct_us"].min() == pytest.approx(15_000 + 4150, rel=0.02)
    assert rows["slowdown"].min() == pytest.approx(1, abs=0.02)
    assert trace.flows[1].group is None


TRY = [
    *("--rate", "20Mbit/s", "--rtt", "10ms", "--duration", "5s"),
    *("--flows", "cubic:load=0.5:sizes=log-normal/20kB/1.5,cubic:think=1s:size=1MB:name=large"),
]


def test_try_prints_completion_times_and_slowdowns_by_size(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "times.svg"
    status, out, err = run(capfd, "try", *TRY, "--plot-transfers", str(picture))
    assert (status, err) == (0, "")
    assert "transfers of cubic: completion time in ms, slowdown" in out
    assert "transfers of large" in out
    for label in ("below 1 kB", "below 10 kB", "below 100 kB", "below 1 MB", "p99.9"):
        assert label in out
    assert max(map(len, out.splitlines())) <= 100
    assert "completion time (ms)" in picture.read_text()
    status, out, _ = run(capfd, "try", *TRY, "--json", "--trials", "2")
    assert status == 0
    result = json.loads(out)
    cubic, large = result["transfers"]
    assert [one["completed"] > 0 for one in cubic["by_size"]][:3] == [True] * 3
    assert large["all"]["completed"] == large["by_size"][4]["completed"] > 1
    assert len(result["trials"]) == 2
    assert (
        result["trials"][0]["transfers"][0]["begun"] != result["trials"][1]["transfers"][0]["begun"]
    )


def test_a_figure_of_transfers_needs_one_that_is_complete(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    [group] = SimBackend().digest(made("cubic:arrivals=50/s:size=1kB"))["transfers"]
    assert figure_bytes(figure_of([group]), "svg") == figure_bytes(figure_of([group]), "svg")
    with pytest.raises(ValueError, match="at least one complete transfer"):
        figure_of([])
    picture = str(tmp_path / "times.svg")
    status, _, err = run(capfd, "try", "--duration", "1s", "--plot-transfers", picture)
    assert status == 2
    assert err == (
        "headway: plot-transfers: no flow generates transfers; "
        "set arrivals, load or think of a flow\n"
    )
