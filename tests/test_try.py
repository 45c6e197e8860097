"""``headway try``: whole experiments, chains, routers, and what is refused before a run."""

import json
from pathlib import Path

import pytest
from support import ROOT

from headway.cli.app import execute
from headway.experiment import Control, Experiment, parse_flows

SHORT = ["--duration", "2 s"]


def run(capfd, *arguments: str) -> tuple[int, str, str]:
    """Run a command in this process, which is faster than a new one; returns status, stdout,
    stderr.
    """
    status = execute(arguments)
    printed = capfd.readouterr()
    return status, printed.out, printed.err


def tried(capfd, *arguments: str) -> dict:
    """The JSON that a successful run prints."""
    status, out, err = run(capfd, "try", *arguments, "--json")
    assert status == 0, err
    return json.loads(out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", ""], "'' cannot be the name of a file or folder"),
        (["--pcap", ""], "'' cannot be the name of a file or folder"),
        (["--plot", "/no/such/p.svg"], "plot: /no/such/p.svg: cannot save: no folder"),
        (["--pcap", "/no/such/p"], "pcap: /no/such/p: cannot save: no folder /no/such"),
        (["--pcap", "/tmp"], "pcap: /tmp: cannot save: it is a folder"),
        (["--plot", "p.gif"], "name a file that ends in .svg, .pdf, .png"),
        (["--save", "x.toml"], "save: x.toml: name a file that ends in .json"),
        (["--out", "/dev/null/x"], "out: /dev/null/x: cannot save: /dev/null is not a folder"),
        (["--hop", "1Mbit/s"], "write RATE,DELAY,BUFFER[,FIELD=VALUE]"),
        (["--hop", "1Mbit/s,2ms,1BDP,x=5"], "x: no such field"),
        (["--hop", "1Mbit/s,2ms,1BDP", "--rtt", "5ms"], "--rtt: give it in each --hop"),
        (["--hop", "1Mbit/s,2ms,1BDP", "--reverse", "rate=1bps"], "--reverse: --topology FILE can"),
        (["--reverse", "rate=0bps"], "reverse: 'rate=0bps': rate: '0bps' must be more than 0"),
        (["--reverse", "rtt=1s"], "reverse: 'rtt=1s': rtt: no such field"),
        (["--reverse", ""], "reverse: "),
        (["--topology", "/no/such.toml"], "/no/such.toml: cannot read: No such file"),
        (["--topology", "x.toml", "--rate", "1bps"], "--rate: x.toml has the topology; change it"),
        (["--flows", "cubic:direction=back"], "direction: 'back' is not allowed; one of 'forward'"),
        (["--flows", "cubic:source=a"], "flows[0].source: 'a' is not allowed; only a network has"),
        (["--aqm", "rid"], "aqm: unknown queue discipline 'rid'; nearest: red"),
        (["--aqm", "red:max_th_pkt=4"], "nearest: max_th_pkts"),
        (["--quick-start", "algorithm=foo"], "allowed: target, share, optimistic, fair, extreme"),
        (["--router", "quick-strt"], "router: unknown router 'quick-strt'; nearest: quick-start"),
        (["--router", "quick-start:slots=17"], "router: tunable slots=17 out of range"),
        (["--router", "xcp", "--router", "xcp"], "routers: xcp is given twice; allowed: each"),
        (["--router", "quick-start", "--quick-start"], "routers: quick-start is given twice"),
        (
            ["--router", "vcp", "--router", "mpcp"],
            "routers: mpcp is not allowed beside vcp: both write the two ECN bits",
        ),
        (
            ["--router", "vcp", "--flows", "1xcubic,1xmpcp"],
            "flows[1].control: mpcp is not allowed past the router vcp",
        ),
        (
            [
                *("--hop", "1Mbit/s,2ms,1BDP,routers=vcp+quick-start"),
                *("--hop", "1Mbit/s,2ms,1BDP,routers=mpcp", "--flows", "vcp:to_hop=1,vcp"),
            ],
            "flows[1].control: vcp is not allowed past the router mpcp",
        ),
        (["--hop", "1Mbit/s,2ms,1BDP,routers=rcpp"], "router: unknown router 'rcpp'"),
        (["--control", "cubic", "--flows", "1xreno"], "--flows: --control is one flow"),
        (["--control", "yeah"], "the kernel's own controls need --backend kernel"),
        (["--flows", "kernel:bbr"], "the simulator does not have the kernel's own controls"),
        (["--flows", "kernel:bbr+hystart"], "kernel:bbr is the kernel's own: no startup"),
        (
            ["--seed", str(2**63 - 1), "--trials", "2"],
            f"trials would have seed {2**63}; must be below 2**63",
        ),
        (["--apart", "5"], "apart: '5' has no unit"),
        (["/no/such.json"], "cannot read: No such file"),
        (["/dev/null"], "name a file that ends in .json or .toml"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_before_anything_runs(
    capfd, monkeypatch, arguments: list[str], said: str
) -> None:
    from headway.backends.sim import SimBackend, scenario_json

    def never(_self, experiments, *_: object) -> None:
        scenario_json(experiments[0])
        pytest.fail("it ran")

    monkeypatch.setattr(SimBackend, "run_each", never)
    status, out, err = run(capfd, "try", *arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_kernels_own_control_is_named_with_its_prefix_and_nothing_else() -> None:
    [flow] = parse_flows("1xkernel:bbr:sack=off:size=1MB")
    assert flow.control is not None
    assert (flow.control.kernel_own, flow.sack) == ("bbr", False)
    assert Control.model_validate(flow.control.model_dump()) == flow.control
    for text in ("kernel:", "kernel:a/b", "kernel:" + 16 * "x", "kernel:bbr:high_gain=2"):
        with pytest.raises(ValueError, match="kernel"):
            parse_flows(text)


EXPERIMENT = """
flows = "1xcubic+quick-start:initial_rate=2Mbit/s:size=100kB,1xvoip"
duration = "2 s"
seed = 9

[topology]
kind = "dumbbell"
rate = "2 Mbit/s"
rtt = "40 ms"
buffer = "40 pkts"
quick_start = "algorithm=fair"
"""


def test_a_whole_experiment_comes_from_toml_or_json_and_is_saved(capfd, tmp_path: Path) -> None:
    toml, saved = tmp_path / "e.toml", tmp_path / "e.json"
    toml.write_text(EXPERIMENT)
    first = tried(capfd, str(toml), "--save", str(saved))
    assert first["seeds"] == [9]
    assert Experiment.model_validate(json.loads(saved.read_text())).seed == 9
    again = tried(capfd, str(saved))
    assert again == first
    printed = tmp_path / "printed.json"
    printed.write_text(json.dumps(first))
    assert tried(capfd, str(printed)) == first
    assert tried(capfd, str(saved), "--seed", "3", "--trials", "2")["seeds"] == [3, 4]


def test_options_and_their_saved_experiment_give_the_same(capfd, tmp_path: Path) -> None:
    saved = tmp_path / "e.json"
    options = ["--aqm", "red:max_th_pkts=30", "--rate", "3Mbit/s", *SHORT]
    options += ["--flows", "reno,reno:stack=linux-2.6"]
    first = tried(capfd, *options, "--quick-start", "--save", str(saved))
    assert first["experiment"]["topology"]["aqm"]["tunables"] == {"max_th_pkts": 30}
    assert first["experiment"]["topology"]["quick_start"] == {}
    assert tried(capfd, str(saved)) == first


def controlled(field: str) -> str:
    """The experiment with this text for its flow's control."""
    return EXPERIMENT.replace(
        "flows = ", f'flows = [{{ control = {{ name = "reno", {field} }} }}] #'
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{", "a.json: not JSON"),
        ("a.json", "[]", "a.json: "),
        ("a.json", "[" * 100_000, "a.json: "),
        ("a.json", '{"experiment": 1}', "a.json: "),
        ("a.json", "9" * 5000, "a.json: "),
        ("a.toml", "a = ", "a.toml: not TOML"),
        ("a.toml", EXPERIMENT.replace('"2 s"', f'"{"9" * 5000} s"'), "a.toml: duration: '999"),
        ("a.toml", EXPERIMENT + "[[flows]]\n", "a.toml: not TOML"),
        ("b.toml", controlled("startup = 1e308"), "startup"),
        ("b.toml", controlled("startup = [1]"), "startup"),
        ("b.toml", controlled("tunables = 3"), "tunables: 3 is not allowed"),
        ("b.toml", EXPERIMENT + "aqm = { tunables = [1] }", "tunables: [1] is not allowed"),
        ("a.toml", EXPERIMENT.replace("seed", "sead"), "a.toml: sead: no such field"),
        ("a.toml", EXPERIMENT + 'rat = "1 Mbit/s"\n', "a.toml: topology.rat: no such field"),
        ("a.toml", EXPERIMENT.replace('"2 Mbit/s"', "2"), "a.toml: topology.rate: 2 has no unit"),
    ],
)
def test_a_file_that_is_no_experiment_is_one_line(
    capfd, tmp_path: Path, name: str, text: str, said: str
) -> None:
    (tmp_path / name).write_text(text)
    status, out, err = run(capfd, "try", str(tmp_path / name))
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert len(err) < 600


def test_a_capture_that_the_file_asks_for_is_that_of_pcap(capfd, tmp_path: Path) -> None:
    file, packets = tmp_path / "e.toml", tmp_path / "p.pcapng"
    file.write_text(f'capture = {{ link = "forward0", snaplen = "60 B" }}{EXPERIMENT}')
    result = tried(capfd, str(file), "--pcap", str(packets))
    assert result["experiment"]["capture"] == {"link": "forward0", "snaplen": "60 B"}
    whole = tmp_path / "whole.pcapng"
    file.write_text(EXPERIMENT)
    tried(capfd, str(file), "--pcap", str(whole))
    assert 0 < packets.stat().st_size < whole.stat().st_size / 4


def test_what_contradicts_a_file_is_refused(capfd, tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text(EXPERIMENT)
    for option in (["--rate", "1Mbit/s"], ["--voip"], ["--quick-start"], ["--stack", "linux-6"]):
        status, _, err = run(capfd, "try", str(file), *option)
        assert status == 2
        assert f"{option[0]}: {file} has the whole experiment; change it there" in err


def test_a_chain_has_its_hops_and_flows_enter_and_leave_where_they_say(capfd) -> None:
    result = tried(
        capfd,
        *("--hop", "10Mbit/s,5ms,1BDP", "--hop", "4Mbit/s,10ms,40pkts,aqm=red"),
        *("--flows", "cubic,cubic:to_hop=1,cubic:from_hop=1", "--quick-start", *SHORT),
    )
    first, second = (hop["forward"] for hop in result["experiment"]["topology"]["hops"])
    assert (first["aqm"]["name"], second["aqm"]["name"]) == ("drop-tail", "red")
    assert first["quick_start"] == second["quick_start"] == {}
    goodputs = [flow["goodput_bps"] for flow in result["flows"]]
    assert goodputs[0] + goodputs[2] < 4e6 < goodputs[0] + goodputs[1]
    status, out, _ = run(capfd, "try", "--hop", "1Mbit/s,5ms,9pkts", "--hop", "2Mbit/s,1ms,9pkts")
    assert status == 0
    assert out.startswith("2 hops: 1 Mbit/s + 2 Mbit/s, 12 ms, 9 pkts")


def test_the_way_back_can_differ_and_a_flow_can_take_it(capfd) -> None:
    options = ("--rate", "20Mbit/s", "--reverse", "rate=1Mbit/s,buffer=50pkts,aqm=codel")
    result = tried(capfd, *options, "--flows", "cubic,cubic:direction=reverse", *SHORT)
    path = result["experiment"]["topology"]
    assert (path["rate"], path["rtt"], path["aqm"]["name"]) == ("20 Mbit/s", "50 ms", "drop-tail")
    back = path["reverse"]
    assert (back["rate"], back["delay"], back["aqm"]["name"]) == ("1 Mbit/s", "25 ms", "codel")
    assert 0 < result["flows"][1]["goodput_bps"] < 1e6
    status, out, _ = run(capfd, "try", *options, "--flows", "cubic:direction=reverse", *SHORT)
    assert status == 0
    assert out.startswith("20 Mbit/s (back 1 Mbit/s), 50 ms")
    assert "reverse: utilization" in out


STAR = """
kind = "star"
hosts = 4
[edge.forward]
rate = "10 Mbit/s"
delay = "1 ms"
buffer = "50 pkts"
"""


def test_a_topology_can_be_in_a_file(capfd, tmp_path: Path) -> None:
    file = tmp_path / "star.toml"
    file.write_text(STAR)
    status, out, _ = run(capfd, "try", "--topology", str(file), "--flows", "3xreno", *SHORT)
    assert status == 0
    assert out.startswith("star of 5 nodes: 10 Mbit/s, 4 ms, 50 pkts, linux-6")
    assert "queue of hub-host0, bytes" in out
    picture = tmp_path / "star.svg"
    assert run(capfd, "try", "--topology", str(file), "--plot", str(picture), *SHORT)[0] == 0
    assert picture.stat().st_size > 1000
    file.write_text(STAR.replace("4", "1"))
    status, _, err = run(capfd, "try", "--topology", str(file), *SHORT)
    assert (status, err) == (
        2,
        f"headway: {file}: topology: hosts: 1 is not allowed; 2 to 2047 hosts\n",
    )
    whole = tmp_path / "whole.json"
    assert run(capfd, "try", "--hop", "1Mbit/s,1ms,9pkts", "--save", str(whole), *SHORT)[0] == 0
    assert (
        tried(capfd, "--topology", str(whole), *SHORT)["experiment"]["topology"]["kind"] == "chain"
    )


def test_flows_apart_start_one_after_the_other(capfd) -> None:
    result = tried(
        capfd, "--flows", "3xcubic:size=10kB,reno:start=50ms", "--apart", "600ms", *SHORT
    )
    starts = [flow["start"] for flow in result["experiment"]["flows"]]
    assert starts == ["0 ns", "600 ms", "1.2 s", "50 ms"]


def test_a_control_alone_is_one_flow_of_it(capfd) -> None:
    result = tried(capfd, "--control", "htcp+hystart:sack=off", *SHORT)
    assert [flow["cc"] for flow in result["flows"]] == ["htcp"]


def test_a_picture_is_refused_where_its_folder_is_missing_and_none_is_made(
    capfd, tmp_path: Path
) -> None:
    folder = tmp_path / "missing"
    assert run(capfd, "try", *SHORT, "--plot", str(folder / "p.svg"))[0] == 2
    assert not list(tmp_path.iterdir())


def test_the_experiment_of_the_page_runs(capfd, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    file = tmp_path / "e.toml"
    file.write_text(page.partition("```toml\n")[2].partition("```")[0])
    result = tried(capfd, str(file))
    assert [flow["fct_us"] is not None for flow in result["flows"]] == [True, True]
    assert result["warnings"] == []


def test_a_network_is_drawn_to_a_file(capfd, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("star.toml").write_text(STAR)
    whole = ("--topology", "star.toml", "--flows", "3xreno", "--save", "incast.json", *SHORT)
    assert run(capfd, "try", *whole)[0] == 0
    status, out, _ = run(capfd, "draw", "incast.json")
    assert (status, out.partition(": ")[0]) == (0, "incast.svg")
    assert "A network of 5 nodes and 4 edges: 10 Mbit/s" in out
    assert Path("incast.svg").read_text().startswith("<svg ")
    status, out, _ = run(capfd, "draw", "incast.json", "--out", "other.svg", "--json")
    assert json.loads(out)["file"] == "other.svg"
    for arguments, said in (
        (["incast.json", "--out", "x.png"], "out: x.png: name a file that ends in .svg"),
        (["incast.json", "--out", "no/x.svg"], "out: no/x.svg: cannot save: no folder no"),
        (["star.toml"], "star.toml: kind: no such field"),
    ):
        status, _, err = run(capfd, "draw", *arguments)
        assert status == 2
        assert said in err
