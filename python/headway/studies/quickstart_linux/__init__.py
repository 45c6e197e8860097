"""Paper 000: Quick-Start in Linux, on 10 Mbit/s with 100 or 200 ms.

Claim: Quick-Start at 5.12 Mbit/s fills the link at once where slow start needs a second or two,
as long as ssthresh is not lowered; transfers of 10 kB to 1 MB gain most. Setup: one client, one
server, Reno or CUBIC of Linux 2.6.20. Check and plot: figures 9 to 11. The study web-surge has
figures 12 to 14, on Web pages.

Scharf, Strotbek: "Performance Evaluation of Quick-Start TCP with a Linux Kernel Implementation",
2008.
"""

from headway.studies.quickstart_linux import claims, experiments, page
from headway.studies.quickstart_linux.kernel import KERNEL
from headway.study import declared

STUDY = declared(__name__, claims, experiments, page, kernel=KERNEL)
