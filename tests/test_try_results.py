"""What ``headway try`` reports after a run: completion times, and warnings."""

import dataclasses
import json
import re
from typing import Any

import pytest
from test_try import run, tried

from headway.backends import run as run_one
from headway.backends.sim import SimBackend
from headway.cli.try_warnings import warnings
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
    """By hand, handshake and 1 MB at the link's rate take 244 ms, and 560 ms with slow start."""
    result = tried(capfd, *DOWNLOADS)
    done_ms = [flow["fct_us"] / 1e3 for flow in result["flows"]]
    assert done_ms == pytest.approx([618.0, 479.7, 478.5, 539.4], abs=0.5)
    assert all(244 < time_ms < 700 for time_ms in done_ms)
    # Jump-Start limits its first flight to 64 kB and causes no warning; the peer's first window
    # limits mega-start and quick-start
    assert [line.partition(":")[0] for line in result["warnings"]] == ["cubic-2", "cubic-3"]
    assert [flow["startup"] for flow in result["flows"]] == [
        "hystart", "jump-start", "mega-start", "quick-start",
    ]  # fmt: skip
    status, out, err = run(capfd, "try", *DOWNLOADS)
    assert status == 0
    assert err == "".join(f"headway: warning: {line}\n" for line in result["warnings"])
    rows = {line.split()[1]: line.split() for line in out.splitlines() if "cubic-" in line}
    assert {name: float(row[2]) for name, row in rows.items()} == pytest.approx(
        {"hystart": 618.0, "jump-start": 479.7, "mega-start": 478.5, "quick-start": 539.4}, abs=0.1
    )
    # goodput is 8 Mbit divided by the download's time, not by the run's eight seconds
    assert float(rows["hystart"][3].replace(",", "")) == pytest.approx(8e6 / done_ms[0], rel=1e-3)
    assert "requests 1, grants 1, lowered 1, granted 40.96 Mbit/s" in " ".join(out.split())


GEO = {"kind": "dumbbell", "rate": "50 Mbit/s", "rtt": "600 ms", "buffer": "1 BDP"}
LAN = {**GEO, "rtt": "80 ms"}
AMPLE = ":initial_rwnd=8388480B:extra_ack=on:wmem=4KiB/64MiB/64MiB"
HELD_BACK = "could have sent"


def digested(topology: dict[str, Any], flow: str, **more: Any) -> tuple[Any, list[str]]:
    """The digest of a flow over Quick-Start routers, and the warnings about it."""
    only = Experiment.model_validate(
        {"topology": {**topology, "quick_start": "on"}, "flows": flow, "duration": "40 s", **more}
    )
    [flow] = SimBackend().digest(only)["flows"]
    return flow, warnings(only, [flow])


def advised(flow: str, line: str) -> str:
    """A flow's text with the options that a warning recommends."""
    advice = re.search(r"; give ([^;]*)", line)
    assert advice is not None, line
    for option in advice[1].split(":"):
        flow = re.sub(f":{option.partition('=')[0]}=[^:]*", "", flow) + f":{option}"
    return flow


