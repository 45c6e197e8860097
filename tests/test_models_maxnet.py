"""MaxNet's model: its equilibrium, and margins where they are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headway.models import maxnet as model


def test_one_flows_price_at_10_mbit_s_is_7_5_ms_with_seconds_as_units() -> None:
    in_seconds = {"rate_bps": 10e6, "price_scale": 1.0, "interval_s": 1.0, "mu": 0.96}
    assert model.equilibrium_price_s(**in_seconds) == pytest.approx(0.0075)
    assert model.equilibrium_price_s(**in_seconds, flows=4) == pytest.approx(0.03)


def test_without_the_exponential_the_margin_is_that_of_an_integrator_with_a_delay() -> None:
    # the loop's transfer function is mu/(P s) e^(-s D): at frequency w its gain is mu/(P w), and
    # its phase is -180 degrees where w D = pi/2
    units = {"rate_bps": 10e6, "price_scale": 1e-4, "interval_s": 1000.0}
    price_s = model.equilibrium_price_s(**units)
    phase, gain = model.margins(rtt_s=1e-4, frequency_s=0.03, pkts_per_ack=1e-3, **units)
    delay_s = 0.0301
    assert gain == pytest.approx(math.pi / 2 * price_s / model.MU / delay_s, rel=0.01)
    assert phase == pytest.approx(90 - math.degrees(model.MU / price_s * delay_s), abs=1)


@pytest.mark.parametrize("rtt_s", [0.028, 0.056])
def test_the_units_that_are_used_have_a_phase_margin_of_60_degrees(rtt_s: float) -> None:
    phase, gain = model.margins(rate_bps=10e6, rtt_s=rtt_s)
    assert round(phase) >= 60
    assert gain > 2.5
    assert model.margins(rate_bps=10e6, rtt_s=rtt_s, price_scale=1, interval_s=1)[1] < 1


def test_a_model_refuses_what_is_no_link() -> None:
    with pytest.raises(ValueError, match="rate_bps"):
        model.equilibrium_price_s(rate_bps=0)
    with pytest.raises(ValueError, match="rtt_s"):
        model.margins(rate_bps=1e6, rtt_s=-1)
    assert np.isfinite(model.margins(rate_bps=1e6, rtt_s=0.1)).all()
