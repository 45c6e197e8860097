"""Random cases: how they are drawn, compared, saved, and made smaller."""

import errno
import hashlib
import itertools
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.backends.kernel import check, headwayctl, supported
from headway.backends.sim import SimBackend, scenario_json
from headway.cli import random_cases as command
from headway.cli.app import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_KERNEL_CANNOT, execute
from headway.errors import HeadwayError, KernelCannotError
from headway.experiment import FLOW_OPTIONS, Experiment, Flow
from headway.try_experiment import from_file
from headway.validation.minimize import minimize, one_line
from headway.validation.random_cases import (
    KINDS,
    ON_ONE_BACKEND,
    OPTIONS,
    Case,
    cases,
    conflict,
    space,
)
from headway.validation.random_compare import CLOSE, Result, Value, observe, values_of
from headway.validation.random_report import Minimized, replay, summary, tables, write_page
from headway.validation.random_runs import (
    KERNEL_RUNS,
    NOISY_RUNS,
    SIM_RUNS,
    RandomRunner,
    SavedRuns,
    samples_of,
)

CASES = {"options": 330, "default": 100, "startups": 60, "several": 30, "paths": 60}


@pytest.fixture(scope="module")
def drawn() -> list[Case]:
    return list(itertools.islice(cases("options", 1), CASES["options"]))


@pytest.mark.slow
def test_every_pair_of_classes_and_settings_meets_in_the_first_cases(drawn: list[Case]) -> None:
    wanted = set(space("options").pairs())
    assert len(wanted) > 3000
    met = set().union(*(case.pairs for case in drawn))
    assert wanted - met == set()


@pytest.mark.slow
def test_every_option_has_its_settings_beside_every_other_one(drawn: list[Case]) -> None:
    names = {name for case in drawn[:150] for name, _ in case.settings}
    assert names - {*ON_ONE_BACKEND} == {*OPTIONS, "rate", "rtt", "buffer", "control"}
    met = {
        frozenset((one[0], other[0]))
        for case in drawn
        for one, other in itertools.combinations(case.settings, 2)
    }
    apart = {
        frozenset((one, other))
        for one, other in itertools.combinations(sorted(OPTIONS), 2)
        if frozenset((one, other)) not in met
    }
    # options that never occur together in a case: every setting of one must exclude every setting
    # of the other
    for one, other in map(sorted, apart):
        assert all(conflict((one, a), (other, b)) for a in OPTIONS[one] for b in OPTIONS[other]), (
            one,
            other,
        )


@pytest.mark.slow
def test_every_option_of_a_flow_is_drawn(drawn: list[Case]) -> None:
    plain = Flow(control="cubic")
    differ = {
        name
        for case in drawn
        for flow in case.experiment.flows
        for name in Flow.model_fields
        if getattr(flow, name) != getattr(plain, name)
    }
    # options that are never drawn: a name and a stack profile say nothing about packets, a relay
    # sets the hops, users provide files, the kernel backend has no transfers that arrive, and the
    # kind "paths" has directions, networks and the buffers of sockets
    assert {*FLOW_OPTIONS} - differ == {
        *("name", "stack", "from_hop", "to_hop", "relay_control", "direction"),
        *("source", "destination", "route", "reverse_route", "rcvbuf", "sndbuf"),
        *("size", "exchanges", "pages", "http", "connections"),
        *("arrivals", "load", "think", "spacing", "sizes"),
    }
    relays = [flow.relay for case in drawn for flow in case.experiment.flows if flow.relay]
    assert {relay.control is None for relay in relays} == {True, False}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_both_backends_can_run_what_is_drawn(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supported, "_kernel_version", lambda: (6, 18))
    refused = 0
    for case in itertools.islice(cases(kind, 3), CASES[kind]):
        assert json.loads(scenario_json(case.experiment))
        if {*ON_ONE_BACKEND} & {name for name, _ in case.settings}:
            refused += 1
            with pytest.raises(HeadwayError, match="not possible yet"):
                check(case.experiment)
        else:
            check(case.experiment)
        assert case.experiment.duration <= 60 * 10**9
        assert of_the_file(case.experiment) == case.experiment
    assert refused <= CASES[kind] // 20