def test_a_grant_that_the_first_windows_cut_short_is_warned_of(capfd) -> None:
    """A download of 10 MB over a geostationary link whose router grants 40.96 Mbit/s."""
    status, out, err = run(
        capfd, "try", "--rate", "50Mbit/s", "--rtt", "600ms", "--buffer", "1BDP", "--quick-start",
        "--flows", "cubic+quick-start:size=10MB:initial_rate=50Mbit/s:announces=on", "--json",
    )  # fmt: skip
    assert status == 0
    assert err == (
        "headway: warning: cubic-0: quick-start could have sent 2059 packets before the first ACK, "
        "and sent 45: the peer's window had room for 45; give initial_rwnd=6.1MB:extra_ack=on; "
        "limited slow start then slowed the growth of the window (qs_max_ssthresh_pkts=0 turns it "
        "off)\n"
    )
    [flow] = json.loads(out)["flows"]
    assert flow["fct_us"] / 1e6 == pytest.approx(10.64, abs=0.01)
    # limited slow start (RFC 3742) adds at most 50 packets per round trip; standard slow start adds
    # one for each packet that was acknowledged
    flight = flow["first_flight"]
    assert flight.pop("growth_limited_pkts") > 2059
    assert flight == {
        "asked_pkts": 2059, "largest_pkts": 2059, "sent_pkts": 45, "rwnd_limited_pkts": 2059 - 45,
        "syn_limited_pkts": 2059 - 45, "sndbuf_limited_pkts": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("flow", "seconds", "advised_seconds"),
    [
        # times by hand: two round trips of 0.6 s (three if the Quick-Start request or the jump is
        # sent late), then 6907 packets at a window of W per round trip, where W begins with the
        # first flight
        ("cubic+quick-start:initial_rate=10Mbit/s:announces=on", 10.64, 6.68),
        ("cubic+quick-start:initial_rate=20Mbit/s:announces=on", 10.64, 4.57),
        ("cubic+quick-start:initial_rate=41Mbit/s:announces=on", 10.64, 3.19),
        ("cubic+quick-start:initial_rate=50Mbit/s:announces=on", 10.64, 3.19),
        ("cubic+quick-start:initial_rate=50Mbit/s:qs_activation=late", 11.19, 3.79),
        ("cubic+mega-start:initial_rate=50Mbit/s", 6.35, 2.91),
        ("cubic+jump-start:js_max_bytes=0:js_max_rate_kbps=45000", 6.05, 2.60),
        ("cubic+careful-resume:cr_saved_cwnd_pkts=4000", 6.95, 3.44),
        ("cubic+initial-start:is_window_pkts=1000:is_paced=on", 5.53, 3.45),
        ("cubic+mega-start:initial_rate=50Mbit/s:stack=linux-2.6", 10.35, 2.56),
    ],
)
def test_what_a_warning_advises_lets_the_start_send_all(
    flow: str, seconds: float, advised_seconds: float
) -> None:
    flow += ":size=10MB"
    digest, [line] = digested(GEO, flow)
    assert HELD_BACK in line
    assert digest["fct_us"] / 1e6 == pytest.approx(seconds, abs=0.06)
    digest, lines = digested(GEO, advised(flow, line))
    assert lines == []
    assert digest["fct_us"] / 1e6 == pytest.approx(advised_seconds, abs=0.06)
    flight = digest["first_flight"]
    # the last large segment may leave after the first ACK has arrived
    assert flight["asked_pkts"] - 2 <= flight["sent_pkts"] <= flight["asked_pkts"]


def test_each_limit_is_named_alone() -> None:
    flow = "cubic+quick-start:size=1MB:initial_rate=50Mbit/s:announces=on"
    _, [window] = digested(LAN, f"{flow}:wmem=4KiB/64MiB/64MiB")
    assert "peer's window" in window
    assert "send buffer" not in window
    assert "give initial_rwnd=810kB:extra_ack=on;" in window
    small = f"{flow}:initial_rwnd=1MB:extra_ack=on:wmem=4KiB/64kB/64kB"
    _, [buffer] = digested(LAN, small)
    assert "peer's window" not in buffer
    assert "the send buffer had room for 54; give sndbuf=650kB" in buffer
    _, [no_extra_ack] = digested(LAN, f"{flow}:initial_rwnd=1MB:wmem=4KiB/64MiB/64MiB")
    assert "; give extra_ack=on;" in no_extra_ack
    # careful-resume jumps a round trip later than the others, when receive windows are already
    # scaled
    _, [jump] = digested(GEO, "cubic+careful-resume:size=3MB:cr_saved_cwnd_pkts=1000")
    assert jump.endswith("the peer's window had room for 55; give initial_rwnd=1.5MB")
    # 500 Mbit/s for 600 ms are 30 MB; a receive window is at most 8 MiB
    fast = {**GEO, "rate": "1 Gbit/s"}
    _, [largest] = digested(fast, f"cubic+mega-start:size=30MB:initial_rate=500Mbit/s{AMPLE}")
    assert largest.endswith("had room for 5793, the largest window that TCP can announce")


