"""Metrics: pure functions from a Trace to numbers and tables.

Unless a window is given, metrics cover [warmup, end] of the run. Flows and links are given by
number. Names end in the unit of the result.
"""

from headway.fairness import jain_index
from headway.metrics.delay import lost_pkts, owd_distribution_us, owd_us
from headway.metrics.flows import (
    backoff_times_ns,
    batch_goodputs_bps,
    congestion_epochs_s,
    cwnd_pkts,
    flow_jain_index,
    flow_table,
    goodput_bps,
    goodput_tcptrace_bps,
    retransmits_pkts,
    rtos,
    srtt_us,
    windows_pkts,
)
from headway.metrics.growth import GrowthEpoch, growth_epochs
from headway.metrics.links import (
    drop_rate,
    drops_pkts,
    link_table,
    queue_bytes,
    queue_full_events,
    queue_full_per_minute,
    throughput_bps,
    utilization,
)
from headway.metrics.pages import page_loads
from headway.metrics.readings import readings
from headway.metrics.responses import deadlines, mean_response_s, quantile_s, responses
from headway.metrics.routers import queue_counters, router_counters, router_events
from headway.metrics.stats import (
    Distribution,
    Estimate,
    batch_means,
    cdf,
    confidence_interval,
    distribution,
    trimmed_mean,
    weighted_distribution,
    without_extremes,
)
from headway.metrics.transfers import transfers
from headway.metrics.windows import Window, whole_run, window_of

__all__ = [
    "Distribution",
    "Estimate",
    "GrowthEpoch",
    "Window",
    "backoff_times_ns",
    "batch_goodputs_bps",
    "batch_means",
    "cdf",
    "confidence_interval",
    "congestion_epochs_s",
    "cwnd_pkts",
    "deadlines",
    "distribution",
    "drop_rate",
    "drops_pkts",
    "flow_jain_index",
    "flow_table",
    "goodput_bps",
    "goodput_tcptrace_bps",
    "growth_epochs",
    "jain_index",
    "link_table",
    "lost_pkts",
    "mean_response_s",
    "owd_distribution_us",
    "owd_us",
    "page_loads",
    "quantile_s",
    "queue_bytes",
    "queue_counters",
    "queue_full_events",
    "queue_full_per_minute",
    "readings",
    "responses",
    "retransmits_pkts",
    "router_counters",
    "router_events",
    "rtos",
    "srtt_us",
    "throughput_bps",
    "transfers",
    "trimmed_mean",
    "utilization",
    "weighted_distribution",
    "whole_run",
    "window_of",
    "windows_pkts",
    "without_extremes",
]
