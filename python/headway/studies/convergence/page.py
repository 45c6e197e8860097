"""Plot: figures 6.17 to 6.20, and tables of the schemes."""

import math
from statistics import median

import polars as pl

from headway.figures import QUEUE, Panel, Series, style_of, timeseries
from headway.publish import Page
from headway.studies.common import lab, network
from headway.studies.common.cells import seconds
from headway.studies.common.runs import values
from headway.studies.common.shown import by_flow, figures, table
from headway.studies.convergence.experiments import LABELS, SAMPLE_S, SCHEMES
from headway.studies.convergence.observe import (
    ARRIVAL_S,
    EQUAL,
    HELD_S,
    SHARING_S,
    Course,
    Found,
    mean_of,
    outcomes,
)
from headway.study import StudyContext
from headway.table import Table

_ONE_RUN = "Goodput of the three flows, one run."


def page(_ctx: StudyContext, found: Found) -> Page:
    """The report's tables, figures and data."""
    runs = [
        {"scheme": name, **{k: v for k, v in vars(one).items() if k != "course"}}
        for name in LABELS
        for one in outcomes(found, name)
    ]
    drawn = {
        name: course for name in LABELS if (course := outcomes(found, name)[0].course) is not None
    }
    quick = drawn["quick-start"]
    queue = Series("queue", quick.queue_s, quick.queue_pkts, QUEUE, step=True)
    queues = [
        Series(label, drawn[name].queue_s, drawn[name].queue_pkts, style_of(name))
        for name, label in network.SCHEMES.items()
    ]

    def panels(*names: str) -> list[Panel]:
        return [_panel(drawn[name], name) for name in names]

    drawings = (
        ("Figure 6.17", _ONE_RUN, panels("slow-start", "slow-start-red")),
        ("Figure 6.18", _ONE_RUN, panels("jump-start", "mega-start")),
        (
            "Figure 6.19",
            "Quick-Start: goodputs, and the queue towards the clients.",
            [*panels("quick-start"), Panel("queue (packets)", [queue])],
        ),
        (
            "Figure 6.20",
            "Goodputs with XCP and RCP, and the unlimited queues towards the clients.",
            [*panels(*network.SCHEMES), Panel("queue (packets)", queues)],
        ),
    )
    return Page(
        tables=[_shares_table(found), _equal_table(found)],
        figures=figures(
            *((title, caption, timeseries(own, height_mm=48)) for title, caption, own in drawings)
        ),
        data={"runs": pl.DataFrame(runs)},
    )


def _panel(course: Course, scheme: str) -> Panel:
    label, mbps = LABELS[scheme], [bps / 1e6 for bps in course.goodputs_bps]
    lines = by_flow(label, course.slots_s, mbps, style_of(scheme))
    return Panel("goodput (Mbit/s)", lines, title=label)


def _shares_table(found: Found) -> Table:
    return table(
        f"Means over {len(outcomes(found, lab.SLOW_START))} runs",
        SCHEMES,
        {
            "scheme": LABELS.get,
            "Jain of 2": (lambda name: mean_of(found, name, "jain_two"), 3),
            "of 3": (lambda name: mean_of(found, name, "jain"), 3),
            "for s": (lambda name: mean_of(found, name, "together_s"), 1),
            "new Mbit/s": (lambda name: mean_of(found, name, "new_mbps"), 2),
            "old Mbit/s": (lambda name: mean_of(found, name, "old_mbps"), 2),
            "queue %": (lambda name: 100 * mean_of(found, name, "queue_share"), None),
            "3rd flow s": (lambda name: mean_of(found, name, "third_s"), 2),
        },
        "Jain's index of the first two flows from the second start to the first end, and of all "
        f"three from the third start to the first end, over at most {SHARING_S:g} s; how long all "
        f"three are active; rates of the second and the first flow in the {ARRIVAL_S:g} s after "
        "the second start; part of the queue that is used until the last response ends; response "
        "time of the third flow.",
    )


def _equal_table(found: Found) -> Table:
    """Times of new flows to an equal share."""

    def middle(name: str, field: str) -> float:
        return median(values(outcomes(found, name), field))

    def peak(name: str) -> float | None:
        peaks = [one.peak_pkts for one in outcomes(found, name)]
        return max(filter(math.isfinite, peaks)) if name in network.SCHEMES else None

    return table(
        "Time until flows share equally, medians",
        (lab.SLOW_START, *network.SCHEMES),
        {
            "scheme": LABELS.get,
            "2 flows s": lambda name: seconds(middle(name, "second_equal_s")),
            "3 flows s": lambda name: seconds(middle(name, "third_equal_s")),
            "longest queue": (peak, None),
            "3rd flow s": (lambda name: mean_of(found, name, "third_s"), 2),
        },
        f"From the new flow's first data until Jain's index is {EQUAL:g} or more in slots of a "
        f"round trip ({SAMPLE_S:g} s for Slow-Start), and stays so for {HELD_S:g} s, or until the "
        "next flow starts or one ends. A dash: not by then. Longest queue: the maximum of all runs "
        "from the second start on, in packets. Last column: mean response time of the third flow.",
    )
