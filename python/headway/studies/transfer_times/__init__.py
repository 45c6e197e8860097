"""Thesis, section 6.4.2: the time of a single transfer with each startup.

Claim: simulated response times are those of table 6.1; fast startups help transfers of 10 kB to
1 MB on paths of 100 ms and more. RCP comes close to the minimum, XCP to late Quick-Start. Setup: a
client asks a server for one response over 9.76 Mbit/s.
Run: 1 kB to 10 MB, 50, 100 and 200 ms, every scheme; other capacities; every rate
that can be requested on 1 Gbit/s and 233 ms; first flights packet by packet.
Check: table 6.1 within 3 % or 5 ms, and the statements.
Plot: figures 6.34 to 6.41.
"""

from headway.studies.transfer_times import experiments, gains, page
from headway.study import declared

STUDY = declared(__name__, experiments, gains, page, kernel=page.KERNEL)
