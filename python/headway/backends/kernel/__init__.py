"""The running kernel: the same controls through eBPF, real sockets, an emulated link.

``backend`` runs experiments, ``possible`` rejects unsupported ones, and ``room`` decides how many
run in parallel. ``testbed`` has the hosts and links of a run, ``run`` starts its programs and
builds the trace, and ``records`` reads the programs' files. ``hints`` enables the hints of
applications, ``folders`` manages the folders of runs, and ``headwayctl`` calls the program that
needs root.
"""

from typing import TYPE_CHECKING

from headway.lazy import lazily

if TYPE_CHECKING:
    from headway.backends.kernel.backend import KernelBackend
    from headway.backends.kernel.possible import check
    from headway.backends.kernel.room import Progress, load

__all__ = ["KernelBackend", "Progress", "check", "load"]

_ROOM = "headway.backends.kernel"
__getattr__ = lazily(
    _ROOM,
    {
        "KernelBackend": f"{_ROOM}.backend",
        "Progress": f"{_ROOM}.room",
        "check": f"{_ROOM}.possible",
        "load": f"{_ROOM}.room",
    },
)
