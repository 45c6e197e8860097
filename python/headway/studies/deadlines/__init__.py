"""Thesis, section 7.1.3: a client states a deadline, and the server's TCP starts accordingly.

Claim: Mega-Start meets every target that the link allows, a late Quick-Start without a correction
misses them, startups without an application interface ignore them, and below the round-trip
time nothing is activated. Setup: one object of 100 kB over 10 Mbit/s and 200 ms, its target in the
header Response-Deadline. Run: targets of 0.1 to 2 s, with each startup; on the kernel over HTTP, by
nginx and the proxy before it. Check: response times against targets. Plot: figure 7.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.deadlines import claims, experiments, observe, page
from headway.studies.deadlines.kernel import DeadlinesOnKernel
from headway.studies.deadlines.observe import Responses
from headway.studies.deadlines.results import Found
from headway.study import Study, StudyContext
from headway.trace import Trace


class Deadlines(Study[Responses, Found]):
    """The study; see the module."""

    name = "deadlines"
    title = "Deadlines: response-time targets that a client states"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 7.1"
    description = (
        "A Web object of 100 kB over 9.76 Mbit/s and 200 ms with targets of 100 ms to 2 s, by "
        "Slow-Start, Initial-Start, Jump-Start, Mega-Start, and Quick-Start with late activation, "
        "without and with a correction for the round trip of its request. On the kernel: over "
        "HTTP, from nginx behind the proxy, compared with the simulator's linux-6."
    )
    statements = claims.STATEMENTS
    choices = (
        "Targets are 0.1 to 2 s, as in section 7.1.3. One is 0.21 s, for which eq. 7.1 requires "
        "ten times the link's rate. The thesis does not print the targets of figure 7.4.",
        "The server states the volume and the rest of the target, and the stack computes a rate "
        "(algorithms/port/initial_rate.h): eq. 7.1, unless slow start's windows carry the object "
        "in time. The thesis' server always states a rate; where slow start is fast enough, that "
        "rate changes little.",
        "The thesis' Quick-Start does not correct for the round trip of its request and rounds "
        "rates down: qs_rules=scharf. The study also has a corrected one, with RFC 4782's rules "
        "and the deadline.",
        "Hosts have the thesis' receive buffers and announce 625,000 bytes from the start, as in "
        "transfer-times.",
    )

    def on(self, backend: str) -> Study[Any, Any]:
        """On the kernel: the same over HTTP, with today's hosts."""
        return DeadlinesOnKernel() if backend == "kernel" else self

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per scheme, its targets one after the other."""
        return experiments.in_turn(ctx)

    def observe(self, _key: str, trace: Trace) -> Responses:
        """Response times."""
        return observe.observe(trace)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Responses]) -> Found:
        """By scheme and target."""
        return Found(Evidence(rows))

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Times over targets."""
        return page.page(found.all_s())


STUDY = Deadlines()
