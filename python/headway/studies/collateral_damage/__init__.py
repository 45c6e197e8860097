"""Paper 001: what NewReno, H-TCP and CUBIC do to a VoIP stream on a home link.

Claim: the three controls have almost the same goodput. Their delays differ; CUBIC has the longest.
Setup: 1 Mbit/s and 60 000 bytes of drop-tail queue each way, 50 or 100 ms RTT; one, two or five
bulk flows of one control beside a one-way VoIP stream; Linux 2.6.25 hosts, a dummynet router.
Run: 18 cells of five trials, each at least three minutes and twenty congestion epochs.
Check: tables 1 and 2 and 109 statements.  Plot: figures 2 to 5.

Stewart, Armitage, Huebner: "Collateral Damage: The Impact of Optimised TCP Variants on Real-Time
Traffic Latency in Consumer Broadband Environments", IFIP Networking 2009.
"""

from headway.studies.collateral_damage import claims, experiments, observe, page
from headway.study import Agreement, declared

STUDY = declared(
    __name__,
    claims, experiments, observe, page,
    parts=page.PARTS,
    agreements=(
        Agreement(
            "kernel-medians",
            "Every median one-way delay on the kernel agrees with the simulator's, same stack.",
            table="Table 2", row="median", most=15.0, unit="ms",
        ),
    ),
)  # fmt: skip
