"""References for response times: an idle link (eq. 6.11) and processor sharing (eq. 6.12)."""

from __future__ import annotations

import functools
from collections.abc import Callable

from headway import models
from headway.studies.common import lab
from headway.workloads import published
from headway.workloads.draws import Floats


def processor_sharing_s(load: float) -> float:
    """Eq. 6.12 for the study's workload."""
    return models.sharing.processor_sharing_response_s(
        published.LARGER_MEAN_RESPONSE_BYTES, path=lab.model_path(), load=load
    )


@functools.cache
def idle_s() -> float:
    """Eq. 6.11: slow start after idle times, without other traffic."""
    return lossless_s(functools.partial(models.startup.slow_start_response_s, window_pkts=3))


def lossless_s(response_s: Callable[..., Floats]) -> float:
    """Eq. 6.11 with a response time of table 6.1."""
    sizes = published.synthetic_responses(published.LARGER_MEAN_RESPONSE_BYTES)
    return models.sharing.unloaded_response_s(
        sizes, functools.partial(response_s, path=lab.model_path())
    )
