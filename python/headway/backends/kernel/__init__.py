"""The running kernel: the same controls through eBPF, real sockets, an emulated link.

``backend`` runs experiments, ``possible`` refuses what cannot be run, ``room`` says how many go
side by side; ``testbed`` is the hosts and links of a run, ``run`` its programs and the trace that
they leave, ``records`` what those files hold; ``hints`` tells what applications say,
``folders`` where a run writes, and ``headwayctl`` the program behind it all, which needs root.
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
