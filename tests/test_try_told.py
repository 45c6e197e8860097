"""What ``headway try`` says of what came of it: completion times, and a line for each doubt."""

import json

import pytest
from test_try import run, tried

from headway.backends import run as run_one
from headway.cli.try_warned import warnings
from headway.digest import digest_of
from headway.experiment import Experiment

DOWNLOADS = [
    *("--rate", "50Mbit/s", "--rtt", "80ms", "--buffer", "1BDP", "--quick-start"),
    *("--apart", "2s", "--duration", "8s", "--flows"),
    "cubic:size=1MB,cubic+jump-start:size=1MB:announces=on,"
    "cubic+mega-start:size=1MB:initial_rate=50Mbit/s,"
    "cubic+quick-start:size=1MB:initial_rate=50Mbit/s:announces=on",
]


def test_a_download_is_told_by_when_it_is_done(capfd) -> None:
    """The bounds: a handshake and a megabyte at the link's rate take 244 ms, and slow start's
    seven round trips 560 ms."""
    result = tried(capfd, *DOWNLOADS)
    done_ms = [flow["fct_us"] / 1e3 for flow in result["flows"]]
    assert done_ms == pytest.approx([617.2, 479.1, 479.5, 539.8], abs=0.5)
    assert all(244 < time_ms < 700 for time_ms in done_ms)
    assert result["warnings"] == []
    assert [flow["startup"] for flow in result["flows"]] == [
        "hystart", "jump-start", "mega-start", "quick-start",
    ]  # fmt: skip
    status, out, err = run(capfd, "try", *DOWNLOADS)
    assert (status, err) == (0, "")
    rows = {line.split()[1]: line.split() for line in out.splitlines() if "cubic-" in line}
    assert {name: float(row[2]) for name, row in rows.items()} == pytest.approx(
        {"hystart": 617.2, "jump-start": 479.1, "mega-start": 479.5, "quick-start": 539.8}, abs=0.1
    )
    # the goodput is that of the download: 8 Mbit over its time, not over eight seconds
    assert float(rows["hystart"][3].replace(",", "")) == pytest.approx(8e6 / done_ms[0], rel=1e-3)
    assert "requests 1, grants 1, lowered 1, granted 40.96 Mbit/s" in " ".join(out.split())


def test_several_trials_give_the_interval_of_completion_times(capfd) -> None:
    options = ["--flows", "2xcubic:size=50kB", "--loss", "2%", "--duration", "9s", "--trials", "3"]
    result = tried(capfd, *options)
    times = [trial["flows"][0]["fct_us"] for trial in result["trials"]]
    assert result["flows"][0]["fct_us"] == pytest.approx(sum(times) / 3)
    assert result["flows"][0]["fct_us_ci95"] > 0
    status, out, _ = run(capfd, "try", *options)
    assert status == 0
    assert "done after ms   ±95 %" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--buffer", "0.1BDP"], "buffer: 625 B (0.1 BDP) hold less than a packet of 1500 B"),
        (["--buffer", "1400B", "--voip"], "buffer: 1400 B hold less than a packet of 1500 B"),
        (["--hop", "1Mbit/s,5ms,9pkts", "--hop", "1Mbit/s,5ms,99B"], "buffer of hop 1: 99 B hold"),
        (["--flows", "2xcubic+quick-start"], "cubic-0 and cubic-1: no router on the path answers"),
        (["--flows", "cubic+quick-start:size=9kB", "--quick-start"], "asked for no rate"),
        (
            ["--flows", "cubic+quick-start", "--quick-start", "threshold_permille=0"],
            "no Quick-Start request was granted",
        ),
        (
            ["--flows", "cubic+quick-start", "--rate", "9Mbit/s", "--quick-start", "max_code=4"],
            "granted was no more than slow start has anyway",
        ),
        (
            ["--flows", "cubic+quick-start", "--rate", "50Mbit/s", "--quick-start"],
            "asked for its default, 10 Mbit/s",
        ),
        (["--flows", "xcp"], "xcp-0: no router on the path answers xcp"),
        (["--flows", "rcp"], "rcp-0: no router on the path answers rcp"),
        (["--flows", "cubic+mega-start"], "no rate was announced, so mega-start paced its default"),
        (
            ["--flows", "5xcubic+careful-resume"],
            "cubic-0, cubic-1 and 3 more flows: careful-resume had no saved window",
        ),
        (["--flows", "cubic:size=1MB"], "not done when the run ended (2 s): "),
        (["--flows", "cubic:start=3s"], "cubic-0: starts after the end of the run"),
        (["--rate", "9Gbit/s", "--control", "reno"], "reno-0: never left slow start"),
    ],
)
def test_what_was_not_as_asked_is_one_line(capfd, options: list[str], said: str) -> None:
    status, out, err = run(capfd, "try", *options, "--duration", "2s", "--json")
    assert status == 0
    assert said in err
    lines = [line.removeprefix("headway: warning: ") for line in err.splitlines()]
    assert json.loads(out)["warnings"] == lines
    assert sum(said in line for line in lines) == 1


