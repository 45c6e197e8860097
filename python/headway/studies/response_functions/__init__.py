"""Thesis, section 6.2.2: a flow's throughput under random loss.

Claim: simulated Reno follows eq. 4.7; CUBIC and Compound get more at moderate loss and as much as
Reno at high loss. Setup: one greedy flow, 9.76 Mbit/s, 200 ms, loss of each packet with probability
p; another without random loss and with a small queue. Run: loss from 1e-5 to 1e-1, three controls.
Check: eq. 4.6 to 4.10, and the queues of figures 4.8 and 4.9. Plot: figures 6.9 to 6.11.
"""

from headway.studies.response_functions import claims, experiments, page
from headway.study import declared

STUDY = declared(__name__, claims, experiments, page)