def of_the_file(experiment: Experiment) -> Experiment:
    return Experiment.model_validate(json.loads(experiment.model_dump_json()))


@pytest.mark.slow
def test_a_case_depends_on_its_seed_and_index_alone() -> None:
    few = list(itertools.islice(cases("options", 7), 5))
    assert list(itertools.islice(cases("options", 7), 20))[:5] == few
    others = itertools.islice(cases("options", 8), 5)
    assert all(one.experiment != other.experiment for one, other in zip(few, others, strict=True))
    code = (
        "import itertools; from headway.validation.random_cases import cases\n"
        "for c in itertools.islice(cases('options', 7), 5): print(c.experiment.model_dump_json())"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "3"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert elsewhere.stdout.splitlines() == [c.experiment.model_dump_json() for c in few]


PUBLISHED = {
    "options": "335a4ee300e3caf6",
    "default": "5101d9ff98cb1f53",
    "startups": "7614cdc451bba6e8",
    "several": "ee0e628bbf188630",
}
"""A hash of ten cases of each kind whose results are published."""


@pytest.mark.parametrize("kind", PUBLISHED)
def test_published_cases_are_drawn_again(kind: str) -> None:
    drawn = [
        (case.settings, case.experiment.model_dump(mode="json", exclude_defaults=True))
        for case in itertools.islice(cases(kind, 1), 10)
    ]
    text = json.dumps(drawn, sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == PUBLISHED[kind]


@pytest.mark.slow
def test_transfers_take_some_seconds() -> None:
    lengths_s = []
    for case in itertools.islice(cases("default", 1), 25):
        trace = SimBackend().run(case.experiment)
        done_ns = trace.flows[0].done_ns
        assert done_ns is not None
        lengths_s.append(done_ns / 1e9)
    assert min(lengths_s) > 0.3
    assert max(lengths_s) < 20


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        (("sack", "off"), ("sack", "off"), True),
        (("sack", "off"), ("timestamps", "off"), False),
        (("control", "bbr"), ("startup", "hystart"), True),
        (("startup", "hystart"), ("control", "bbr"), True),
        (("control", "bic"), ("startup", "hystart"), False),
        (("read", "rate"), ("app", "endless"), False),
        (("app", "pingpong"), ("read", "portions"), True),
    ],
)
def test_settings_clash_in_either_order(one, other, wanted: bool) -> None:
    assert conflict(one, other) is wanted
    assert conflict(other, one) is wanted


# what differs


def value(sim, *kernels, name: str = "completion time of cubic-0", **more) -> Value:
    return Value(name, sim, kernels, **more)


@pytest.mark.parametrize(
    ("found", "differs"),
    [
        (value(1.0, 1.0), False),
        (value(1.049, 1.0), False),
        (value(1.051, 1.0), True),
        (value(0.949, 1.0), True),
        (value(1.2, 1.0, 1.15, 1.1), False),  # 4.5 % beyond the slowest
        (value(1.2, 1.0, 1.3, 1.1), False),  # within
        (value(1.3, 1.0, 1.15, 1.1), True),
        (value(0.011, 0.010), False),  # a millisecond
        (value(None, 1.0, 1.1), True),
        (value(None, 1.0, None), False),  # one kernel run's transfer did not end either
        (value(1.0, None, None), True),
        (value(30.0, 20.0, name="retransmits"), False),
        (value(31.0, 20.0, name="retransmits"), True),
        (value(2.0, 0.0, name="timeouts"), True),
        (value(1.0, 0.0, name="timeouts"), False),
        (value(6e6, 5e6, name="goodput of cubic-0"), True),
        (value(6e6, 5e6, name="goodput of cubic-0", scale=34e6, share=0.03), False),  # of the link
        (value(6e6, 5e6, name="goodput of cubic-0", scale=33e6, share=0.03), True),
        # less than a packet's transmission time
        (value(0.030, 0.020, name="median delay", least=0.012), False),
    ],
)
def test_a_value_differs_outside_of_the_kernels_spread(found: Value, differs: bool) -> None:
    assert found.differs is differs


