import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import experiment

from headway.backends.sim import scenario
from headway.errors import ExperimentError
from headway.experiment import (
    Bulk,
    Cbr,
    Chain,
    Control,
    Dumbbell,
    Experiment,
    Flow,
    Hop,
    Link,
    Vectors,
    Voip,
    parse_flows,
)

HOME = Dumbbell(rate="1Mbit/s", rtt="50 ms", buffer="60000 B")


def test_the_readme_way_of_writing_an_experiment() -> None:
    made = Experiment(topology=HOME, flows="2xcubic,1xvoip", duration="3 min", warmup="10 s")
    assert made.topology.rate == 10**6
    assert made.duration == 180 * 10**9
    assert [flow.is_tcp for flow in made.flows] == [True, True, False]
    assert made.flow_names() == ["cubic-0", "cubic-1", "voip-2"]


def test_compact_flows_set_options_tunables_and_startups() -> None:
    flows = parse_flows(
        "2xcubic,1xhtcp:adaptive_backoff=off:rtt_scaling=on,1xreno:sack=off:start=2s,"
        "1xcubic+slow-start,reno:size=1MB"
    )
    assert len(flows) == 6
    assert flows[2].control == Control(
        name="htcp", tunables={"adaptive_backoff": 0, "rtt_scaling": 1}
    )
    assert flows[3].sack is False
    assert flows[3].start == 2 * 10**9
    assert flows[4].control == Control(name="cubic", startup="slow-start")
    assert flows[5].app == Bulk(size="1 MB")


def test_a_control_may_be_text() -> None:
    assert Flow(control="cubic+slow-start").control == Control(name="cubic", startup="slow-start")
    assert (
        Flow.model_validate("htcp:adaptive_backoff=off")
        == parse_flows("htcp:adaptive_backoff=off")[0]
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"flows": "1xcubik"}, "unknown control 'cubik'; nearest: cubic"),
        ({"flows": "1xcubic+slowstart"}, "unknown startup 'slowstart'; nearest: slow-start"),
        ({"flows": "1xhtcp:adaptive_backof=off"}, "nearest: adaptive_backoff"),
        ({"flows": "1xhtcp:adaptive_backoff=7"}, "out of range; allowed: on or off"),
        ({"flows": "1xcubic:sack"}, "write OPTION=VALUE"),
        ({"flows": "1xcubic:start=5"}, "start: '5' has no unit"),
        ({"flows": "0xcubic"}, "write for example 2xcubic"),
        ({"flows": ""}, "write for example 2xcubic"),
        ({"flows": "1xvoip:rate=3"}, "voip has no option 'rate'; allowed: name, sack, timestamps"),
        ({"flows": []}, "flows: [] is not allowed; at least 1 of them"),
        ({"duration": "0 s"}, "duration: '0 s' must be more than 0"),
        ({"duration": 30}, "duration: 30 has no unit"),
        ({"warmup": "10 s"}, "warmup: 10 s is not allowed; must be less than duration, 10 s"),
        ({"stack": "linux-7"}, "unknown stack 'linux-7'; nearest: linux-6"),
        ({"seed": -1}, "seed: -1 is not allowed; at least 0"),
        ({"sede": 1}, "sede: no such field; nearest: seed"),
    ],
)
def test_a_bad_experiment_is_refused_with_one_line(changes, said) -> None:
    with pytest.raises(ExperimentError) as error:
        experiment(**changes)
    line = str(error.value)
    assert said in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("rate", "-1Mbit/s", "rate: '-1Mbit/s' must be more than 0"),
        ("rate", "1", "rate: '1' has no unit"),
        ("buffer", "0 B", "buffer: '0 B' must be more than 0"),
        ("buffer", "0.00001 BDP", "less than one byte"),
        ("loss", "100%", "loss: '100%' must be at least 0 and less than 1"),
        ("aqm", "droptail", "unknown queue discipline 'droptail'; nearest: drop-tail"),
        (
            "aqm",
            "quick-start",
            "unknown queue discipline 'quick-start'; known: codel, drop-tail, drr, dualpi2, fq,",
        ),
    ],
)
def test_a_bad_path_is_refused_with_its_field(field, value, said) -> None:
    path = {"kind": "dumbbell", "rate": "1Mbit/s", "rtt": "50 ms", "buffer": "60000 B"}
    with pytest.raises(ExperimentError) as error:
        experiment(topology={**path, field: value})
    assert said in str(error.value)


@pytest.mark.parametrize("connections", [(1,), (1, 2), (2, 0), ()])
def test_every_epoch_has_a_connection(connections: tuple[int, ...]) -> None:
    epochs = (("329 B", "403 B", "120 ms"),) * 2
    with pytest.raises(ExperimentError, match="connections"):
        Vectors(epochs=epochs, connections=connections)
    assert Vectors(epochs=epochs, connections=(1, 1)).connections == (1, 1)


