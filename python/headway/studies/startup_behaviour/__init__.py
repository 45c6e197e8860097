"""Thesis, section 6.3.1: one connection, two downloads with an idle time between, every startup.

Claim: slow start needs about 2 s to fill 10 Mbit/s over 200 ms, at the start and after idle; every
fast startup is better, and Mega-Start at the link's rate is the optimum. RCP is similar to
Quick-Start, XCP is slower. Setup: two responses of 2 MB, 10 s apart, on one connection. Check:
rates in slots of a round trip, completion times, data in the first round trip.  Plot: figures 6.15
and 6.16.
"""

from collections.abc import Mapping

from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.startup_behaviour import claims, experiments, observe, page
from headway.studies.startup_behaviour.observe import Found, Row
from headway.study import Agreement, Study, StudyContext
from headway.trace import Trace


class StartupBehaviour(Study[Row, Found]):
    """The study; see the module."""

    name = "startup-behaviour"
    title = "Startup behaviour: at the start and after an idle time"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), sections 5.2 and 6.3.1"
    description = (
        "Two responses of 2 MB with 10 s of idle time between them on one connection over "
        "9.76 Mbit/s and 200 ms, with slow start, Initial-, Jump-, Mega- and Quick-Start, and with "
        "XCP and RCP."
    )
    statements = claims.STATEMENTS
    choices = (
        "A slot is full at 95 % or more of the link's rate. Times to full speed count from the "
        "first packet of the response. For slow start they count from the request, as the claims "
        "do.",
        "A startup's rate (C-TH-081) is the mean over half a round trip that begins when more than "
        "a restart window of three packets has been sent. No ACKs of this data can arrive in that "
        "time.",
        "With a fast startup both hosts announce 625,000 bytes from the start (section 5.2.3 of "
        "the thesis). The server knows the 2 MB in advance, so that it can request a rate early.",
        "The smaller queue of C-TH-077 is the thesis' default of 50 packets (6.1.1.1). The larger "
        "initial windows are not given. We use four that fit the queue of 1000 packets.",
    )
    agreements = tuple(
        Agreement(
            f"kernel-{name}",
            f"{label}: both response times on the kernel are the simulator's.",
            table=page.TIMES,
            row=label,
            most=15.0,
            unit="ms",
            relative=0.08,
        )
        for name, label in experiments.SCHEMES.items()
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per scheme, large windows with a small queue, and uploads."""
        return experiments.experiments(ctx)

    def observe(self, key: str, trace: Trace) -> Row:
        """Both downloads of a trial, or its single transfer."""
        return observe.observe(key, trace)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Row]) -> Found:
        """Rows by kind of trial."""
        return observe.gather(rows)

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Rates and response times."""
        return page.page(found)


STUDY = StartupBehaviour()