def test_what_is_as_asked_is_not_warned_of() -> None:
    quiet = Experiment.model_validate(
        {
            "topology": {
                "kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "1500 B",
                "quick_start": "on",
            },
            "flows": "cubic:size=100kB,cubic+mega-start:ms_rate_kbps=2000,"
            "cubic+quick-start:initial_rate=8Mbit/s,voip,"
            "cubic+careful-resume:cr_saved_cwnd_pkts=50,reno+jump-start,htcp+initial-start",
            "duration": "8 s",
        }
    )  # fmt: skip
    assert warnings(quiet, digest_of(run_one(quiet))["flows"]) == []


@pytest.mark.parametrize("protocol", ["xcp", "rcp"])
def test_a_protocol_whose_routers_are_there_is_not_warned_of(protocol: str) -> None:
    path = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}
    quiet = Experiment.model_validate(
        {
            "topology": {**path, "routers": (protocol,)},
            "flows": f"2x{protocol}",
            "duration": "6 s",
            "warmup": "3 s",
        }
    )
    digest = digest_of(run_one(quiet))
    assert warnings(quiet, digest["flows"]) == []
    assert digest["link"]["utilization"] > 0.9


def test_routers_of_two_protocols_at_one_link_lead_their_flows_and_are_warned_of() -> None:
    path = {"kind": "dumbbell", "rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}
    both = Experiment.model_validate(
        {
            "topology": {**path, "quick_start": "on", "routers": ("xcp", "rcp")},
            "flows": "xcp,rcp",
            "duration": "4 s",
        }
    )
    digest = digest_of(run_one(both))
    assert [flow["fall_backs"] for flow in digest["flows"]] == [0, 0]
    [line] = warnings(both, digest["flows"])
    assert line.startswith("routers: xcp and rcp steer by all that the link carries")


def test_what_the_kernel_counts_only_together_is_not_warned_of() -> None:
    """Where several flows ask it knows no flow's own requests."""
    topology = {"kind": "dumbbell", "rate": "9 Mbit/s", "rtt": "40 ms", "buffer": "9 pkts"}
    asked = Experiment.model_validate(
        {
            "topology": {**topology, "quick_start": "on"},
            "flows": "2xcubic+quick-start:initial_rate=2Mbit/s",
            "duration": "2 s",
        }
    )
    unknown = dict.fromkeys(("quick_start_requests", "quick_start_grants", "quick_start_used"))
    flows = [{**flow, **unknown} for flow in digest_of(run_one(asked))["flows"]]
    assert warnings(asked, flows) == []


def test_another_backend_stands_beside(capfd, monkeypatch) -> None:
    """The simulator again, under the name of the other: what both give is the same."""
    from headway.backends import BACKENDS

    monkeypatch.setitem(BACKENDS, "kernel", BACKENDS["sim"])
    options = ["--flows", "cubic:size=20kB,cubic+mega-start:size=30kB", "--duration", "2s"]
    result = tried(capfd, *options, "--beside", "kernel")
    assert result["beside"]["backend"] == "kernel"
    assert result["beside"]["flows"] == result["flows"]
    assert len(result["warnings"]) == 1  # equal ones are said once
    assert tried(capfd, *options)["beside"] is None
    _, out, _ = run(capfd, "try", *options, "--beside", "kernel")
    [row] = [line.split() for line in out.splitlines() if "cubic-0" in line]
    assert row[2] == row[3]
    assert row[4] == "+0.0%"
    _, out, _ = run(capfd, "try", "--duration", "1s", "--beside", "kernel", "--trials", "2")
    assert "kernel kbit/s   differs" in out
    status, _, err = run(capfd, "try", "--beside", "sim")
    assert status == 2
    assert "beside: sim is where it runs; name another backend" in err


def test_of_many_flows_a_hundred_are_printed_and_the_rest_is_said(capfd) -> None:
    status, out, _ = run(
        capfd, "try", "--flows", "104xcubic:size=3kB", "--rate", "9Mbit/s", "--duration", "3s"
    )
    assert status == 0
    assert sum(" cubic-" in line for line in out.splitlines()) == 100
    assert "and 4 more flows; of all 104, as median (least to most): goodput" in out
    assert "104 are done after" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 100


def test_every_hop_of_a_chain_is_told(capfd) -> None:
    status, out, _ = run(
        capfd, "try", "--hop", "2Mbit/s,5ms,9pkts", "--hop", "1Mbit/s,5ms,20pkts",
        "--duration", "2s",
    )  # fmt: skip
    assert status == 0
    for said in ("queue of hop 0, bytes", "queue of hop 1, bytes", "hop 0: util", "hop 1: util"):
        assert said in out


def test_a_run_of_a_nanosecond_has_no_batches(capfd) -> None:
    [flow] = tried(capfd, "--duration", "1ns")["flows"]
    assert flow["goodput_bps_batch_ci95"] is None