def test_tcp_needs_a_control_and_udp_must_not_have_one() -> None:
    with pytest.raises(ExperimentError, match="needs a control"):
        Flow()
    with pytest.raises(ExperimentError, match="has no control"):
        Flow(app=Voip, control="cubic")


def test_an_experiment_survives_json_whole() -> None:
    made = Experiment(
        topology=Chain(
            hops=(
                Hop(forward=Link(rate="10Mbit/s", delay="5 ms", buffer="1.5 BDP", loss=0.25)),
                Hop(
                    forward=Link(rate="8Mbit/s", delay="7 ms", buffer="40 pkts", aqm="red"),
                    reverse=Link(rate="1Gbit/s", delay="1 ns", buffer="1 B"),
                ),
            )
        ),
        flows=(
            Flow(control="htcp:adaptive_backoff=off", start="3 ms", from_hop=1),
            Flow(app=Vectors(epochs=(("329 B", "403 B", "120 ms"),)), control="reno"),
            Flow(app=Cbr(packet="100 B", interval="3 ms"), name="probe"),
        ),
        duration="1.000000001 s",
        sample="10 ms",
        capture={"link": "forward0"},
    )
    assert Experiment.model_validate(json.loads(json.dumps(made.model_dump(mode="json")))) == made


def test_experiments_cannot_be_changed() -> None:
    with pytest.raises(ExperimentError):
        experiment().seed = 5


def test_a_first_message_is_foreseen_or_all_of_a_connection() -> None:
    first = experiment(flows="1xcubic+quick-start:announces_first=true")
    [flow] = scenario(first)["flows"]
    assert (flow["announces"], flow["announces_first"]) == (False, True)
    with pytest.raises(ExperimentError, match="leave one of them out"):
        Flow(control="cubic", announces=True, announces_first=True)


def test_a_bdp_buffer_is_lowered_to_bytes_of_the_base_rtt() -> None:
    lowered = scenario(
        experiment(
            topology={
                "kind": "dumbbell",
                "rate": "1Mbit/s",
                "rtt": "40 ms",
                "access_delay": "2500 us",
                "buffer": "2 BDP",
            }
        )
    )
    # 1 BDP is the rate times the base RTT: 1 Mbit/s x (40 + 4 x 2.5) ms = 6250 B
    forward, _ = lowered["topology"]["links"]
    assert forward["limit_bytes"] == 12_500
    assert "limit_pkts" not in forward
    assert forward["delay_ns"] == 20_000_000


def test_reverse_mirrors_the_link_without_its_faults() -> None:
    lowered = scenario(
        experiment(
            topology={
                "kind": "dumbbell",
                "rate": "1Mbit/s",
                "rtt": "33 ns",
                "buffer": "40 pkts",
                "loss": "1%",
            }
        )
    )["topology"]
    forward, reverse = lowered["links"]
    assert forward["loss"] == 0.01
    assert reverse["loss"] == 0.0
    assert reverse["limit_pkts"] == 40
    assert forward["delay_ns"] + reverse["delay_ns"] == 33


def test_counters_are_read_at_the_warmup_and_at_ten_batches() -> None:
    times = experiment().checkpoints_ns()
    assert times[0] == 2 * 10**9
    assert len(times) == 10
    assert times[1] - times[0] == 800_000_000
    assert 5 * 10**9 in experiment(sample="1 s").checkpoints_ns()


@pytest.mark.slow
@given(st.integers(0, 2**63 - 1))
def test_starts_are_drawn_from_the_seed_within_the_spread(seed: int) -> None:
    first = experiment(seed=seed, start_spread="1 s").start_times_ns()
    assert first == experiment(seed=seed, start_spread="1 s").start_times_ns()
    assert all(0 <= start < 10**9 for start in first)


def test_other_seeds_draw_other_starts_and_given_starts_stay() -> None:
    one = experiment(seed=1, start_spread="1 s", flows="1xreno:start=5ms,1xreno").start_times_ns()
    two = experiment(seed=2, start_spread="1 s", flows="1xreno:start=5ms,1xreno").start_times_ns()
    assert one[0] == two[0] == 5_000_000
    assert one[1] != two[1]


def test_a_flow_may_meet_a_foreign_router_only_on_hops_that_it_does_not_cross() -> None:
    def chain(**crosses: int) -> Experiment:
        hop = {"rate": "5 Mbit/s", "delay": "10 ms", "buffer": "60000 B"}
        hops = [{"forward": {**hop, "routers": [router]}} for router in ("vcp", "mpcp")]
        topology = {"kind": "chain", "hops": hops}
        return experiment(topology=topology, flows=[{"control": "mpcp", **crosses}])

    assert chain(from_hop=1).flows[0].from_hop == 1
    for crosses in ({}, {"to_hop": 1}):
        with pytest.raises(ExperimentError, match="mpcp is not allowed past the router vcp"):
            chain(**crosses)
