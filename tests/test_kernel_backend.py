"""What the kernel backend refuses, and how it orders runs; no test here uses the kernel."""

import os

import pytest

from headway import Experiment
from headway.backends import run
from headway.backends.kernel import headwayctl
from headway.errors import HeadwayError
from headway.experiment import outages

DUMBBELL = {"kind": "dumbbell", "rate": "5Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}


def experiment(flows: str = "1xcubic,1xvoip", **fields: object) -> Experiment:
    return Experiment.model_validate(
        {"topology": DUMBBELL, "flows": flows, "duration": "4 s", "warmup": "1 s", **fields}
    )


def test_what_the_kernel_cannot_do_is_refused_by_name() -> None:
    from headway.backends.kernel import check

    hop = {"forward": {"rate": "5Mbit/s", "delay": "10 ms", "buffer": "20000 B"}}
    chain = Experiment.model_validate(
        {
            "topology": {"kind": "chain", "hops": [hop] * 3},
            "flows": "1xreno:relay=1",
            "duration": "4 s",
        }
    )
    with pytest.raises(HeadwayError, match="a chain must have two hops, with a relay"):
        check(chain)


LAB = {**DUMBBELL, "rtt": "100 ms", "buffer": "1 MB", "quick_start": "algorithm=target"}


def download(control: str, start_s: float = 0, **fields: object) -> dict[str, object]:
    """A client that asks for 200 kB; both hosts announce large windows."""
    return {
        "app": {"kind": "vectors", "epochs": [["100 B", "200 kB", "0 s"]]},
        "control": control,
        "start": f"{start_s} s",
        "initial_rwnd": "500 kB",
        **fields,
    }


@pytest.mark.parametrize(
    ("topology", "flows", "said"),
    [
        ({}, [download("reno", extra_ack=True)], "extra_ack: not possible yet"),
        (LAB, [download("reno"), download("reno", sack=False)], "may not differ in .* sack"),
        (
            {**LAB, "reverse": {"rate": "1Mbit/s", "delay": "9 ms", "buffer": "1 MB"}},
            [download("reno+quick-start")],
            "must be set on both links or on none",
        ),
        (
            {},
            [
                {
                    "app": {"kind": "pingpong", "request": "9 B", "mean_interval": "1 s"},
                    "control": "reno",
                    "data_volume": "9 B",
                }
            ],
            "pingpong program sets no hints",
        ),
        (
            {},
            [{"app": {"kind": "requests", "codes": [5], "mean_interval": "1 s"}}],
            "hosts ask for a rate with TCP only",
        ),
    ],
)
def test_what_of_a_fast_start_the_kernel_cannot_do_is_refused_by_name(
    topology: dict[str, object], flows: list[dict[str, object]], said: str
) -> None:
    from headway.backends.kernel import check

    asked = Experiment.model_validate(
        {"topology": {**DUMBBELL, **topology}, "flows": flows, "duration": "4 s"}
    )
    with pytest.raises(HeadwayError, match=said):
        check(asked)


def test_slow_links_run_side_by_side_and_fast_ones_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from headway.backends.kernel.room import has_room

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})

    def most(rate: str) -> int:
        each = experiment(topology={**DUMBBELL, "rate": rate})
        beside: list[Experiment] = []
        while has_room(beside, each, 0):
            beside.append(each)
        return len(beside)

    assert [most(rate) for rate in ("1Mbit/s", "10Mbit/s", "100Mbit/s")] == [24, 1, 1]
    assert most("0.1Mbit/s") == 64


def test_the_seconds_of_runs_add_up_to_what_is_left() -> None:
    from headway.backends.kernel.room import SETUP_S, Seconds

    told: list[tuple[float, float, float]] = []
    seconds = Seconds(lambda *now: told.append(now), [experiment()] * 3)
    seconds.of(0)(4.0)
    seconds.of(1)(-0.5)
    seconds.report(1)
    seconds.report(2)
    wait_s = 2 * (4 + SETUP_S)
    assert told == [(4.0, 12.0, wait_s), (4.0, 12.0, wait_s / 2)]


def test_a_missing_headwayctl_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(headwayctl.VARIABLE, "/no/such/headwayctl")
    with pytest.raises(HeadwayError, match=r"headwayctl, which cannot be run"):
        run(experiment(), backend="kernel")


def test_a_failed_command_is_one_line_and_keeps_its_kind() -> None:
    error = headwayctl.failure(["attach", "x"], 3, "warning\nheadwayctl: no struct_ops\n")
    assert type(error).__name__ == "KernelCannotError"
    assert str(error) == "headwayctl: no struct_ops"
    assert str(headwayctl.failure(["attach", "x"], 1, "")) == "headwayctl attach x: exit status 1"


def test_what_of_routers_the_kernel_cannot_do_is_refused_by_name() -> None:
    from headway.backends.kernel import check

    varies = outages("5 Mbit/s", "20 ms", [("1 s", "2 s")])
    varying = Experiment.model_validate(
        {
            "topology": {
                "kind": "dumbbell",
                "rate": "5 Mbit/s",
                "rtt": "40 ms",
                "buffer": "2 BDP",
                "routers": ["quick-start"],
                "vary": varies,
            },
            "flows": "1xreno",
            "duration": "4 s",
        }
    )
    with pytest.raises(HeadwayError, match="routers: not possible at a link that varies"):
        check(varying)
