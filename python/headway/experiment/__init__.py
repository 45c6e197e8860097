"""The typed experiment: path, flows, stack, length, seed.

Quantities are written with their units, and every model is checked when it is constructed; an error
is an ExperimentError with a one-line message. So every Experiment can run in the simulator, unless
it names the kernel's own controls. Models are frozen and compare by value.

A bandwidth-delay product ("1 BDP") is rate × base RTT in whole bytes, and makes the limit one in
bytes. The base RTT of a dumbbell is its ``rtt`` plus twice its two access delays; that of a
chain is the sum over all its hops; that of a network is the longest one between two of its nodes
over the shortest routes. It does not include the extra delay of a flow.
"""

from headway.experiment.algorithms import KERNEL_OWN, Aqm, Control
from headway.experiment.apps import (
    Bulk,
    Cbr,
    Exchanges,
    Pages,
    Pingpong,
    Requests,
    Sessions,
    Site,
    Transfers,
    Vectors,
    Voip,
)
from headway.experiment.effects import (
    AckThinning,
    Aggregation,
    BurstLoss,
    Corruption,
    Jitter,
    Mtu,
    Policer,
    Shaper,
)
from headway.experiment.experiment import BATCHES, RECORDS, Experiment, Record
from headway.experiment.flow import ACCURATE, ASKING, FLOW_OPTIONS, Flow, Relay, parse_flows
from headway.experiment.network import (
    Edge,
    LeafSpine,
    Network,
    Star,
    Topology,
    all_to_all,
    named_links,
    routes_of,
)
from headway.experiment.path import Capture, Chain, Dumbbell, Hop, Link, QueueLimit, limit_bytes
from headway.experiment.vary import Mahimahi, Schedule, Step, TraceStep, outages
from headway.spec import explain

__all__ = [
    "ACCURATE",
    "ASKING",
    "BATCHES",
    "FLOW_OPTIONS",
    "KERNEL_OWN",
    "RECORDS",
    "AckThinning",
    "Aggregation",
    "Aqm",
    "Bulk",
    "BurstLoss",
    "Capture",
    "Cbr",
    "Chain",
    "Control",
    "Corruption",
    "Dumbbell",
    "Edge",
    "Exchanges",
    "Experiment",
    "Flow",
    "Hop",
    "Jitter",
    "LeafSpine",
    "Link",
    "Mahimahi",
    "Mtu",
    "Network",
    "Pages",
    "Pingpong",
    "Policer",
    "QueueLimit",
    "Record",
    "Relay",
    "Requests",
    "Schedule",
    "Sessions",
    "Shaper",
    "Site",
    "Star",
    "Step",
    "Topology",
    "TraceStep",
    "Transfers",
    "Vectors",
    "Voip",
    "all_to_all",
    "explain",
    "limit_bytes",
    "named_links",
    "outages",
    "parse_flows",
    "routes_of",
]
