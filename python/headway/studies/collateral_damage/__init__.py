"""Paper 001: what NewReno, H-TCP and CUBIC do to a VoIP stream on a home link.

Claim: goodput hardly tells the three apart, the delay they cause does; CUBIC causes most.
Setup: 1 Mbit/s and 60 000 bytes of drop-tail queue each way, 50 or 100 ms RTT; one, two or five
bulk flows of one control beside a one-way VoIP stream; Linux 2.6.25 hosts, a dummynet router.
Run: 18 cells of five trials, each at least three minutes and twenty congestion epochs.
Check: tables 1 and 2 and 109 statements.  Plot: figures 2 to 5.

Stewart, Armitage, Huebner: "Collateral Damage: The Impact of Optimised TCP Variants on Real-Time
Traffic Latency in Consumer Broadband Environments", IFIP Networking 2009.
"""

from __future__ import annotations

from collections.abc import Mapping

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.collateral_damage import claims, enough, made, observe, page
from headway.studies.collateral_damage.cells import Found
from headway.studies.collateral_damage.experiments import trials_per_cell
from headway.studies.collateral_damage.observe import Trial
from headway.study import Agreement, Study, StudyContext
from headway.sweep import Observed
from headway.trace import Trace


class CollateralDamage(Study[Trial, Found]):
    """The study; see the module."""

    name = "collateral-damage"
    title = "Collateral damage: what bulk TCP flows do to a VoIP stream on a home link"
    source = (
        "Stewart, Armitage, Huebner: Collateral Damage: The Impact of Optimised TCP Variants on "
        "Real-Time Traffic Latency in Consumer Broadband Environments, Networking 2009"
    )
    description = (
        "1 Mbit/s with 60 000 bytes of drop-tail queue, 50 or 100 ms RTT; one, two or five bulk "
        "flows of NewReno, H-TCP or CUBIC (Linux 2.6.25) beside a one-way VoIP stream. Goodput, "
        "one-way delay, queue-full events and retransmissions; 18 cells of five trials."
    )
    statements = claims.STATEMENTS
    choices = (
        "Starts: at random within a round trip, as iperf opens the connections of one command in "
        "parallel. A flow whose handshake meets a queue takes its delay for the path's, and then "
        "H-TCP's RTT scaling makes it up to four times as fast as the flow that came first. With "
        "flows a quarter of a second or more apart the medians of five H-TCP flows are 15 to 25 ms "
        "lower and no longer above NewReno's (C-CD-098); the others hardly change.",
        "Ends: every flow writes for the trial's length, then its send buffer drains, as iperf's "
        "does; the datagrams end with the first flow.",
        "Delays count from the moment when every flow has had its first congestion event until the "
        "first flow stops: the paper's are those over at least twenty congestion epochs, and the "
        "slow start before belongs to none. With it medians move by about a millisecond and "
        "CUBIC's standard deviations by up to 10 ms. C-CD-093 and 094 take the whole trial.",
        "A full queue refuses every packet while more than 60 000 bytes wait, as FreeBSD 7's "
        "dummynet does. With a queue that refuses what does not fit, hardly a datagram is lost "
        "(C-CD-095 holds), but the medians of table 2 are 8.6 ms off on average, three times as "
        "far.",
        "Of each quantity the highest and the lowest trial are dropped, whichever those are. The "
        "quick form has four trials, so two remain.",
        "Figure 3 and C-CD-102 take the delays of all trials of a cell together.",
    )
    parts = (
        ("paper-001-medians", made.medians),
        ("paper-001-errors", made.errors),
        ("paper-001-verdicts", made.verdicts),
    )
    agreements = (
        Agreement(
            "kernel-medians",
            "Every median one-way delay on the kernel is the simulator's with the same stack.",
            table="Table 2",
            row="median",
            most=15.0,
            unit="ms",
        ),
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """90 trials (72 of 85 s with ``quick``) by key, as long as they turned out to need."""
        return enough.experiments(ctx)

    def collect(self, ctx: StudyContext) -> Observed[Trial]:
        """Run all trials, short ones again."""
        return enough.collect(ctx, self.observe)

    def observe(self, key: str, trace: Trace) -> Trial:
        """Delays, goodputs and epochs of a trial; of some the growth of windows and time series."""
        return observe.observe(key, trace)

    def gather(self, ctx: StudyContext, rows: Mapping[str, Trial]) -> Found:
        """The 18 cells."""
        return Found(Evidence(rows), trials_per_cell(ctx))

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Tables 1 and 2, figures 2 to 5, time series."""
        return page.page(found)


STUDY = CollateralDamage()
