"""Run: mean response times by load, an idle link (eq. 6.11), and processor sharing (eq. 6.12).

All schemes carry the same sessions, so the intervals of two means are no interval of their
difference. Means are compared, and the seeds show how certain a difference is.
"""

import functools
from collections.abc import Callable, Collection, Mapping

from headway import models
from headway.claims import Evidence
from headway.studies.common import lab, traffic
from headway.studies.common.traffic import Traffic
from headway.studies.load.experiments import LOADS, MEAN_BYTES, key
from headway.trace import Trace
from headway.workloads import published
from headway.workloads.draws import Floats

Found = Evidence[Traffic]
ByLoad = Mapping[float, float]


def observe(_key: str, trace: Trace) -> Traffic:
    """Observe a trial: response times, loss, and the router's grants."""
    return traffic.traffic(trace, traffic.responses(trace))


def processor_sharing_s(load: float) -> float:
    """Mean response time by eq. 6.12 for the study's workload."""
    return models.sharing.processor_sharing_response_s(MEAN_BYTES, path=lab.model_path(), load=load)


@functools.cache
def idle_s() -> float:
    """Mean response time by eq. 6.11: slow start after idle times, without other traffic."""
    return lossless_s(functools.partial(models.startup.slow_start_response_s, window_pkts=3))


def lossless_s(response_s: Callable[..., Floats]) -> float:
    """Eq. 6.11 with a response time of table 6.1."""
    response_s = functools.partial(response_s, path=lab.model_path())
    return models.sharing.unloaded_response_s(published.synthetic_responses(MEAN_BYTES), response_s)


def means(found: Found, scheme: str, loads: Collection[float] = LOADS) -> dict[float, float]:
    """Mean response times by load, seconds."""
    return {load: found[key(scheme, load)].mean_s for load in loads}


def gains_s(found: Found, scheme: str, loads: Collection[float] = LOADS) -> dict[float, float]:
    """The mean time saved compared with slow start, by load."""
    slow = means(found, "slow-start", loads)
    return {load: slow[load] - mean for load, mean in means(found, scheme, loads).items()}


def percent_more(mine: ByLoad, than: ByLoad) -> dict[float, float]:
    """Differences in percent."""
    return {load: 100 * (time / than[load] - 1) for load, time in mine.items()}


def by_load(
    values: ByLoad, unit: str = "s", digits: int = 2, loads: Collection[float] | None = None
) -> str:
    """Values with the loads at which they were measured."""
    shown = (f"{values[at]:.{digits}f} at {100 * at:g} %" for at in loads or values)
    return f"{', '.join(shown)} ({unit})"
