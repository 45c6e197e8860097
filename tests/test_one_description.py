"""What Python and headwayctl read stands once, in crates/experiment: here Python's typed models and
headwayctl's testbed are held against each other, and its draws against Python's generator."""

from __future__ import annotations

import json
import random
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import BUILT

from headway import units
from headway.backends.sim import topology_fields
from headway.engine import engine
from headway.errors import ExperimentError
from headway.experiment import FLOW_OPTIONS, Dumbbell, Experiment, Flow, limit_bytes, parse_flows
from headway.registry import registry

UNITS = [
    *("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Mbit", "gbit"),
    *("ns", "us", "ms", "s", "min", "h"),
    *("B", "kB", "KiB", "MB", "GiB", "pkts", "packet", "BDP", "bdp", "%", "x"),
]
NUMBERS = (
    st.integers(0, 10**7).map(str)
    | st.decimals(0, 10**7, allow_nan=False, places=3).map(str)
    | st.from_regex(r"[+-]?[0-9]{0,3}\.?[0-9]{0,3}(e[+-]?[0-9]{1,2})?", fullmatch=True)
)
QUANTITIES = st.builds(
    lambda number, gap, unit: f"{number}{gap}{unit}",
    NUMBERS,
    st.sampled_from(["", " "]),
    st.sampled_from([*UNITS, ""]),
)


def test_the_options_of_flows_are_the_fields_of_a_flow() -> None:
    fields = {name for name in Flow.model_fields if name not in ("app", "control")}
    of_text = {"size", "exchanges", "pages", "http", "connections", "relay_control"}
    assert fields | of_text == set(FLOW_OPTIONS)


@given(
    seed=st.integers(0, 2**63 - 1),
    spread=st.integers(0, 10 * 366 * 86_400 * 10**9),
    own=st.lists(st.none() | st.integers(0, 10**12), max_size=5),
)
def test_starts_are_those_of_python_s_generator(seed, spread, own) -> None:
    drawn = [
        start
        if start is not None
        else int(random.Random(f"{seed}/start/{number}").random() * spread)
        for number, start in enumerate(own)
    ]
    assert engine.start_times_ns(seed, spread, own) == drawn


@given(
    st.sampled_from(["0", "7", "0.5", "1.5", "2.5", "1e3", "123456.789"]), st.sampled_from(UNITS)
)
def test_a_quantity_is_the_nearest_whole_number(number: str, unit: str) -> None:
    factors = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}
    if unit not in factors:
        with pytest.raises(ValueError, match="unknown unit"):
            units.parse_time(f"{number} {unit}")
    else:
        # Fraction rounds half to even, too
        value = round(Fraction(number) * factors[unit])
        assert units.parse_time(f"{number} {unit}") == value


OPTIONS = st.sampled_from([*FLOW_OPTIONS, "adaptive_backoff", "sak"])
VALUES = QUANTITIES | st.sampled_from(
    ["on", "off", "yes", "No", "TRUE", "0", "1", "2", "-1", "linux-6", "linux-2.6", "linux-7", "x"]
)
FLOWS = st.builds(
    lambda count, name, options: f"{count}{name}" + "".join(f":{o}={v}" for o, v in options),
    st.sampled_from(["", "1x", "3x", "0x"]),
    st.sampled_from(["cubic", "reno+hystart", "htcp", "cubik", "kernel:bbr", "voip"]),
    st.lists(st.tuples(OPTIONS, VALUES), max_size=2),
)
"""Of at most two options: what is wrong with two together is told by the typed models."""


TOGETHER = (
    *("stop:", "deadline:", "announces", "from_hop:", "read_rate", "read_size", "read_interval"),
    *("exchanges", "pages", "http", "connections", "relay", "relay_control"),
)
"""Options that typed models judge beside others, or by what only Python reads: a file, a place."""


def refusal(read, text: str) -> str:
    """The line with which a text is refused; empty where it is read."""
    try:
        read(text)
    except ValueError as error:
        return str(error)
    return ""


@given(FLOWS)
@example("cubic:relay=1")
def test_python_takes_the_flows_that_others_take_and_as_the_same_values(text: str) -> None:
    line, own = refusal(engine.flow_values, text), refusal(parse_flows, text)
    assert "\n" not in line + own
    if line:
        assert own
    elif own:
        assert any(word in own for word in TOGETHER)
    else:
        [values], flow = engine.flow_values(text), parse_flows(text)[0]
        assert getattr(flow.app, "size", None) == values.pop("size", None)
        if flow.relay is not None:  # what a text says of it is the place
            assert flow.relay.at_hop == values.pop("relay")
            values.pop("relay_control", None)  # a control, or else it was refused
        assert {name: getattr(flow, name) for name in values} == values


@given(
    rate=st.integers(1, 10**11),
    rtt_ns=st.integers(0, 10**10),
    products=st.decimals("0.001", 8, allow_nan=False, places=3),
)
def test_a_product_of_bandwidth_and_delay_is_rounded_down_once(rate, rtt_ns, products) -> None:
    link = Dumbbell(rate=f"{rate} bit/s", rtt=f"{rtt_ns} ns", buffer=f"{products} BDP").links()[0][
        0
    ]
    product = rate * rtt_ns // (8 * units.NS_PER_S)
    assert limit_bytes(link, rtt_ns) == int(Fraction(products) * product)