def test_a_case_is_judged_by_the_main_value_that_differs_most() -> None:
    case = next(cases("default", 1))
    slow = value(1.2, 1.0, 1.01, 0.99)
    noisy = value(1.4, 1.0, 1.5, 0.9, name="completion time of cubic-1")
    also = value(100.0, 10.0, name="retransmits")
    result = Result(case, (noisy, also, slow))
    assert result.main is slow
    assert result.difference == pytest.approx(0.2)
    assert result.beyond == pytest.approx(0.19)
    assert result.differs
    assert not Result(case, (value(1.0, 1.0), also)).differs
    assert Result(case, (value(1.0, 1.0), also)).is_close
    assert not Result(case, (value(1.02, 1.0),)).is_close
    assert Result(case, (value(1.0, 1.0 - CLOSE / 2),)).is_close


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (value(1.3, 1.0), True),
        (value(1.11, 1.0), True),
        (value(1.09, 1.0), False),  # less than half of the original case's difference
        (value(0.8, 1.0), False),  # the difference is in the other direction
        (value(None, 1.0), False),
        (value(1.0, 1.0), False),
    ],
)
def test_a_smaller_case_differs_as_the_whole_one_does(found: Value, wanted: bool) -> None:
    case = next(cases("default", 1))
    assert Result(case, (found,)).is_similar(Result(case, (value(1.2, 1.0),))) is wanted
    never = Result(case, (value(None, 1.0),))
    assert never.is_similar(never)


def test_what_is_observed_is_what_the_trace_says() -> None:
    experiment = Experiment.model_validate(
        {
            "topology": {
                "kind": "dumbbell",
                "rate": "8 Mbit/s",
                "rtt": "20 ms",
                "buffer": "30000 B",
            },
            "flows": "1xcubic:size=1MB:start=0s,1xreno:start=0s,1xvoip",
            "duration": "6 s",
        }
    )
    trace = SimBackend().run(experiment)
    seen = observe(trace)
    assert trace.flows[0].done_ns is not None
    assert seen["completion time of cubic-0"] == pytest.approx(trace.flows[0].done_ns / 1e9)
    goodput = seen["goodput of reno-1"]
    assert goodput is not None
    assert 3e6 < goodput < 8e6
    assert "goodput of cubic-0" not in seen
    # delays consist of 10 ms of propagation and at most 30 ms in the queue
    assert 0.010 < seen["median delay"] <= seen["p95 delay"] <= 0.0401
    assert seen["retransmits"] > 0
    assert 0.010 < seen["delay of the call"] < 0.045
    both = {each.name: each for each in values_of(experiment, [seen], [seen])}
    assert both["goodput of reno-1"].scale == 8e6
    assert not any(each.differs for each in both.values())


# ---- Which runs happen, and which are kept ----


class Instead(SimBackend):
    """Replaces the kernel: runs the simulator, for some cases with a slower link."""

    name = "kernel"

    def __init__(self, *slow: Experiment) -> None:
        super().__init__()
        self.ran: list[Experiment] = []
        self._slow = slow
        self.shares = itertools.repeat(80)
        """For each run of a slow case, the rate of its link in percent of the requested rate."""

    def _run(self, experiment, watched):
        self.ran.append(experiment)
        if experiment.model_copy(update={"capture": None}) in self._slow:
            rate = experiment.topology.rate * next(self.shares) // 100
            topology = experiment.topology.model_copy(update={"rate": rate})
            slower = experiment.model_copy(update={"topology": topology})
            made = super()._run(slower, watched)
            return replace(
                made, meta={**made.meta, "experiment": experiment.model_dump(mode="json")}
            )
        return super()._run(experiment, watched)


@pytest.fixture(scope="module")
def few() -> list[Case]:
    """Short cases without losses, for which two runs give the same values."""
    return list(itertools.islice(cases("default", 1), 4))


