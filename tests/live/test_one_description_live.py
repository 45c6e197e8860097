"""Tests that headwayctl parses experiments as Python does. Measures no time."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import BUILT
from test_one_description import NUMBERS, QUANTITIES, refusal

from headway.backends.sim import topology_fields
from headway.experiment import Experiment, limit_bytes

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
    """Test that Python and headwayctl accept the same descriptions of experiments.

    headwayctl may also reject a description with which the emulator could not run."""
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
    """Let headwayctl print the testbed's configuration for an experiment in a file."""
    file = folder / "experiment.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    asked = ["testbed", "up", "--name", "one", "--dry-run", "--json", "--experiment", str(file)]
    return subprocess.run([str(BUILT_CTL), *asked], capture_output=True, text=True, check=False)


@pytest.mark.skipif(BUILT_CTL is None, reason="headwayctl is not built (make build)")
def test_a_testbed_of_an_experiment_has_the_links_of_its_simulation(tmp_path: Path) -> None:
    path = {
        "kind": "dumbbell", "rate": "12345 kbit/s", "rtt": "33333 us", "buffer": "1.7 BDP",
        "aqm": "red:ecn=on", "loss": "0.3%", "access_delay": "1 ms", "access_rate": "2 Gbit/s",
        "ecn": "bleach",
    }  # fmt: skip
    whole = {"topology": path, "flows": "reno", "duration": "1 s", "seed": 7}
    made = Experiment.model_validate(whole)
    done = of_file(json.loads(made.model_dump_json()), tmp_path)
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)["config"]
    for way, lowered in zip(("forward", "reverse"), topology_fields(made)["links"], strict=True):
        link = {name: value for name, value in config[way]["link"].items() if value is not None}
        assert link == lowered
    assert config["seed"] == 7
    assert config["access_rate_bps"] == 2_000_000_000
    for side in ("left", "right"):
        assert [host["extra_delay_ns"] for host in config[side]] == [1_000_000]
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


@pytest.mark.skipif(BUILT_CTL is None, reason="headwayctl is not built (make build)")
def test_a_testbed_of_a_network_has_the_routes_of_its_simulation(tmp_path: Path) -> None:
    link = {"rate": "12345 kbit/s", "delay": "3333 us", "buffer": "1.7 BDP", "loss": "0.3%"}
    names = ("a-b", "b-c", "c-d", "d-a", "a-c")
    path = {
        "kind": "network", "nodes": ["a", "b", "c", "d"], "ecmp": True, "access_delay": "1 ms",
        "edges": [{"between": name, "forward": link} for name in names],
    }  # fmt: skip
    flows = "8xreno:source=b:destination=d,reno:source=a:destination=b:route=a-c-b:delay=4ms"
    whole = {"topology": path, "flows": flows, "duration": "1 s", "seed": 7}
    made = Experiment.model_validate(whole)
    assert len({tuple(there) for there, _ in made.all_routes()}) == 3
    done = of_file(json.loads(made.model_dump_json()), tmp_path)
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)["config"]
    paths = [config["forward"], config["reverse"], *config["further"]]
    for own, lowered in zip(paths, topology_fields(made)["links"], strict=True):
        assert {name: value for name, value in own["link"].items() if value is not None} == lowered
    pairs = zip(config["left"], config["right"], strict=True)
    assert [(one["route"], other["route"]) for one, other in pairs] == list(made.all_routes())
    delays_ns = [host["extra_delay_ns"] for host in (*config["left"], *config["right"])]
    assert delays_ns == [1_000_000] * 8 + [5_000_000] + [1_000_000] * 9
