"""Runs experiments on the running kernel: controls as eBPF, real sockets, an emulated link.

``backend`` runs experiments, ``supported`` rejects unsupported ones, and ``room`` decides how many
run in parallel. ``testbed`` has the hosts and links of a run, ``network`` the links and routes of a
network, ``run`` starts a run's programs and builds the trace, and ``records`` reads the programs'
files. ``hints`` enables the hints of applications, ``folders`` manages the folders of runs, and
``headwayctl`` calls the program that needs root.
"""

from typing import TYPE_CHECKING

from headway.lazy import lazily

if TYPE_CHECKING:
    from headway.backends.kernel.backend import KernelBackend
    from headway.backends.kernel.room import Progress, load
    from headway.backends.kernel.supported import check

__all__ = ["KernelBackend", "Progress", "check", "load"]

_PACKAGE = "headway.backends.kernel"
__getattr__ = lazily(
    _PACKAGE,
    {
        "KernelBackend": f"{_PACKAGE}.backend",
        "Progress": f"{_PACKAGE}.room",
        "check": f"{_PACKAGE}.supported",
        "load": f"{_PACKAGE}.room",
    },
)