def runner(chosen: list[Case], file: Path, kernel: SimBackend, **more) -> RandomRunner:
    settings = {"repeats": 0, "progress": lambda *_: None, "checks": ()} | more
    return RandomRunner(chosen, SavedRuns(file), SimBackend(), kernel, **settings)


def test_what_the_kernel_said_is_kept_and_not_run_again(few: list[Case], tmp_path: Path) -> None:
    file = tmp_path / "kernel.jsonl"
    kernel = Instead(few[1].experiment)
    first = runner(few, file, kernel)
    first.run()
    # a case runs once, but a case that differs runs KERNEL_RUNS times to show the kernel's spread
    assert sorted(kernel.ran.count(case.experiment) for case in few) == [1, 1, 1, KERNEL_RUNS]
    assert [result.case.index for result in first.outcome.results if result.differs] == [1]
    again = Instead()
    second = runner(few, file, again)
    second.run()
    assert again.ran == []
    order = sorted(second.outcome.results, key=lambda r: r.case.index)
    assert order == sorted(first.outcome.results, key=lambda r: r.case.index)


def test_the_kernel_runs_a_case_again_whose_runs_are_apart(few: list[Case], tmp_path: Path) -> None:
    kernel = Instead(few[1].experiment)
    kernel.shares = itertools.cycle((80, 76, 72, 78, 74))
    found = runner(few[1:2], tmp_path / "kernel.jsonl", kernel)
    found.run()
    assert len(kernel.ran) == NOISY_RUNS
    [result] = found.outcome.results
    assert result.differs
    assert result.is_noisy


def test_a_line_that_was_cut_is_run_again(few: list[Case], tmp_path: Path) -> None:
    file = tmp_path / "kernel.jsonl"
    runner(few[:2], file, Instead()).run()
    whole = file.read_text()
    file.write_text(whole[:-20])
    kernel = Instead()
    runner(few[:2], file, kernel).run()
    assert len(kernel.ran) == 1
    assert sorted(file.read_text().splitlines()) == sorted(whole.splitlines())


def test_a_line_that_is_no_run_is_told(few: list[Case], tmp_path: Path) -> None:
    file = tmp_path / "kernel.jsonl"
    file.write_text('{"key": 1}\n')
    with pytest.raises(HeadwayError, match=r"kernel.jsonl: line 1: not a saved run"):
        runner(few[:1], file, Instead())


