"""Paper 001's home link with every control and every queue discipline that Headway has.

Claim: the control of a bulk flow and the router's queue decide how much the flow delays a call, and
a low delay costs hardly any utilization. Delay-based controls keep as many packets in the queue as
their parameters say. With a fair queue the call's datagrams never wait behind the flow.
Setup: one bulk flow and a one-way VoIP stream over 1 Mbit/s with 60 000 bytes of queue each way,
50 ms; hosts of today. Run: each control of the registry with each queue discipline of the registry,
with the defaults of both, and the router that a control's header asks for at both links.
Check: what papers and RFCs say of the queues of their algorithms. Plot: median delay against
utilization.

The link is that of Stewart, Armitage, Huebner: "Collateral Damage: The Impact of Optimised TCP
Variants on Real-Time Traffic Latency in Consumer Broadband Environments", IFIP Networking 2009.
"""

from headway.studies.latency_of_everything import claims, experiments, page
from headway.study import declared

STUDY = declared(__name__, claims, experiments, page)
