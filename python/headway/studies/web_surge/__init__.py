"""Paper 000 and the thesis: Web users of SURGE with Quick-Start, on 10 Mbit/s with 200 ms.

Claim: pages of SURGE's default hardly gain from a fast start, those of large files more than a
second, as long as there is little load. Setup: users of a server of 2000 files who fetch pages
over HTTP/1.0, 1.1 and 1.1 with pipelining, and as browsers do today. Check: C-QSL-019 to 026,
C-TH-167 to 174 and 280. Plot: figures 12 to 14 of the paper, 6.48 and 6.49 of the thesis.

Scharf, Strotbek: "Performance Evaluation of Quick-Start TCP with a Linux Kernel Implementation",
2008. Scharf: "Fast Startup Internet Congestion Control", 2011.
"""

from headway.studies.web_surge import claims, experiments, kernel, page
from headway.study import declared

STUDY = declared(__name__, claims, experiments, page, kernel=kernel.KERNEL)