@pytest.mark.parametrize("rtt", ["20 ms", "80 ms", "300 ms", "600 ms"])
@pytest.mark.parametrize("loss", ["0%", "1%"])
@pytest.mark.parametrize(
    "start",
    [
        "quick-start:initial_rate=20Mbit/s", "quick-start:initial_rate=20Mbit/s:qs_activation=late",
        "mega-start:initial_rate=20Mbit/s", "careful-resume:cr_saved_cwnd_pkts=600",
        "initial-start:is_window_pkts=200", "initial-start:is_window_pkts=200:is_paced=on",
        "jump-start:js_max_bytes=0:ignore_peer_window=1",
    ],
)  # fmt: skip
def test_a_start_that_no_window_cuts_short_is_not_warned_of(
    rtt: str, loss: str, start: str
) -> None:
    """With large receive windows no first flight is limited. With the stack's default first
    windows, first flights above 60 packets are limited.
    """
    path = {**GEO, "rtt": rtt, "loss": loss}
    for size in ("40kB", "2MB"):
        flow = f"cubic+{start}:size={size}"
        _, lines = digested(path, flow + AMPLE)
        assert not any(HELD_BACK in line for line in lines)
        digest, lines = digested(path, flow.replace(":ignore_peer_window=1", ""))
        asked_pkts = digest["first_flight"]["asked_pkts"]
        assert asked_pkts < 45 or asked_pkts > 60
        assert any(HELD_BACK in line for line in lines) == (asked_pkts > 60)


def test_uncounted_first_flights_give_no_warning() -> None:
    """The kernel backend does not know the first flight's values: they are null, not 0."""
    held = Experiment.model_validate(
        {
            "topology": GEO,
            "flows": "cubic+mega-start:size=1MB:initial_rate=50Mbit/s",
            "duration": "9 s",
        }
    )
    trace = run_one(held)
    assert len(warnings(held, digest_of(trace)["flows"])) == 1
    flows = [flow.model_copy(update={"first_flight": None}) for flow in trace.flows]
    digest = digest_of(dataclasses.replace(trace, flows=tuple(flows)))
    assert digest["flows"][0]["first_flight"] is None
    assert warnings(held, digest["flows"]) == []


def test_several_trials_give_the_interval_of_completion_times(capfd) -> None:
    options = ["--flows", "2xcubic:size=50kB", "--loss", "2%", "--duration", "9s", "--trials", "3"]
    result = tried(capfd, *options)
    times = [trial["flows"][0]["fct_us"] for trial in result["trials"]]
    assert result["flows"][0]["fct_us"] == pytest.approx(sum(times) / 3)
    assert result["flows"][0]["fct_us_ci95"] > 0
    status, out, _ = run(capfd, "try", *options)
    assert status == 0
    assert re.search(r"done after ms +±95 %", out)


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
            "granted no more than slow start sends anyway",
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
            "cubic+quick-start:initial_rate=8Mbit/s:data_volume=10MB,voip,"
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
    assert line.startswith("routers: xcp and rcp each measure all traffic of the link")


def test_what_the_kernel_counts_only_together_is_not_warned_of() -> None:
    """If several flows send Quick-Start requests, the kernel only has their sum, and no flow gets a
    warning."""
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


def test_another_backend_is_compared(capfd, monkeypatch) -> None:
    """The simulator replaces the kernel as the second backend, so both results are equal."""
    from headway.backends import BACKENDS

    monkeypatch.setitem(BACKENDS, "kernel", BACKENDS["sim"])
    options = ["--flows", "cubic:size=20kB,cubic+mega-start:size=30kB", "--duration", "2s"]
    result = tried(capfd, *options, "--beside", "kernel")
    assert result["beside"]["backend"] == "kernel"
    assert result["beside"]["flows"] == result["flows"]
    assert len(result["warnings"]) == 1  # equal lines are printed once
    assert tried(capfd, *options)["beside"] is None
    _, out, _ = run(capfd, "try", *options, "--beside", "kernel")
    [row] = [line.split() for line in out.splitlines() if "cubic-0" in line]
    assert row[2] == row[3]
    assert row[4] == "+0.0%"
    _, out, _ = run(capfd, "try", "--duration", "1s", "--beside", "kernel", "--trials", "2")
    assert "kernel kbit/s   differs" in out
    status, _, err = run(capfd, "try", "--beside", "sim")
    assert status == 2
    assert "beside: sim is already the backend; name another one" in err


def test_of_many_flows_a_hundred_are_printed_and_the_rest_is_counted(capfd) -> None:
    status, out, _ = run(
        capfd, "try", "--flows", "104xcubic:size=3kB", "--rate", "9Mbit/s", "--duration", "3s"
    )
    assert status == 0
    assert sum(" cubic-" in line for line in out.splitlines()) == 100
    assert "and 4 more flows; median (minimum to maximum) of all 104: goodput" in out
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
