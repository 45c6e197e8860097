"""Setup of the studies with a browser: 1 Gbit/s, Quick-Start routers, the thesis' buffers."""

import base64
import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.claims import Claim
from headway.experiment import Experiment
from headway.figures.canvas import drawing, new_figure
from headway.studies.common import lab
from headway.table import markdown
from headway.units import fixed_memory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE_BPS = 10**9
ASKED_BPS = 82_000_000
"""The rate of a server that requests a fixed one; section 7.2 of the thesis."""
RTT_MS = 200
DURATION = "240 s"
"""Upper limit of a run's length; a run ends with its last visit."""
DOWNLINK = 1
RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES = 8_388_608, 16_777_216
"""Buffers of appendix B.2: receivers have 8 MB at first. Senders have that appendix's maximum from
the start."""


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
    """One browser and one server over an idle path whose queue holds a bandwidth-delay product."""
    router = f"algorithm=target:interval_ms={rtt_ms}:threshold_permille={threshold_permille}"
    link = {"rate": f"{RATE_BPS} bit/s", "buffer": "1 BDP", "quick_start": router}
    hosts = {
        "rmem": fixed_memory(f"{RECEIVE_BUFFER_BYTES} B"),
        "wmem": fixed_memory(f"{SEND_BUFFER_BYTES} B"),
    }
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
    """The control of a server that requests rates as the thesis' hosts do: late, or early."""
    settings = ":".join(f"{name}={value}" for name, value in lab.HOSTS.items())
    return f"cubic+quick-start:qs_activation={activation}:{settings}"


def least_s(volume_bytes: float, rtt_ms: float) -> float:
    """The least time of a response, for any startup.

    Request and last byte take a round trip. The data takes its time at the link's rate, and at most
    a receive buffer is sent per round trip.
    """
    rtt_s = rtt_ms / 1e3
    rounds = math.ceil(volume_bytes / RECEIVE_BUFFER_BYTES) - 1
    last_s = (volume_bytes - rounds * RECEIVE_BUFFER_BYTES) * 8 / RATE_BPS
    return rtt_s + max(volume_bytes * 8 / RATE_BPS, rounds * rtt_s + last_s)


def told(rows: Mapping[str, Mapping[str, str]]) -> str:
    """Rows of a table as text, for a claim's measured value."""
    return "; ".join(
        f"{name}: " + ", ".join(f"{column} {cell}" for column, cell in row.items())
        for name, row in rows.items()
    )


def table_told(
    claims: Sequence[Claim], claim: str, columns: Sequence[str], first: str = "startup"
) -> str:
    """The table from the text that ``told`` made, for a page that is generated from claims."""
    measured = next((one.measured for one in claims if one.id == claim), None)
    if not isinstance(measured, str):
        return "Not measured.\n"
    rows = []
    for row in measured.split("; "):
        name, cells = row.split(": ")
        parts = zip(columns, cells.split(", "), strict=True)
        rows.append([name, *(cell.removeprefix(f"{column} ") for column, cell in parts)])
    return "\n".join(markdown([first, *columns], rows))


def picture(jpeg: str) -> "Figure":
    """A browser's screenshot in base 64, as a figure."""
    import numpy as np
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(jpeg))))
    with drawing():
        figure, (ax,) = new_figure(height_mm=105)
        ax.imshow(pixels)
        ax.axis("off")
    return figure
