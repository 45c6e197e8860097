"""Simulates an experiment and measures it with the instrument that reads captures.

The packets at the senders' hosts are captured and imported, so that both sides of a comparison
have the same definitions of goodput, RTT and retransmission.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from headway.backends.sim import SimBackend
from headway.errors import ExperimentError, HeadwayError
from headway.experiment import Capture, Experiment
from headway.imports.capture import INTERVAL_NS, import_capture
from headway.trace import Trace

_SNAPLEN = "120 B"
"""The largest headers of IPv4 and TCP."""


class CannotCaptureError(HeadwayError):
    """The experiment does not allow captures, for example because of many connections."""


def measured_simulation(experiment: Experiment, interval_ns: int = INTERVAL_NS) -> Trace:
    """The trace of a simulation's packets at the senders.

    Raises CannotCaptureError if the experiment does not allow a capture at hosts.
    """
    update = {"capture": Capture(link="hosts", snaplen=_SNAPLEN), "record": ()}
    try:
        capturing = experiment.model_copy(update=update)
    except ExperimentError as error:
        raise CannotCaptureError(str(error)) from None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "simulated.pcapng"
        trace = SimBackend().run(capturing)
        file.write_bytes(trace.capture or b"")
        del trace
        try:
            return import_capture(file, interval_ns=interval_ns, most_flows=len(experiment.flows))
        except HeadwayError as error:
            raise HeadwayError(f"the simulation: {str(error).removeprefix(f'{file}: ')}") from None
