"""Tests that a receiver that lies to the sender gains rate, on the kernel as in the simulator.

The gain must be 10 %, to allow for a busy machine. In the simulator it is much more.
"""

from __future__ import annotations

from collections.abc import Sequence

from real_time import in_real_time, live_each
from support import on_kernel
from test_liars import liars

from headway import metrics


def live_lies() -> Sequence[liars.Lie]:
    """For each protocol, the name of one lying receiver."""
    chosen = {lie.protocol: lie for lie in liars.LIES if lie.who == "receiver"}
    least = [lie for lie in liars.LIES if "least" in lie.says]
    return list({**chosen, **{lie.protocol: lie for lie in least}}.values())


@on_kernel
@in_real_time
def test_a_receiver_that_lies_gains_on_the_kernel_too() -> None:
    lies = live_lies()
    assert [lie.protocol for lie in lies] == list(liars.PROTOCOLS)
    asked = [liars.experiment(lie.protocol, lie, 1, 1.5) for lie in lies]
    for lie, trace in zip(lies, live_each(asked), strict=True):
        found = liars.found_in(trace, 1)
        print(lie.protocol, lie.says, found)
        counters = metrics.router_counters(trace, lie.file.removesuffix(".c"))
        told = counters.filter(counters["link"] == 1).row(-1, named=True)
        assert told["answers"] >= told["lies"] > 20, lie
        assert min(found.liars_bps) > 1.1 * max(found.honest_bps), lie
