"""Transfers whose times on Linux 6.18 are known, one or two for each rule of the endpoint.

The default suite checks the simulator's time, the live suite that of the kernel.
"""

from dataclasses import dataclass

from headway.digest import digest_of
from headway.experiment import Experiment
from headway.trace import Trace


@dataclass(frozen=True)
class Row:
    """A transfer, and when it is done after its SYN, in ms."""

    rate: str
    rtt: str
    flow: str
    sim_ms: int
    kernel_ms: int
    # of the kernel, where the wake-ups of a process decide
    spread: float = 0.05

    def __str__(self) -> str:
        return f"{self.rate} {self.rtt} {self.flow}"

    @property
    def experiment(self) -> Experiment:
        """With time for both backends."""
        path = {"kind": "dumbbell", "rate": self.rate, "rtt": self.rtt, "buffer": "1 BDP"}
        longest_s = 2 + max(self.sim_ms, self.kernel_ms) * 1.2 / 1000
        return Experiment.model_validate(
            {"topology": path, "flows": self.flow, "duration": f"{longest_s:.0f} s"}
        )


ROWS = [
    Row("10Mbit/s", "3.5s", "cubic:size=300kB", 19_326, 19_327),
    Row("10Mbit/s", "2.5s", "cubic:size=300kB", 13_826, 13_827),
    Row("20Mbit/s", "60ms", "reno:size=10MB:sack=off", 21_331, 21_661),
    Row("20Mbit/s", "60ms", "cubic:size=10MB:sack=off", 7756, 7972),
    Row("20Mbit/s", "60ms", "cubic:size=10MB:send_buffer=64KiB", 7498, 7540, spread=0.08),
    Row("20Mbit/s", "60ms", "cubic:size=10MB:send_buffer=200kB", 5746, 5811),
    Row("25Mbit/s", "35ms", "bbr:size=5MB:send_buffer=70kB", 3351, 3380),
]


def done_ms(trace: Trace) -> float:
    """When the only flow was done."""
    [flow] = digest_of(trace)["flows"]
    assert flow["fct_us"] is not None, "not done"
    return flow["fct_us"] / 1000
