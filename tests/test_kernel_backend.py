"""Experiments on this machine's kernel; skipped, with the reason, where it cannot."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support import ROOT

from headway import Experiment, metrics
from headway.backends import _headwayctl, run
from headway.errors import HeadwayError
from headway.trace import SCHEMA, Trace, load_trace, save_trace

BUILT = [ROOT / "target" / profile / "headwayctl" for profile in ("release", "debug")]
for built in BUILT:
    if built.exists():  # `make test` builds it before it comes here
        os.environ.setdefault(_headwayctl.VARIABLE, str(built))
REASON = _headwayctl.unusable()


def on_kernel(test: Callable[..., None]) -> Callable[..., None]:
    """Real time and root: slow, and skipped with its reason where it cannot be."""
    skip = pytest.mark.skipif(REASON is not None, reason=f"kernel backend: {REASON}")
    return pytest.mark.slow(skip(test))


DUMBBELL = {"kind": "dumbbell", "rate": "5Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}


def experiment(flows: str = "1xcubic,1xvoip", **fields: object) -> Experiment:
    return Experiment.model_validate(
        {"topology": DUMBBELL, "flows": flows, "duration": "4 s", "warmup": "1 s", **fields}
    )


def namespaces() -> set[str]:
    folder = Path("/run/netns")
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


@pytest.fixture(scope="module")
def trace() -> Trace:
    return run(experiment(), backend="kernel")


@on_kernel
def test_a_kernel_trace_has_the_simulators_schema(trace: Trace, tmp_path: Path) -> None:
    assert {name: dict(frame.schema) for name, frame in trace.tables.items()} == SCHEMA
    assert all(trace[name].height > 0 for name in ("flow_state", "queue", "drops", "udp"))
    saved = load_trace(save_trace(trace, tmp_path / "trace"))
    assert saved["flow_state"].equals(trace["flow_state"])


@on_kernel
def test_a_kernel_run_says_what_it_ran_on(trace: Trace) -> None:
    assert trace.meta["backend"] == "kernel"
    assert trace.meta["kernel"]["release"] == os.uname().release
    assert trace.meta["kernel"]["sysctls"]["net.ipv4.tcp_no_metrics_save"] == "1"
    assert trace.meta["emulator"]["directions"][0]["delivered_pkts"] > 1000
    assert trace.meta["sampler"]["lost"] == 0


@on_kernel
def test_a_kernel_flow_fills_the_link_and_delays_the_call(trace: Trace) -> None:
    assert 4.2e6 < metrics.goodput_bps(trace, 0) < 4.85e6
    delay = metrics.owd_distribution_us(trace)
    assert delay.median is not None
    assert 20_000 <= delay.min < delay.median < 60_000
    [handshake] = [flow.handshake_rtt_us for flow in trace.flows if flow.handshake_rtt_us]
    assert 40_000 <= handshake < 43_000
    assert trace.flows[0].mss_bytes == 1448


@on_kernel
def test_nothing_is_left_after_a_run(trace: Trace) -> None:
    assert not [name for name in namespaces() if name.startswith(f"headway-hw{os.getpid():x}n")]
    attached = _headwayctl.Headwayctl().json("status", "--json")["attached"]
    ours = f"hw{os.getpid():x}n"
    assert not [entry for entry in attached if entry["name"].startswith(ours)]


@on_kernel
def test_nothing_is_left_after_ctrl_c() -> None:
    before = namespaces()
    code = (
        "from headway import Experiment, run\n"
        f"run(Experiment.model_validate({{'topology': {DUMBBELL}, 'flows': '1xreno',"
        " 'duration': '60 s'}), backend='kernel')"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while namespaces() == before and time.monotonic() < deadline:
        time.sleep(0.1)
    assert namespaces() > before
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) != 0
    assert namespaces() == before


@on_kernel
def test_vectors_on_the_kernel_have_responses() -> None:
    flow = {
        "app": {"kind": "vectors", "epochs": [["200 B", "20000 B", "100 ms"]] * 3},
        "control": "cubic",
    }
    responses = run(experiment([flow]), backend="kernel")["responses"]  # type: ignore[arg-type]
    assert responses["epoch"].to_list() == [0, 1, 2]
    lengths_ms = ((responses["end_ns"] - responses["start_ns"]) / 1e6).to_list()
    assert all(40 < length < 300 for length in lengths_ms)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"capture": {}}, "capture"),
        ({"flows": "1xcubic:delayed_ack=off"}, "delays ACKs"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused_by_name(fields: dict[str, object], said: str) -> None:
    from headway.backends.kernel import check

    with pytest.raises(HeadwayError, match=said):
        check(experiment(**fields))  # type: ignore[arg-type]


def test_a_missing_headwayctl_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_headwayctl.VARIABLE, "/no/such/headwayctl")
    with pytest.raises(HeadwayError, match=r"headwayctl, which cannot be run"):
        run(experiment(), backend="kernel")


def test_a_failed_command_is_one_line_and_keeps_its_kind() -> None:
    error = _headwayctl.failure(["attach", "x"], 3, "warning\nheadwayctl: no struct_ops\n")
    assert type(error).__name__ == "KernelCannotError"
    assert str(error) == "headwayctl: no struct_ops"
    assert str(_headwayctl.failure(["attach", "x"], 1, "")) == "headwayctl attach x: exit status 1"
