"""The kernel backend rejects chains of hops that it cannot run."""

from __future__ import annotations

from typing import Any

import pytest

from headway import Experiment
from headway.backends.kernel import check
from headway.errors import HeadwayError

SIZE_BYTES = 700_000
RTT_MS = 200


def link(rate: str, delay: str, **fields: Any) -> dict[str, Any]:
    return {"rate": rate, "delay": delay, "buffer": "500 pkts", **fields}


def experiment(control: str = "xcp_pep", **fields: Any) -> Experiment:
    """Three files over 10 Mbit/s, behind a faster leg."""
    monitor = f"pep-monitor:rtt_ms={RTT_MS}"
    satellite = link("10 Mbit/s", f"{RTT_MS // 2} ms", routers=[monitor])
    back = link("10 Mbit/s", f"{RTT_MS // 2} ms")
    flow = {
        "control": "cubic",
        "app": {"kind": "bulk", "size": f"{SIZE_BYTES} B"},
        "relay": {"at_hop": 1, "control": control},
    }
    hops = [
        {"forward": link("100 Mbit/s", "1 ms")},
        {"forward": satellite, "reverse": back},
    ]
    asked = {
        "topology": {"kind": "chain", "hops": hops},
        "flows": [{**flow, "start": f"{start} ms"} for start in (0, 300, 600)],
        "duration": "12 s",
        **fields,
    }
    return Experiment.model_validate(asked)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"flows": ["cubic:relay=1", "cubic:relay=1:relay_control=reno"]},
            "cubic-1 has a different",
        ),
        ({"flows": ["cubic", "cubic:relay=1"]}, "cubic-1 has a different relay or none"),
        ({"flows": "2xcubic:to_hop=1"}, "cubic-0: with a gateway, flows must cross both hops"),
        (
            {"capture": {"link": "forward0"}},
            "'forward0' is not allowed; with a gateway choose from bottleneck, forward1, reverse1",
        ),
        ({"flows": ["cubic:relay=1", "voip"]}, "has a different relay or none"),
        (
            {"topology": {"kind": "chain", "hops": [{"forward": link("1 Mbit/s", "1 ms")}] * 3}},
            "must have two hops",
        ),
        (
            {
                "topology": {
                    "kind": "chain",
                    "hops": [{"forward": link("1 Mbit/s", "1 ms", routers=["xcp"])}] * 2,
                }
            },
            "second hop's forward link",
        ),
    ],
)
def test_a_chain_that_is_no_gateway_is_refused_in_one_line(
    fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(HeadwayError, match=said) as error:
        check(experiment(**fields))
    assert "\n" not in str(error.value)
