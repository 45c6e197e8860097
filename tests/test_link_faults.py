"""Thinned ACKs, corruption and MTUs of links: text, fields, errors, and what they do to flows."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from test_try import run as command

from headway import metrics, run
from headway.backends.sim import scenario
from headway.errors import ExperimentError
from headway.experiment import (
    AckThinning,
    Corruption,
    Dumbbell,
    Experiment,
    Link,
    Mtu,
)
from headway.trace import Trace

THINNED, TOO_BIG, CORRUPT = 6, 7, 8
"""Reasons in the table of drops."""
PATH = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}


def drops(trace: Trace, reason: int) -> int:
    """How many packets were dropped for this reason."""
    return trace["drops"].filter(pl.col("reason") == reason).height


def asymmetric(thinning: str | None, duration: str = "15 s") -> Experiment:
    """A download of 50 Mbit/s whose ACKs return over 1 Mbit/s."""
    back = {"rate": "1 Mbit/s", "delay": "20 ms", "buffer": "60000 B", "ack_thinning": thinning}
    return Experiment(
        topology=Dumbbell(
            rate="50 Mbit/s", rtt="40 ms", buffer="1 BDP", reverse=Link.model_validate(back)
        ),
        flows="cubic:delayed_ack=off",
        duration=duration,
        warmup="5 s" if duration == "15 s" else "0 s",
        record=("drops",),
    )


def _path(**effects: Any) -> Dumbbell:
    return Dumbbell.model_validate({**PATH, **effects})


def _made(path: Dumbbell, flows: Any = "1xcubic", duration: str = "1 s") -> Experiment:
    return Experiment(topology=path, flows=flows, duration=duration)


def _link(made: Experiment, number: int = 0) -> dict[str, Any]:
    links: list[dict[str, Any]] = scenario(made)["topology"]["links"]
    return links[number]


@pytest.mark.parametrize(
    ("field", "text", "typed", "lowered"),
    [
        ("ack_thinning", "filter", AckThinning(filter=True), {"filter": True}),
        ("ack_thinning", "filter=on", AckThinning(filter=True), {"filter": True}),
        (
            "ack_thinning",
            "keep=1/4:interval=2ms",
            AckThinning(keep="1/4", interval="2 ms"),
            {"filter": False, "keep_one_of": 4, "interval_ns": 2_000_000},
        ),
        ("corruption", "0.1%", Corruption(packet=0.001), {"packet": 0.001}),
        ("corruption", "bit=1e-7", Corruption(bit="1e-7"), {"bit": 1e-7}),
        ("mtu", "1400B", Mtu(size="1400 B"), {"size_bytes": 1400, "icmp": True}),
        ("mtu", "1400 B:icmp=off", Mtu(size="1400 B", icmp=False),
         {"size_bytes": 1400, "icmp": False}),
    ],
)  # fmt: skip
def test_text_and_fields_give_the_same_effect(
    field: str, text: str, typed: object, lowered: dict[str, Any]
) -> None:
    assert getattr(_path(**{field: text}), field) == typed
    made = _made(_path(**{field: typed}))
    assert Experiment.model_validate_json(made.model_dump_json()) == made
    assert _link(made)[field] == lowered
    assert field not in _link(made, 1), "the reverse link has no effects of its own"


@pytest.mark.parametrize(
    ("effects", "said"),
    [
        ({"ack_thinning": "filtr"}, "ack_thinning: 'filtr' is not allowed; write for example filt"),
        ({"ack_thinning": "keep=4"}, "ack_thinning.keep: '4' is not allowed; 1/2 to 1/1000"),
        ({"ack_thinning": "keep=1/1"}, "ack_thinning.keep: '1/1' is not allowed; 1/2 to"),
        ({"ack_thinning": "interval=5ms"}, "ack_thinning.keep: is missing; give filter, or keep"),
        ({"ack_thinning": "filter:keep=1/4"}, "ack_thinning.keep: 1/4 is not allowed; not tog"),
        ({"ack_thinning": "filter:interval=5ms"}, "ack_thinning.interval: 5 ms is not allowed"),
        ({"ack_thinning": "keep=1/4:interval=11min"}, "ack_thinning.interval: 660 s is not"),
        ({"ack_thinning": "keep=1/4:every=2"}, "ack_thinning: unknown option 'every'"),
        ({"corruption": "100%"}, "corruption.packet: '100%' must be at least 0 and less than 1"),
        ({"corruption": "bit=2"}, "corruption.bit: '2' must be"),
        ({"corruption": "1%:bit=1e-6"}, "corruption.bit: 0.000001 is not allowed; not together"),
        ({"corruption": {}}, "corruption.packet: is missing"),
        ({"mtu": "575B"}, "mtu.size: 575 B is not allowed; 576 B to 1500 B"),
        ({"mtu": "9000B"}, "mtu.size: 9000 B is not allowed"),
        ({"mtu": "1400"}, "mtu.size: '1400' has no unit"),
        ({"mtu": "icmp=off"}, "mtu: 'icmp=off' is not allowed; write for example 1400B"),
    ],
)
def test_bad_input_is_one_line_with_the_field(effects: dict[str, Any], said: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        _path(**effects)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_does_not_fit_an_mtu_is_refused() -> None:
    flow = {"app": {"kind": "cbr", "packet": "1401 B", "interval": "1 ms"}}
    with pytest.raises(ExperimentError, match=r"app\.packet: 1401 B is not .* of its path, 1400 B"):
        _made(_path(mtu="1400B"), [flow])
    with pytest.raises(ExperimentError, match="not with the startup quick-start"):
        _made(_path(mtu="1400B"), "1xcubic+quick-start")


def test_headway_try_has_an_option_for_each(capfd: pytest.CaptureFixture[str]) -> None:
    def tried(*options: str) -> tuple[int, str]:
        code, _, errors = command(capfd, "try", "--duration", "1s", *options)
        return code, errors

    for options in (
        ("--ack-thinning=keep=1/2", "--corruption=bit=1e-7", "--mtu=1400B"),
        ("--ack-thinning=filter", "--reverse", "rate=100kbit/s"),
        ("--hop", "9Mbit/s,5ms,1BDP,corruption=1%,mtu=1300B"),
    ):
        assert tried(*options)[0] == 0, options
    code, line = tried("--mtu", "99B")
    assert code == 2
    assert "mtu.size: 99 B is not allowed; 576 B to 1500 B" in line
    code, line = tried("--ack-thinning", "keep=1/9999")
    assert code == 2
    assert "ack_thinning.keep: '1/9999' is not allowed; 1/2 to 1/1000" in line
    code, line = tried("--mtu", "1400B:icmp=off")
    assert code == 0
    assert "forward0 drops packets above 1400 B silently (icmp=off)" in line


def test_acks_are_thinned_on_the_way_back() -> None:
    trace = run(asymmetric("filter", "2 s"))
    thinned = trace["drops"].filter(pl.col("reason") == THINNED)
    assert thinned.height > 1000
    assert thinned["link"].unique().to_list() == [1]


def test_transfers_are_slow_relative_to_a_shapers_rate() -> None:
    def slowdown(rate: str, **shaper: str) -> float:
        path = Dumbbell.model_validate({"rate": rate, "rtt": "10 ms", "buffer": "1 MB", **shaper})
        made = _made(path, "cubic:arrivals=2/s:spacing=constant:sizes=200kB", "10 s")
        rows = run(made)["transfers"].drop_nulls()
        took = (rows["end_ns"] - rows["start_ns"]) / rows["ideal_ns"]
        return float(took.mean())  # type: ignore[arg-type]

    shaped = slowdown("100 Mbit/s", shaper="10Mbit/s:burst=3kB")
    assert shaped == pytest.approx(slowdown("10 Mbit/s"), rel=0.05)
    assert 1 <= shaped < 1.6


def test_goodput_with_an_mtu_is_that_of_its_packets() -> None:
    made = Experiment(topology=_path(mtu="1000B"), flows="1xreno", duration="10 s", warmup="3 s")
    goodput_bps = metrics.goodput_bps(run(made), 0)
    assert goodput_bps == pytest.approx(20e6 * 948 / 1000, rel=0.005)
