"""Tests ``headway try --diverge`` with an experiment that agrees and one that differs."""

from real_time import in_real_time, note_late
from support import on_kernel
from test_try import tried

from headway.backends.kernel import KernelBackend
from headway.backends.sim import SimBackend
from headway.experiment import Experiment
from headway.packets import Stream, streams
from headway.trace import Trace
from headway.validation.diverge import captured, diverge

PATH = ["--rate", "20Mbit/s", "--rtt", "40ms", "--buffer", "200pkts", "--duration", "3s"]


@on_kernel
@in_real_time
def test_an_experiment_that_agrees_says_so(capfd) -> None:
    options = ["--beside", "kernel", "--diverge", "--diverge-ignore", "window"]
    result = tried(capfd, *PATH, "--flows", "cubic:size=60kB:start=0s", *options)
    note_late(result["warnings"])
    found = result["divergence"]
    assert found["first"] is None, found["first"]
    assert found["packets"] > 150


class Changed(KernelBackend):
    """A kernel backend that runs experiments with another receive buffer than requested."""

    def run(self, experiment: Experiment) -> Trace:
        [flow] = experiment.flows
        small = flow.model_copy(update={"rmem": (4096, 32_768, 6 << 20)})
        return super().run(experiment.model_copy(update={"flows": (small,)}))


@on_kernel
@in_real_time
def test_a_difference_that_is_planted_in_the_kernels_run_is_located() -> None:
    of = Experiment.model_validate(
        {
            "topology": {
                "kind": "dumbbell",
                "rate": "20 Mbit/s",
                "rtt": "40 ms",
                "buffer": "1 BDP",
            },
            "flows": "cubic:size=300kB:start=0s",
            "duration": "3 s",
        }
    )
    first = diverge(of, SimBackend(), Changed()).first
    assert first is not None
    assert (first.host, first.sent, first.number) == ("sender", True, 1)
    assert [difference.field for difference in first.differences] == ["window"]


@on_kernel
@in_real_time
def test_both_hosts_packets_are_captured_and_none_is_larger_than_the_links_mtu() -> None:
    of = Experiment.model_validate(
        {
            "topology": {
                "kind": "dumbbell",
                "rate": "20 Mbit/s",
                "rtt": "40 ms",
                "buffer": "9 pkts",
            },
            "flows": "2xcubic:size=300kB:start=0s",
            "duration": "4 s",
        }
    )
    trace = KernelBackend().run(captured(of))
    found = streams(trace)
    drops = trace.tables["drops"]
    for flow in (0, 1):
        sent, came = found[Stream(flow, 0, True)], found[Stream(flow, 1, False)]
        assert max(packet.length for packet in sent) == 1448
        assert len(sent) - len(came) == drops.filter(flow=flow).height > 0
        assert len(found[Stream(flow, 1, True)]) == len(found[Stream(flow, 0, False)])
