"""Setup on the kernel: the paper's five files through a proxy, and CUBIC without one.

Figures 3 to 5 and 7 to 9. ``rap-over-satellite`` on the kernel has the schemes with routers from
end to end, and figure 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from headway.experiment import Experiment
from headway.studies.rappep.experiments import (
    LOSSES,
    SCHEMES,
    SIDE_LOSS,
    key,
    trial,
)
from headway.study import Agreement, StudyContext

OWN = "cubic26"
"""The scheme from end to end."""
PAPERS = ("tcp_pep", "xcp_pep", "mpcp_pep")
"""The paper's proxies; two of them also have its start."""
OF_KERNEL = (OWN, "tcp_pep", "xcp_plain", "mpcp_plain", "xcp_pep", "mpcp_pep", "vcp_pep")
RUNS = 3
SEND_BUFFER = "16 MB"
"""Linux's default begins below the 64 kB that a receiver's SYN-ACK announces, counted for copied
data. Linux counts the data that the proxy splices differently."""


class Case(NamedTuple):
    """A path of the paper, with its name in tables."""

    name: str
    loss: float
    delays: bool = False

    def key(self, scheme: str, run: int) -> str:
        """The key of a trial on this path."""
        return key(scheme, self.loss, run, delays=self.delays)


CLEAN = Case("no loss", LOSSES[0])
LOSSY = Case("1 % loss", LOSSES[1])
SIDES = Case("0.1 %, side links", SIDE_LOSS, delays=True)
CASES = (CLEAN, LOSSY, SIDES)

TIMES, USED = "Mean completion times in s", "Use of the link in %"
_MOST_S, _MOST_USED, _RELATIVE = 0.5, 2.0, 0.12
AGREEMENTS = (
    *(
        Agreement(
            f"kernel-{scheme}",
            f"{SCHEMES[scheme]}: mean completion times on the kernel match the simulator's.",
            table=TIMES,
            row=SCHEMES[scheme],
            most=_MOST_S,
            unit="s",
            relative=_RELATIVE,
        )
        for scheme in OF_KERNEL
    ),
    *(
        Agreement(
            f"kernel-used-{scheme}",
            f"{SCHEMES[scheme]}: use of the link on the kernel matches the simulator's.",
            table=USED,
            row=SCHEMES[scheme],
            most=_MOST_USED,
            unit="% of the link",
            relative=_RELATIVE,
        )
        for scheme in OF_KERNEL
    ),
)


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per path, scheme and run."""
    return {
        case.key(scheme, run): _on_kernel(
            trial(scheme, case.loss, run, seed=ctx.seed, delays=case.delays),
            _length_s(scheme, case),
        )
        for case in CASES
        for scheme, runs in _schemes(case, is_quick=ctx.quick)
        for run in range(1, runs + 1)
    }


def _schemes(case: Case, *, is_quick: bool) -> Iterator[tuple[str, int]]:
    """The schemes on a path, each with its number of runs.

    Runs take real time, one after the other on two cores. So CUBIC's trial at 1 % loss, of two
    minutes, and the trials with side links, of one minute, run once. The quick form leaves out the
    former, schemes at 1 % that are not the paper's, and MPCP PEP with side links, which has no
    figure.
    """
    for scheme in OF_KERNEL:
        if case is SIDES:
            if scheme in (PAPERS[:2] if is_quick else PAPERS):
                yield scheme, 1
        elif case is CLEAN or scheme in PAPERS:
            yield scheme, 1 if is_quick else RUNS
        elif not is_quick:
            yield scheme, 1 if scheme == OWN else RUNS


def _length_s(scheme: str, case: Case) -> int:
    """The longest that a run may take. A run ends when its files end."""
    if case is SIDES:
        return 75
    if scheme == OWN and case is LOSSY:
        return 150
    return 60 if scheme in (OWN, "tcp_pep", "vcp_pep") else 40


def _on_kernel(whole: Experiment, length_s: int) -> Experiment:
    """Run a trial between hosts of today, with buffers in the proxy for a whole file."""
    fields: dict[str, Any] = whole.model_dump(exclude_unset=True)
    fields["topology"] = {"kind": whole.topology.kind, **fields["topology"]}
    fields["flows"] = [{**flow, "send_buffer": SEND_BUFFER} for flow in fields["flows"]]
    fields |= {"stack": "linux-6", "duration": f"{length_s} s"}
    return Experiment.model_validate(fields)
