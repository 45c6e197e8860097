"""Random cases of the kind "paths": how they are drawn, compared, and made smaller."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_random_cases import Instead, runner, value

from headway.backends.sim import SimBackend
from headway.experiment import Cbr, Experiment, Star
from headway.experiment.effects import EFFECTS
from headway.experiment.path import Link
from headway.validation.minimize import minimize, one_line
from headway.validation.random_cases import Case, cases
from headway.validation.random_compare import Result, _bottleneck, observe, values_of
from headway.validation.random_paths import KIND, OPTIONS
from headway.validation.random_report import tables
from headway.validation.random_runs import KERNEL_RUNS, SIM_RUNS, samples_of


@pytest.fixture(scope="module")
def drawn() -> list[Case]:
    return list(itertools.islice(cases(KIND, 1), 60))


def links(case: Case) -> Iterator[tuple[Link, Link]]:
    """The links there and back, as random_paths names them."""
    for forward, reverse in case.experiment.topology.links():
        is_star = isinstance(case.experiment.topology, Star)
        yield (reverse, forward) if is_star else (forward, reverse)


def test_every_setting_is_drawn(drawn: list[Case]) -> None:
    met = {setting for case in drawn for setting in case.settings}
    assert {(name, value) for name, values in OPTIONS.items() for value in values} <= met
    # twenty cases have every option
    few = {name for case in drawn[:20] for name, _ in case.settings}
    assert few == {*OPTIONS, "rate", "rtt", "buffer", "control"}


def test_every_effect_is_drawn_constant_and_changing(drawn: list[Case]) -> None:
    constant, begins, ends, of_acks = (set[str]() for _ in range(4))
    for case in drawn:
        for there, back in links(case):
            for name in EFFECTS:
                values = [effect is not None for _, effect in there.over_time(name)]
                constant |= {name} if values == [True] else set()
                begins |= {name} if values == [False, True] else set()
                ends |= {name} if values == [True, False] else set()
                of_acks |= {name} if back.ever(name) else set()
    assert constant == {*EFFECTS}
    # jitter and frames of ACKs are changed there
    assert begins >= {"burst_loss", "policer", "shaper"}
    assert ends >= {"burst_loss", "policer", "shaper"}
    assert of_acks == {"jitter", "aggregation"}
    jitters = [j for case in drawn for pair in links(case) for each in pair
               for j in each.ever("jitter")]  # fmt: skip
    assert {j.distribution for j in jitters} == {"uniform", "normal", "pareto"}
    assert {j.correlation > 0 for j in jitters} == {True, False}
    assert not any(j.reorder for j in jitters)


def test_a_case_is_what_its_settings_say(drawn: list[Case]) -> None:
    seen: set[str] = set()
    for case in drawn:
        settings, experiment = dict(case.settings), case.experiment
        there, back = next(links(case))
        seen |= {*settings}
        tcp = [flow for flow in experiment.flows if flow.is_tcp]
        assert [type(flow.app) for flow in experiment.flows].count(Cbr) == 1
        hosts = experiment.topology.hosts if isinstance(experiment.topology, Star) else 0
        if "star" in settings:
            assert 3 <= hosts <= 8
            assert len(tcp) == hosts - 1 + ("upload" in settings)
        assert (hosts > 0) == ("star" in settings)
        assert (there.rate > 1.9 * back.rate) == ("asymmetric" in settings)
        assert (back.rate == there.rate) == ("asymmetric" not in settings)
        assert any(flow.delay > 0 for flow in tcp) == ("rtts" in settings)
        reverse = [f for f in tcp if f.direction == "reverse" or f.source == "host0"]
        assert len(reverse) == ("upload" in settings)
        for buffer in ("rcvbuf", "sndbuf"):
            is_set = settings.get("window") in (buffer, "both")
            assert all((getattr(flow, buffer) is not None) == is_set for flow in tcp)
        assert set(experiment.sysctls) == {settings.get("sysctl", "").split(" ")[0]} - {""}
        assert set(experiment.route_attributes) == {settings.get("route", "")} - {""}
        assert (back.ack_thinning is not None) == ("ack_thinning" in settings)
        assert (there.corruption is not None) == ("corruption" in settings)
        assert (there.mtu is not None) == ("mtu" in settings)
        if settings.get("policer") == "marks":
            assert there.policer is not None
            assert there.policer.mark
            assert all(flow.ecn == "on" for flow in tcp)
    assert seen >= {*OPTIONS}


def test_a_case_depends_on_its_seed_and_index_alone(drawn: list[Case]) -> None:
    assert list(itertools.islice(cases(KIND, 1), 5)) == drawn[:5]
    others = itertools.islice(cases(KIND, 2), 5)
    assert all(
        one.experiment != other.experiment for one, other in zip(drawn, others, strict=False)
    )


def test_the_call_measures_the_delay_of_all_effects() -> None:
    path = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "30000 B"}
    probe = {"app": {"kind": "cbr", "packet": "100 B", "interval": "20 ms"}, "start": "0 s"}
    flows = [{"control": "reno"}, {"control": "cubic", "direction": "reverse"}, probe]

    def found(**effects: Any) -> dict[str, Any]:
        fields = {
            "topology": {**path, **effects},
            "flows": flows,
            "duration": "5 s",
            "warmup": "1 s",
        }
        experiment = Experiment.model_validate(fields)
        seen = observe(SimBackend().run(experiment))
        return {v.name: v for v in values_of(experiment, [seen], [seen], KIND)}

    plain = found()
    goodputs = [plain[f"goodput of {name}"].sim for name in ("reno-0", "cubic-1")]
    assert plain["total goodput"].sim == pytest.approx(sum(goodputs))
    assert plain["total goodput"].rule.main_of == (KIND,)
    assert plain["goodput of reno-0"].scale == 10e6
    policed = found(policer="4Mbit/s:burst=9kB")
    # shares of a flow are relative to what its links let pass
    assert policed["goodput of reno-0"].scale == 4e6
    assert policed["goodput of cubic-1"].scale == 10e6
    framed = found(aggregation="30ms")
    longer_s = framed["delay of the call"].sim - policed["delay of the call"].sim
    assert 0.010 < longer_s < 0.060


def test_the_kernels_own_spread_is_known_for_every_case(drawn: list[Case], tmp_path: Path) -> None:
    quick = []
    for case in sorted(drawn, key=lambda case: _bottleneck(case.experiment)[1].rate)[:2]:
        short = case.experiment.model_copy(update={"duration": 2 * 10**9, "warmup": 10**9})
        quick.append(replace(case, experiment=short))
    kernel = Instead()
    found = runner(quick, tmp_path / "kernel.jsonl", kernel)
    found.run()
    assert len(kernel.ran) == 2 * KERNEL_RUNS
    titles = [table.title for table in tables(found.outcome)]
    assert titles[1] == "differences by value, the kernel's runs from their median"
    rows = {row[0]: row[1:] for row in tables(found.outcome)[1].rows}
    assert rows["total goodput"] == [2, "0.0%", "0.0%", "0.0%", "0.0%"]
    assert "delay of the call" in rows


def test_goodput_and_delay_decide_in_this_kind_only(drawn: list[Case]) -> None:
    late = value(0.09, 0.05, 0.051, 0.049, name="delay of the call")
    assert late.own_difference == pytest.approx(0.02)
    assert value(0.09, 0.05, name="delay of the call").own_difference is None
    same = value(5e6, 5e6, name="total goodput")
    assert Result(drawn[0], (late, same)).main is late
    assert not Result(replace(drawn[0], kind="default"), (late,)).differs


# smaller cases


def star() -> Experiment:
    link = {"rate": "7.3 Mbit/s", "delay": "4100 us", "buffer": "33 pkts"}
    steps = [{"start": "0 s"}, {"start": "3 s", "policer": "5Mbit/s:burst=9kB"}, {"start": "4 s"}]
    there = {**link, "jitter": "1700us:distribution=normal", "shaper": "6.1Mbit/s:burst=4321B",
             "vary": {"kind": "schedule", "steps": steps}}  # fmt: skip
    flows = [
        {"control": "cubic", "source": f"host{k}", "destination": "host0", "rcvbuf": "54321 B"}
        for k in range(1, 5)
    ]
    return Experiment.model_validate(
        {
            "topology": {
                "kind": "star",
                "hosts": 5,
                "edge": {"forward": {**link, "aggregation": "3ms"}, "reverse": there},
            },
            "flows": flows,
            "duration": "12 s",
            "warmup": "1 s",
            "sysctls": {"tcp_sack": 0, "tcp_rto_min_us": 40_000},
            "route_attributes": {"initcwnd": 20},
        }
    )


def test_a_star_keeps_what_makes_the_difference() -> None:
    def differs(experiment: Experiment) -> bool:
        reverse = experiment.topology.edge.reverse  # type: ignore[union-attr]
        return (
            reverse is not None and reverse.jitter is not None and "tcp_sack" in experiment.sysctls
        )

    small, runs = minimize(star(), differs, 100)
    assert runs < 60
    assert isinstance(small.topology, Star)
    assert small.topology.hosts == 2
    assert dict(small.sysctls) == {"tcp_sack": "0"}
    assert not small.route_attributes
    edge = small.topology.edge
    assert edge.forward.aggregation is None
    assert edge.reverse is not None
    assert edge.reverse.jitter is not None
    assert edge.reverse.jitter.spread == 2_000_000
    assert (edge.reverse.shaper, edge.reverse.vary) == (None, None)
    [flow] = small.flows
    assert flow.rcvbuf is None
    assert "sysctls=tcp_sack=0" in one_line(small)


def test_steps_are_dropped_one_by_one() -> None:
    def differs(experiment: Experiment) -> bool:
        reverse = experiment.topology.edge.reverse  # type: ignore[union-attr]
        return reverse is not None and bool(reverse.ever("policer"))

    small, _ = minimize(star(), differs, 100)
    reverse = small.topology.edge.reverse  # type: ignore[union-attr]
    assert [step.start for step in reverse.vary.steps] == [0, 3 * 10**9]


def test_the_reverse_link_of_a_dumbbell_is_made_simpler() -> None:
    def differs(experiment: Experiment) -> bool:
        reverse = experiment.topology.reverse  # type: ignore[union-attr]
        return reverse is not None and reverse.rate < 2_000_000

    back = {"rate": "1.2 Mbit/s", "delay": "20 ms", "buffer": "20 pkts", "jitter": "3ms"}
    path = {"kind": "dumbbell", "rate": "9 Mbit/s", "rtt": "40 ms", "buffer": "30 pkts",
            "policer": "5Mbit/s:burst=9kB", "reverse": back}  # fmt: skip
    flows = [{"control": "reno"}, {"control": "reno", "direction": "reverse"}]
    whole = Experiment.model_validate({"topology": path, "flows": flows, "duration": "9 s"})
    small, _ = minimize(whole, differs, 60)
    fields = json.loads(small.model_dump_json(exclude_defaults=True))["topology"]
    assert fields["reverse"] == {"rate": "1 Mbit/s", "delay": "20 ms", "buffer": "20 pkts"}
    assert "policer" not in fields
    assert len(small.flows) == 1


def test_samples_of_a_star_are_experiments(drawn: list[Case]) -> None:
    stars = (case for case in drawn if "star" in dict(case.settings))
    case = next(stars)
    assert len({sample.model_dump_json() for sample in samples_of(case.experiment)}) == SIM_RUNS
