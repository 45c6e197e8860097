"""Setup: two responses of 2 MB on one connection, 10 s apart, with every startup."""

from __future__ import annotations

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
    trials = {scheme: _two_downloads(scheme, ctx.seed) for scheme in SCHEMES}
    if ctx.backend.name != "kernel":
        for scheme in network.SCHEMES:
            trials[scheme] = _two_guided_downloads(scheme, ctx.seed)
    small = lab.path(buffer_pkts=lab.SMALL_BUFFER_PKTS)
    large = {str(w): f"initial-start:is_window_pkts={w}" for w in LARGE_WINDOWS_PKTS}
    for name, startup in {lab.SLOW_START: lab.SLOW_START, **large}.items():
        flow = lab.requests(
            [SIZE_BYTES], control=control(startup), receive_window=_LARGE_RECEIVE_WINDOW
        )
        trials[SMALL + name] = lab.experiment(small, [flow], duration_s=LENGTH_S)
    uploads = {UPLOAD: False, UPLOAD_EXTRA_ACK: True}
    if ctx.backend.name == "kernel":
        del uploads[UPLOAD_EXTRA_ACK]  # no Linux sends the extra ACK
    for name, extra_ack in uploads.items():
        trials[name] = lab.experiment(
            lab.path(), [_upload(extra_ack)], duration_s=5, sample_s=SAMPLE_S, record=("flows",)
        )
    return trials


def _two_downloads(scheme: str, seed: int) -> Experiment:
    flow = lab.requests(
        [SIZE_BYTES, SIZE_BYTES],
        control=control(scheme),
        idle_s=IDLE_S,
        receive_window=None if scheme == lab.SLOW_START else lab.RECEIVE_WINDOW,
        data_volume_bytes=SIZE_BYTES if scheme == "quick-start" else None,
    )
    return lab.experiment(lab.path(), [flow], duration_s=LENGTH_S, seed=seed, sample_s=SAMPLE_S)


def _two_guided_downloads(scheme: str, seed: int) -> Experiment:
    """Two downloads with XCP or RCP, and the same queue."""
    flow = lab.requests(
        [SIZE_BYTES, SIZE_BYTES],
        control=network.control(scheme),
        idle_s=IDLE_S,
        receive_window=network.WINDOW,
    )
    path = network.guided(lab.path(), scheme)
    return lab.experiment(path, [flow], duration_s=LENGTH_S, seed=seed, sample_s=SAMPLE_S)


def _upload(extra_ack: bool) -> Flow:
    return Flow.model_validate(
        {
            "app": {"kind": "bulk", "size": "1 MB"},
            "control": control("quick-start"),
            "receive_buffer": lab.RECEIVE_BUFFER,
            "receive_window": lab.RECEIVE_WINDOW,
            "extra_ack": extra_ack,
            "data_volume": "1 MB",
            "start": "0 s",
        }
    )
