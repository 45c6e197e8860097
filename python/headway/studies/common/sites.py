"""Setup of the studies with a browser: 1 Gbit/s, routers that answer, the thesis' buffers."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

from headway.experiment import Experiment
from headway.figures.canvas import drawing, new_figure
from headway.studies.common import lab

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE_BPS = 10**9
ASKED_BPS = 82_000_000
"""Where a server names a rate; the thesis' section 7.2."""
RTT_MS = 200
DURATION = "240 s"
"""At the latest; a run ends with its last visit."""
DOWNLINK = 1
_RECEIVE_BUFFER, _SEND_BUFFER = "8388608 B", "16777216 B"
"""Appendix B.2: 8 MB at first; senders have Linux's largest there from the start."""


def trial(
    app: dict[str, Any],
    control: str,
    *,
    seed: int,
    rtt_ms: int = RTT_MS,
    threshold_permille: int = 1000,
    sample: str | None = None,
    **flow: Any,
) -> Experiment:
    """One browser and one server over an idle path whose queue holds a round trip."""
    router = f"algorithm=target:interval_ms={rtt_ms}:threshold_permille={threshold_permille}"
    link = {"rate": f"{RATE_BPS} bit/s", "buffer": "1 BDP", "quick_start": router}
    hosts = {"receive_buffer": _RECEIVE_BUFFER, "send_buffer": _SEND_BUFFER}
    return Experiment.model_validate(
        {
            "topology": {
                "kind": "dumbbell", **link, "rtt": f"{rtt_ms} ms",
                "reverse": {**link, "delay": f"{rtt_ms / 2:g} ms"},
            },
            "flows": [{"app": {"kind": "site", **app}, "control": control, **hosts, **flow}],
            "duration": DURATION,
            "seed": seed,
            "sample": sample,
            "record": (),
        }
    )  # fmt: skip


def quick_start(activation: str = "late") -> str:
    """The control of a server that asks as the thesis' hosts do it: late, or in the handshake."""
    settings = ":".join(f"{name}={value}" for name, value in lab.HOSTS.items())
    return f"cubic+quick-start:qs_activation={activation}:{settings}"


def picture(jpeg: str) -> Figure:
    """What a browser showed, from base 64, as a figure."""
    import numpy as np
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(jpeg))))
    with drawing():
        figure, (ax,) = new_figure(height_mm=105)
        ax.imshow(pixels)
        ax.axis("off")
    return figure
