"""Setup: two responses of 2 MB on one connection, 10 s apart, with every startup."""

from headway.experiment import Experiment, Flow
from headway.studies.common import lab, network
from headway.study import StudyContext

SIZE_BYTES, IDLE_S, LENGTH_S = 2e6, 10.0, 30.0
SAMPLE_S = 0.01
RTT_S = lab.RTT_MS / 1e3
SCHEMES = {
    "slow-start": "Slow-Start",
    "initial-start": "Initial-Start",
    "jump-start": "Jump-Start",
    "mega-start": "Mega-Start",
    "quick-start": "Quick-Start",
}
LABELS = {**SCHEMES, **network.SCHEMES}
QS_BPS = 5.12e6
LARGE_WINDOWS_PKTS = (100, 200, 400, 800)
"""Initial windows that a queue of 1000 packets holds without loss, but a queue of 50 does not."""
SMALL = "small-"
"""Prefix of the trials with the smaller queue."""
UPLOAD, UPLOAD_EXTRA_ACK = "upload", "upload-extra-ack"
_LARGE_RECEIVE_WINDOW = "2000000 B"


def control(scheme: str) -> str:
    """The control of a scheme, with the thesis' rates."""
    if scheme == "quick-start":
        return lab.quick_start(QS_BPS, early=True)
    return f"{lab.CONTROL}+{scheme}"


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per scheme, large windows with a small queue, and uploads."""
    on_kernel = ctx.backend.name == "kernel"
    schemes = SCHEMES if on_kernel else LABELS
    trials = {scheme: _two_downloads(scheme, ctx.seed) for scheme in schemes}
    small = lab.path(buffer_pkts=lab.SMALL_BUFFER_PKTS)
    large = {str(w): f"initial-start:is_window_pkts={w}" for w in LARGE_WINDOWS_PKTS}
    for name, startup in {lab.SLOW_START: lab.SLOW_START, **large}.items():
        flow = lab.requests(
            [SIZE_BYTES], control=control(startup), initial_rwnd=_LARGE_RECEIVE_WINDOW
        )
        trials[SMALL + name] = lab.experiment(small, [flow], duration_s=LENGTH_S)
    for name in (UPLOAD,) if on_kernel else (UPLOAD, UPLOAD_EXTRA_ACK):  # Linux has no extra ACK
        flow = _upload(name == UPLOAD_EXTRA_ACK)
        trials[name] = lab.experiment(
            lab.path(), [flow], duration_s=5, sample_s=SAMPLE_S, record=("flows",)
        )
    return trials


def _two_downloads(scheme: str, seed: int) -> Experiment:
    sizes = [SIZE_BYTES, SIZE_BYTES]
    if scheme in network.SCHEMES:
        path, own = network.guided(lab.path(), scheme), network.control(scheme)
        flow = lab.requests(sizes, control=own, idle_s=IDLE_S, initial_rwnd=network.WINDOW)
    else:
        path = lab.path()
        flow = lab.requests(
            sizes,
            control=control(scheme),
            idle_s=IDLE_S,
            initial_rwnd=None if scheme == lab.SLOW_START else lab.RECEIVE_WINDOW,
            data_volume_bytes=SIZE_BYTES if scheme == "quick-start" else None,
        )
    return lab.experiment(path, [flow], duration_s=LENGTH_S, seed=seed, sample_s=SAMPLE_S)


def _upload(extra_ack: bool) -> Flow:
    app = {"kind": "bulk", "size": "1 MB"}
    buffers = {"rmem": lab.RMEM, "initial_rwnd": lab.RECEIVE_WINDOW}
    own = {"app": app, "extra_ack": extra_ack, "data_volume": "1 MB", "start": "0 s"}
    return Flow.model_validate({"control": control("quick-start"), **buffers, **own})
