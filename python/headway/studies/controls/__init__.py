"""The loss- and delay-based controls compared with published values, or with their law.

Claim: each control of Headway has its paper's response function, equilibrium or fairness. Setup:
one flow on a path that loses exactly every (1/p)th packet, as response functions assume, or on a
link with a queue. Run: a few trials per control. Check: the mean window, the queue, the ratio of
goodputs against the published number. Plot: one table with the error of each.
"""

from headway.studies.controls import claims, experiments, page
from headway.study import declared

STUDY = declared(__name__, claims, experiments, page, parts=(("controls-table", page.part),))