def test_every_algorithm_of_the_registry_may_be_named() -> None:
    for control in registry().controls:
        if "own-start" in control.flags:
            [flow] = parse_flows(control.name)
            assert flow.control is not None
            assert (flow.control.name, flow.control.startup) == (control.name, None)
            with pytest.raises(ExperimentError, match="has its own start"):
                parse_flows(f"{control.name}+slow-start")
            continue
        for startup in registry().startups:
            [flow] = parse_flows(f"{control.name}+{startup.name}")
            assert flow.control is not None
            assert (flow.control.name, flow.control.startup) == (control.name, startup.name)


def test_an_odd_round_trip_is_whole_again() -> None:
    made = Experiment.model_validate(
        {
            "topology": {"kind": "dumbbell", "rate": "1Mbit/s", "rtt": "7 ns", "buffer": "1 pkts"},
            "flows": "reno",
            "duration": "1 s",
        }
    )
    assert made.base_rtt_ns == 7


BUILT_CTL = next((built for built in BUILT if built.exists()), None)
FORMS = (
    st.builds("{} {}".format, NUMBERS, st.sampled_from(["kbit/s", "Mbit/s", "Gbit/s"])),
    st.builds("{}{}".format, NUMBERS, st.sampled_from(["us", "ms", "s"])),
    st.builds("{}{}".format, NUMBERS, st.sampled_from(["B", "kB", "KiB", "pkts", "BDP"])),
)
RATES, TIMES, BUFFERS = (QUANTITIES | form for form in FORMS)
QUEUES = ["drop-tail", "red", "red:ecn=on", "red:ecn=2", "red:max_th_pkts=40", "rde", "red:x"]


@pytest.mark.skipif(BUILT_CTL is None, reason="headwayctl is not built (make build)")
@settings(max_examples=300)
@given(RATES, TIMES, BUFFERS, NUMBERS | st.sampled_from(["1%", "0"]), st.sampled_from(QUEUES))
@example("1Mbit/s", "90000h", "9pkts", "0", "drop-tail")
def test_headwayctl_takes_what_python_takes_and_as_the_same_links(
    rate: str, rtt: str, buffer: str, loss: str, queue: str
) -> None:
    """Where the emulator asks for more than a description does, it says so."""
    asked = {"rate": rate, "rtt": rtt, "buffer": buffer, "loss": loss, "aqm": queue}
    options = [f"--{name}={value}" for name, value in asked.items()]
    done = subprocess.run(
        [str(BUILT_CTL), "testbed", "up", "--name", "one", "--dry-run", "--json", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    path: dict[str, object] = {"kind": "dumbbell", **asked}
    whole = {"topology": path, "flows": "reno", "duration": "1 s"}
    line = refusal(lambda _: Experiment.model_validate(whole), "")
    if line:
        assert done.returncode == 2, (done.stdout, line)
        assert len(done.stderr.splitlines()) == 1
        return
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)["config"]
    made = Experiment.model_validate(whole)
    for link, way in zip(made.topology.links()[0], ("forward", "reverse"), strict=True):
        own = config[way]["link"]
        in_bytes = limit_bytes(link, made.base_rtt_ns)
        assert (own["rate_bps"], own["delay_ns"]) == (link.rate, link.delay)
        assert own["limit_bytes"] == in_bytes
        assert own["limit_pkts"] == (None if in_bytes is not None else int(link.buffer.amount))
    forward = config["forward"]["link"]
    assert forward["loss"] == made.topology.links()[0][0].loss
    aqm = made.topology.links()[0][0].aqm
    assert forward["aqm"] == {"name": aqm.name, "tunables": aqm.tunables}


def of_file(document: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """What headwayctl would make of an experiment's file."""
    file = folder / "experiment.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    asked = ["testbed", "up", "--name", "one", "--dry-run", "--json", "--experiment", str(file)]
    return subprocess.run([str(BUILT_CTL), *asked], capture_output=True, text=True, check=False)


@pytest.mark.skipif(BUILT_CTL is None, reason="headwayctl is not built (make build)")
def test_a_testbed_of_an_experiment_has_the_links_of_its_simulation(tmp_path: Path) -> None:
    path = {
        "kind": "dumbbell", "rate": "12345 kbit/s", "rtt": "33333 us", "buffer": "1.7 BDP",
        "aqm": "red:ecn=on", "loss": "0.3%", "access_delay": "1 ms", "ecn": "bleach",
    }  # fmt: skip
    whole = {"topology": path, "flows": "reno", "duration": "1 s", "seed": 7}
    made = Experiment.model_validate(whole)
    done = of_file(json.loads(made.model_dump_json()), tmp_path)
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)["config"]
    lowered = topology_fields(made)
    for way in ("forward", "reverse"):
        link = {name: value for name, value in config[way]["link"].items() if value is not None}
        assert link == lowered[way]
    assert config["seed"] == 7
    assert [host["extra_delay_ns"] for host in config["left"]] == [2_000_000]
    for field, value, told in (
        ("rate", 10, "topology.rate: 10 has no unit; write it as text, rate in bit/s"),
        ("rate", "10", "topology.rate: '10' has no unit; allowed: bit/s"),
        ("kind", "ring", "unknown kind 'ring'"),
        ("rat", "1 bit/s", "topology.rat: no such field; nearest: rate"),
    ):
        done = of_file({"topology": {**path, field: value}, "duration": "1 s"}, tmp_path)
        assert done.returncode == 2
        assert told in done.stderr
        assert len(done.stderr.splitlines()) == 1
