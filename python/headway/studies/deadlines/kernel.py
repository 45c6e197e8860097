"""The study on the kernel: nginx behind the proxy, and a client, over the testbed; beside linux-6.

Slow-Start begins with the three packets of the thesis' Linux and Initial-Start with its ten, which
is what today's Linux does.
"""

from __future__ import annotations

from collections.abc import Mapping

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.common import lab
from headway.studies.common.beside import BesideSimulator
from headway.studies.deadlines import live, observe, page
from headway.studies.deadlines.experiments import (
    BASE,
    BLIND,
    SCHEMES,
    TARGETS_S,
    THRICE,
    download,
)
from headway.studies.deadlines.observe import Responses
from headway.studies.deadlines.results import Found, live_key
from headway.study import StudyContext
from headway.trace import Trace

FEW_TARGETS_S = (0.1, 0.3, 1.0, 2.0)
"""Of startups that hear of none: a trial here takes its time."""
RUNS, LONGEST_S, THINK_S = 3, 1.7, 0.6
SEND_BUFFER_BYTES = 4 << 20
"""Linux's largest; its first one would hold back every fast startup."""
CONTROL = "cubic"
START_S = 0.2


def _control(scheme: str) -> str:
    startup = "initial-start:is_window_pkts=3" if scheme == BASE else SCHEMES[scheme].startup
    return f"{CONTROL}+{startup}"


def _targets_s(scheme: str, ctx: StudyContext) -> tuple[float, ...]:
    if ctx.quick:
        return (0.3, 2.0) if scheme in BLIND else (0.1, 0.3, 0.7)
    return FEW_TARGETS_S if scheme in BLIND else TARGETS_S


class DeadlinesOnKernel(BesideSimulator[Responses, Found]):
    """The form on the kernel; see the module."""

    name = "deadlines"
    title = "Deadlines: response-time targets that a client states"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 7.1"
    description = (
        "A Web object of 100 kB over 9.76 Mbit/s and 200 ms with targets of 100 ms to 2 s over "
        "HTTP, from nginx behind the proxy, by each startup; beside the simulator's linux-6."
    )
    statements = live.STATEMENTS
    agreements = live.AGREEMENTS
    choices = (
        "The thesis' claims are judged in the simulator with its hosts. Here nginx answers behind "
        "headway web-proxy on this machine's kernel, and in the simulator a server of linux-6; "
        "both take the round trip that is measured.",
        "A target's time is the median of three downloads, each on its own connection, from the "
        "end of the handshake. Startups that ignore targets are measured with four of them. "
        "Decided after results were known: the quick form has three downloads; it had one, which "
        "was 80 ms late as the proxy's first, a delay that is mended. The path's round trip is "
        "subtracted for a handshake; before, it was the first connection's handshake time.",
        "Hosts of a path with a sender that may ask leave 8 bytes of their packets free for the "
        "option, in both: the 100 kB are 70 packets, as many as slow start's first three windows "
        "hold.",
        "Times agree within 20 ms or 5 %. Decided after results were known; it was 30 ms or 10 %.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per scheme and target, its downloads one after the other."""
        return {
            live_key(scheme, target_s): lab.experiment(
                lab.path(),
                [
                    download(
                        _control(scheme),
                        target_s,
                        START_S,
                        THRICE,
                        SEND_BUFFER_BYTES,
                    )
                ],
                duration_s=START_S + RUNS * (LONGEST_S + THINK_S),
                stack="linux-6",
                seed=ctx.seed,
            )
            for scheme in SCHEMES
            for target_s in _targets_s(scheme, ctx)
        }

    def observe(self, _key: str, trace: Trace) -> Responses:
        """Response times."""
        return observe.observe(trace)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Responses]) -> Found:
        """By scheme and target."""
        return Found(Evidence(rows), is_live=True)

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Times over targets, and the simulator's."""
        twins = found.simulated()
        return page.page(found.all_s(), twins.all_s() if twins else None)