def test_a_full_disk_is_one_line_and_leaves_no_half_one(
    few: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kernel.jsonl"
    runner(few[:1], file, Instead()).run()
    whole = file.read_text()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(HeadwayError, match=r"kernel.jsonl: disk full while saving"):
            runner(few[:2], file, Instead()).run()
    assert file.read_text() == whole


def test_what_a_backend_cannot_do_is_counted_by_reason(few: list[Case], tmp_path: Path) -> None:
    def refuse(experiment: Experiment) -> None:
        if experiment == few[0].experiment:
            raise HeadwayError("kernel backend: cubic-0: extra_ack: not possible yet")
        if experiment == few[2].experiment:
            raise HeadwayError("kernel backend: reno-0: extra_ack: not possible yet")

    kernel = Instead()
    found = runner(few, tmp_path / "kernel.jsonl", kernel, checks=(refuse,))
    found.run()
    assert found.outcome.left_out == {"kernel backend: extra_ack: not possible yet": 2}
    assert len(found.outcome.results) == len(kernel.ran) == 2
    assert found.done == 4


class Failing(Instead):
    def _run(self, experiment, watched):
        self.ran.append(experiment)
        raise HeadwayError("sampler: ended with status 1")


def test_a_case_that_fails_does_not_end_the_others(few: list[Case], tmp_path: Path) -> None:
    found = runner(few[:2], tmp_path / "kernel.jsonl", Failing(), repeats=1)
    found.run()
    assert found.outcome.failed == dict.fromkeys((0, 1), "sampler: ended with status 1")
    assert summary(found.outcome, 2)["not_run"] == 0


class Cannot(Instead):
    def _run(self, experiment, watched):
        raise KernelCannotError("kernel backend: needs root")


def test_an_unfit_kernel_ends_them_all(few: list[Case], tmp_path: Path) -> None:
    with pytest.raises(KernelCannotError, match="needs root"):
        runner(few, tmp_path / "kernel.jsonl", Cannot()).run()


def test_no_run_begins_after_the_end(few: list[Case], tmp_path: Path) -> None:
    kernel = Instead()
    found = runner(few, tmp_path / "kernel.jsonl", kernel, until_s=0.0)
    found.run()
    assert kernel.ran == []
    assert summary(found.outcome, len(few))["not_run"] == len(few)


def test_a_case_that_needs_more_runs_counts_as_it_is_when_time_is_up(
    few: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kernel.jsonl"
    kernel = Instead(few[1].experiment)
    found = runner(few, file, kernel, until_s=0.0)
    late = iter((False, False, True, True))
    monkeypatch.setattr(found, "_is_late", lambda: next(late))
    found.run()
    assert len(kernel.ran) == len(few)
    assert (found.outcome.short, len(found.outcome.results)) == (1, len(few))
    assert summary(found.outcome, len(few))["not_run"] == 0


# smaller cases


def wide() -> Experiment:
    return Experiment.model_validate(
        {
            "topology": {
                "kind": "dumbbell",
                "rate": "7.3 Mbit/s",
                "rtt": "31 ms",
                "buffer": "43 pkts",
                "loss": 0.0123,
                "aqm": "red",
            },
            "flows": "1xhtcp+hystart:sack=off:timestamps=off:wmem=4KiB/54321B/54321B:size=960kB"
            ":start=0s,1xcubic:start=1s,1xvoip",
            "duration": "20 s",
        }
    )


def test_a_case_keeps_what_makes_the_difference() -> None:
    def differs(experiment: Experiment) -> bool:
        first = experiment.flows[0]
        return not first.sack and first.wmem is not None

    small, runs = minimize(wide(), differs, 100)
    assert runs < 30
    assert one_line(small) == (
        "rate=7Mbit/s, rtt=30ms, buffer=40pkts, "
        "reno:app=size=30000B:sack=False:wmem=4096B/50000B/50000B:start=0ns"
    )
    assert small.topology.loss == 0


def test_what_a_hop_of_a_chain_has_is_dropped_too() -> None:
    link = {"rate": "7 Mbit/s", "delay": "5 ms", "buffer": "30 pkts"}
    hops = [{"forward": link}, {"forward": {**link, "duplicate": 0.01, "aqm": "red"}}]
    fields = {"topology": {"kind": "chain", "hops": hops}, "duration": "9 s"}
    fields["flows"] = "1xreno:relay=1:size=30kB:frto=off"
    small, _ = minimize(
        Experiment.model_validate(fields), lambda e: e.flows[0].relay is not None, 50
    )
    assert one_line(small).count("duplicate") == one_line(small).count("red") == 0
    assert small.flows[0].frto is None


def test_what_no_change_keeps_stays_as_it_is_and_runs_are_bounded() -> None:
    tried: list[Experiment] = []

    def differs(experiment: Experiment) -> bool:
        tried.append(experiment)
        return False

    assert minimize(wide(), differs, 100)[0] == wide()
    assert len(set(map(Experiment.model_dump_json, tried))) == len(tried)
    tried.clear()
    assert minimize(wide(), differs, 3) == (wide(), 3)
    assert len(tried) == 3
    assert minimize(wide(), differs, 0) == (wide(), 0)


# what is said


def test_the_summary_fits_a_terminal_and_the_page_has_the_commands(
    few: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "console", lambda: None)
    kernel = Instead(few[1].experiment)
    found = runner(few, tmp_path / "kernel.jsonl", kernel)
    found.run()
    # add options to the cases, so that the tables by option have rows
    results = [
        replace(
            r, case=replace(r.case, settings=(*r.case.settings, ("sack", "off"), ("frto", "off")))
        )
        for r in found.outcome.results
    ]
    found.outcome.results[:] = results
    numbers = summary(found.outcome, 5)
    assert (numbers["cases"], numbers["differ"], numbers["not_run"]) == (4, 1, 1)
    by_option = {row[0]: row[1:3] for row in tables(found.outcome)[1].rows}
    assert by_option == {"frto": [4, 1], "sack": [4, 1]}
    file = tmp_path / "a b" / "case-1.json"
    small = [Minimized(1, file, "rate=1Mbit/s, reno", 3, "packet 7 differs")]
    page = write_page(tmp_path / "random.html", found.outcome, 5, {"kernel": "6.18"}, small)
    text = page.read_text()
    assert "headway try &#39;" in text
    assert replay(file) == f"headway try '{file}' --beside kernel --diverge"
    for said in ("rate=1Mbit/s, reno", "packet 7 differs", "by pair of options", "frto=off"):
        assert said in text


@pytest.fixture
def instead(monkeypatch: pytest.MonkeyPatch, few: list[Case]) -> Instead:
    made = {"sim": SimBackend(), "kernel": Instead(few[1].experiment)}
    monkeypatch.setattr(command, "backend_named", made.__getitem__)
    monkeypatch.setattr(command, "check", lambda _: None)
    monkeypatch.setattr(command, "cases", lambda _kind, _seed: iter(few))
    return made["kernel"]  # type: ignore[return-value]


ASKED = ["validate", "--random", "4", "--kind", "default", "--repeats", "0", "--out"]


def test_the_command_says_how_far_they_differ(
    instead: Instead, few: list[Case], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = [*ASKED, str(tmp_path / "out"), "--minimize"]
    assert execute([*asked, "0"]) == 0
    out = capfd.readouterr().out
    assert "cases compared           4 of 4\n" in out
    assert "beyond it by 5%          1 (25.0%)\n" in out
    file = tmp_path / "out" / "random" / "default-1" / "differ" / "case-1.json"
    assert f"  headway try {file} --beside kernel --diverge\n" in out
    assert from_file(file) == few[1].experiment
    widest = max(len(line) for line in out.splitlines() if str(tmp_path) not in line)
    assert widest <= 80
    instead.ran.clear()
    assert execute([*asked, "2"]) == 0
    assert f"  headway try {file} --beside kernel --diverge\n" in capfd.readouterr().out
    assert "first difference" in file.with_suffix(".txt").read_text()
    instead.ran.clear()
    assert execute([*asked, "0", "--json"]) == 0
    told_again = json.loads(capfd.readouterr().out)
    assert told_again["differ"] == 1
    assert [case["index"] for case in told_again["cases"] if case["differs"]] == [1]
    assert instead.ran == []


def test_an_interrupt_keeps_what_is_done(
    instead: Instead,
    few: list[Case],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("headway.validation.random_runs.GROUP", 2)
    plain = instead._run
    third = few[2].experiment

    def until(experiment, watched):
        if experiment == third:
            raise KeyboardInterrupt
        return plain(experiment, watched)

    monkeypatch.setattr(instead, "_run", until)
    assert execute([*ASKED, str(tmp_path)]) == EXIT_INTERRUPTED
    [line] = capfd.readouterr().err.splitlines()
    folder = tmp_path / "random" / "default-1"
    assert line == f"headway: interrupted: 2 of 4 trials finished, kept in {folder}"
    kept = len((folder / "kernel.jsonl").read_text().splitlines())
    assert kept == 1 + KERNEL_RUNS


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["--random", "3", "--kind", "all"], "kind: unknown 'all'; allowed: options, default"),
        (["--random", "0"], "--random"),
        (["--random", "3", "--hours", "0"], "hours: 0 is not allowed; must be more than 0"),
        (["--random", "3", "--hours", "nan"], "hours: nan is not allowed; must be more than 0"),
        (["--hours", "2"], "hours: needs --random N"),
        (["--random", "3", "--quick"], "quick: cannot be used with --random"),
        (["--random", "3", "--only", "htcp"], "only: cannot be used with --random"),
    ],
)
def test_what_cannot_be_is_one_line(
    asked: list[str], told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert execute(["validate", *asked]) == EXIT_ERROR
    [line] = capfd.readouterr().err.splitlines()
    assert told in line


def test_a_machine_without_the_kernel_backend_says_so(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv(headwayctl.VARIABLE, "/no/such/headwayctl")
    assert execute(["validate", "--random", "3", "--out", str(tmp_path)]) == EXIT_KERNEL_CANNOT
    assert len(capfd.readouterr().err.splitlines()) == 1


# ---- How long something other than cwnd limited a sender ----


@pytest.mark.parametrize(
    ("flow", "rwnd_s", "sndbuf_s"),
    [
        ("cubic:size=3MB", 0, 0),
        # the peer's window is closed whenever the receiving application has fallen behind
        ("cubic:size=5MB:read_rate=8Mbit/s", (4, 5.1), 0),
        # the send buffer does not count as a limit if Linux always wakes the writer before the last
        # ACK
        ("cubic:size=3MB:wmem=4KiB/64kB/64kB", 0, 0),
        ("bbr:size=3MB:wmem=4KiB/100kB/100kB", 0, (1.5, 3.5)),
        # Linux 6.18 counts 0.55 and 0.56 s, because it stops counting whenever it wakes the writer
        ("bbr:size=1MB:wmem=4KiB/100kB/100kB", 0, (0.53, 0.57)),
    ],
)
def test_the_simulator_counts_what_holds_a_sender_back(flow: str, rwnd_s, sndbuf_s) -> None:
    path = {"kind": "dumbbell", "rate": "20 Mbit/s", "rtt": "60 ms", "buffer": "1 BDP"}
    experiment = Experiment.model_validate(
        {"topology": path, "flows": f"{flow}:start=0s", "duration": "15 s"}
    )
    found = SimBackend().run(experiment).flows[0]
    for wanted, us in ((rwnd_s, found.rwnd_limited_us), (sndbuf_s, found.sndbuf_limited_us)):
        assert us is not None
        low, high = wanted if isinstance(wanted, tuple) else (wanted, wanted)
        assert low <= us / 1e6 <= high


def test_samples_start_at_other_phases_of_the_clocks_and_flows_are_late() -> None:
    path: dict[str, Any] = {
        "kind": "dumbbell", "rate": "600 kbit/s", "rtt": "59 ms", "buffer": "8 pkts"
    }  # fmt: skip
    flows = "1xreno,1xcubic,1xvoip:stop=6s"
    experiment = Experiment.model_validate({"topology": path, "flows": flows, "duration": "6 s"})
    nominal_ns = experiment.start_times_ns()
    samples = samples_of(experiment)
    assert len(samples) == SIM_RUNS
    phases_ns = [one.duration - experiment.duration for one in samples]
    assert phases_ns[:5] == [0, 50_570_000, 101_140_000, 151_710_000, 202_280_000]  # of 256 ms
    late_us = [
        [
            (start - since - phase) // 1000
            for start, since in zip(sample.start_times_ns(), nominal_ns, strict=True)
        ]
        for sample, phase in zip(samples, phases_ns, strict=True)
    ]
    assert late_us[:3] == [[150, 150, 120], [261, 372, 120], [372, 294, 120]]
    assert all(150 <= late < 450 for run in late_us for late in run[:2])
    path["vary"] = {"kind": "schedule", "steps": [
        {"start": "0 s", "rate": "600 kbit/s", "delay": "29 ms"},
        {"start": "1 s", "rate": "300 kbit/s", "delay": "29 ms"},
    ]}  # fmt: skip
    varying = Experiment.model_validate({"topology": path, "flows": "reno", "duration": "6 s"})
    phases_ns = [one.duration - varying.duration for one in samples_of(varying)]
    assert phases_ns[:5] == [0, 2_570_000, 1_140_000, 3_710_000, 2_280_000]  # of 4 ms
