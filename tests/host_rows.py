"""Runs in which a setting of hosts matters, with the results of the simulator and of Linux 6.18.

The default suite checks the simulator's results, the live suite those of the kernel.
"""

from dataclasses import dataclass, field
from typing import Any

from headway.digest import digest_of
from headway.experiment import Experiment
from headway.trace import Trace

DOWNLOADS = [
    {
        "app": {"kind": "vectors", "epochs": [["100 B", "500 kB", "1 s"]] * 2},
        "control": "cubic",
    }
]
"""Two downloads over one connection, with an idle second between them."""
PLAIN = {"tcp_sack": "0", "tcp_timestamps": "0"}


@dataclass(frozen=True)
class HostRow:
    """A run with a setting, and what it transfers or how long it takes.

    The result is the time of a transfer with a size from the SYN to its completion in ms, or
    else the data in kB that has arrived when the run ends.
    """

    setting: str
    path: dict[str, Any]
    flow: Any
    usual: int
    """Result in the simulator without the setting."""
    sim: int
    """Result in the simulator with the setting."""
    kernel: int
    """Result on the kernel with the setting."""
    duration: str = "10 s"
    spread: float = 0.03
    """Relative tolerance of the kernel's result."""
    more: dict[str, str] = field(default_factory=dict)
    """Further sysctls, which both runs have."""
    live: bool = True
    """Whether the live suite measures the run on the kernel again."""

    def __str__(self) -> str:
        return self.setting

    def experiment(self, *, with_it: bool) -> Experiment:
        """The run with the setting, or without it."""
        fields: dict[str, Any] = {"sysctls": dict(self.more), "flows": self.flow}
        name, _, value = self.setting.partition("=")
        if with_it and name.startswith("tcp_"):
            fields["sysctls"][name] = value
        elif with_it and name in ("initcwnd", "initrwnd", "rto_min", "quickack"):
            fields["route_attributes"] = {name: value}
        elif with_it:
            fields["flows"] = f"{self.flow}:{self.setting}"
        return Experiment.model_validate(
            {"topology": {"kind": "dumbbell", **self.path}, "duration": self.duration, **fields}
        )


def result(trace: Trace) -> float:
    """The result of a row's run, in ms or kB."""
    [flow] = digest_of(trace)["flows"]
    if flow["size_bytes"] is not None:
        assert flow["fct_us"] is not None, "not done"
        return flow["fct_us"] / 1000
    return flow["delivered_bytes"] / 1000


HOME = {"rate": "20Mbit/s", "rtt": "60ms", "buffer": "1BDP"}
LONG = {"rate": "100Mbit/s", "rtt": "100ms", "buffer": "1BDP"}
SLOW = {**HOME, "rate": "5Mbit/s"}
MARKING = {**SLOW, "aqm": "codel:ecn=1"}
FAR = {"rate": "10Mbit/s", "rtt": "400ms", "buffer": "15 pkts"}
LAN = {"rate": "100Mbit/s", "rtt": "20ms", "buffer": "30 pkts"}
TINY_QUEUE = {"rate": "10Mbit/s", "rtt": "20ms", "buffer": "5 pkts"}
SLOWER = {
    "rate": "10Mbit/s",
    "rtt": "40ms",
    "buffer": "400 pkts",
    "vary": {
        "kind": "schedule",
        "steps": [
            {"start": "0 s", "rate": "10Mbit/s", "delay": "20 ms"},
            {"start": "2 s", "rate": "10Mbit/s", "delay": "1 s"},
            {"start": "2500 ms", "rate": "10Mbit/s", "delay": "20 ms"},
        ],
    },
}
"""A path whose delay is 1 s longer for a while: a timeout occurs without a loss."""

HOST_ROWS = [
    # At most a window per round trip. The kernel doubles 64 KiB; the window is the share of the
    # buffer that payload fills: 81,920 bytes.
    HostRow("rcvbuf=64KiB", LONG, "cubic", 111_369, 7827, 7827),
    HostRow("rcvbuf=65535B", LONG, "cubic", 111_369, 6393, 6393),
    # A largest window below 64 KiB has no scale, and is a number of whole segments.
    HostRow("rcvbuf=16KiB", LONG, "cubic", 111_369, 1839, 1838),
    HostRow("sndbuf=100kB", HOME, "cubic:size=10MB", 4388, 5747, 5756),
    HostRow("rmem=4KiB/64KiB/128KiB", LONG, "cubic", 111_369, 7812, 7812),
    HostRow("wmem=4KiB/16KiB/200kB", HOME, "cubic:size=10MB", 4388, 5717, 5752),
    # The first window limits only the first round trip.
    HostRow("initial_rwnd=2920B", LONG, "cubic:size=50kB", 351, 451, 451),
    HostRow("tcp_rmem=4096 65536 131072", LONG, "cubic", 111_369, 7812, 7811),
    HostRow("tcp_wmem=4096 16384 100000", HOME, "cubic:size=10MB", 4388, 6993, 6981),
    HostRow("tcp_slow_start_after_idle=0", LONG, DOWNLOADS, 564, 1000, 1000, "1900 ms"),
    HostRow("tcp_frto=0", SLOWER, "vegas:size=4MB", 4661, 4835, 4856, more=PLAIN, spread=0.02),
    HostRow("tcp_early_retrans=0", TINY_QUEUE, "reno:size=14480B", 171, 327, 331),
    HostRow("tcp_recovery=5", FAR, "reno:size=100kB", 2645, 3149, 3153),
    HostRow("tcp_sack=0", HOME, "cubic:size=10MB", 4388, 7790, 7773, "30 s"),
    HostRow("tcp_timestamps=0", HOME, "cubic:size=10MB", 4388, 4353, 4353, spread=0.005),
    HostRow("tcp_window_scaling=0", LONG, "cubic:size=1MB", 759, 1759, 1760),
    HostRow("tcp_ecn=1", MARKING, "reno:size=2MB", 3910, 4529, 4529),
    # as the next row
    HostRow(
        "tcp_pacing_ss_ratio=1000", LAN, "reno:size=1MB", 262, 355, 354, spread=0.01, live=False
    ),
    # On the kernel 1137 to 1467 ms: the queue's drops depend on when programs run, and change the
    # time by more than the setting does.
    HostRow(
        "tcp_pacing_ca_ratio=1000",
        LAN,
        "cubic+slow-start:size=8MB",
        1125,
        1138,
        1137,
        spread=0.008,
        live=False,
    ),
    HostRow("tcp_notsent_lowat=16384", SLOW, "cubic:stop=3s", 2030, 1790, 1791),
    HostRow("tcp_rto_min_us=20000", TINY_QUEUE, "reno:size=14480B:sack=off", 327, 167, 168),
    HostRow("rto_min=20ms", TINY_QUEUE, "reno:size=14480B:sack=off", 327, 167, 167),
    HostRow("initcwnd=30", LONG, "cubic:size=40kB", 252, 153, 154),
    HostRow("initrwnd=4", LONG, "cubic:size=40kB", 252, 352, 352),
    HostRow("quickack=1", TINY_QUEUE, "reno:size=200kB:rcvbuf=8KiB", 547, 521, 521),
]
