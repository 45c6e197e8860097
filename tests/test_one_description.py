"""Python and headwayctl both read experiments with crates/experiment.

These tests compare Python's typed models with headwayctl's testbed, and its random draws with
Python's generator.
"""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headway import units
from headway.engine import engine
from headway.errors import ExperimentError
from headway.experiment import (
    FLOW_OPTIONS,
    Dumbbell,
    Experiment,
    Flow,
    Transfers,
    limit_bytes,
    parse_flows,
)
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
    of_text |= {"arrivals", "load", "think", "spacing", "sizes"}
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
        # round() of a Fraction rounds halves to even, as the parser does
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
"""Texts of flows with at most two options, since only the typed models report conflicts."""


TOGETHER = (
    *("stop:", "deadline:", "announces", "from_hop:", "read_rate", "read_size", "read_interval"),
    *("exchanges", "pages", "http", "connections", "relay", "relay_control"),
    *("arrivals", "load", "think", "spacing", "sizes"),
)
"""Options for which the typed models check more than the parser: conflicts with other options, and
files that only Python reads."""


def refusal(read, text: str) -> str:
    """The error line with which ``read`` rejects a text; empty if it accepts the text."""
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
        if isinstance(flow.app, Transfers):
            interval_ns = flow.app.arrivals and engine.parse_arrivals(flow.app.arrivals)
            own = {"arrivals": interval_ns, "think": flow.app.think, "spacing": flow.app.spacing}
            for name in ("arrivals", "think", "spacing"):
                assert values.pop(name, own[name]) == own[name]
            for name in ("load", "size", "sizes"):
                values.pop(name, None)
        assert getattr(flow.app, "size", None) == values.pop("size", None)
        if flow.relay is not None:  # in text, ``relay`` is the hop's number
            assert flow.relay.at_hop == values.pop("relay")
            values.pop("relay_control", None)  # a wrong control was rejected above
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
