"""Head-of-line blocking: the observations of a trial, checked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from support import S, experiment, trace

from headway.studies.head_of_line.experiments import observe


def test_the_tail_has_the_longest_time_and_the_share_that_takes_as_long() -> None:
    times_ms = [50, 60, 50, 90]
    rows = [(0, i, i * S, i * S + ms * 1_000_000) for i, ms in enumerate(times_ms)]
    app = {"kind": "pingpong", "request": "64 B", "mean_interval": "10 ms"}
    of = experiment(flows=[{"app": app, "control": "reno"}])
    seen = observe("", trace({"responses": rows}, of=of))
    assert seen.mean_s == pytest.approx(0.0625)
    shares = dict(zip(np.round(1e3 * seen.tail_s), seen.tail_share, strict=True))
    assert shares[90] == 0.25
    assert shares[60] == 0.5
    assert 0.089 < seen.slow_s <= 0.09
