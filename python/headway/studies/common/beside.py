"""Studies on the kernel that also run every trial in the simulator.

The simulated trial is called the twin. The twin's row has the key "simulated-KEY" among the
kernel's rows. Statements and figures can therefore use both rows, and tests can spoil either row.
"""

import fnmatch
from collections.abc import Callable, Mapping, Sequence

from headway.backends.sim import SimBackend
from headway.claims import MissingTrialError, Seen, Spoil, Statement
from headway.claims.spoil import Rows
from headway.study import Agreement, Found, Row, Study, StudyContext
from headway.sweep import Observed, observed
from headway.table import Table
from headway.validation.twins import judge, twin

SIMULATED = "simulated-"


class BesideSimulator(Study[Row, Found]):
    """Runs the trials on the kernel, then their simulated twins.

    The twins take seconds, and their traces are not saved.
    """

    def collect(self, ctx: StudyContext) -> Observed[Row]:
        """Run all trials and their twins."""
        return self._with_twins(ctx, super().collect(ctx))

    def saved(self, ctx: StudyContext) -> Observed[Row]:
        """Read the saved trials and run their twins again. Raises HeadwayError."""
        return self._with_twins(ctx, super().saved(ctx))

    def _with_twins(self, ctx: StudyContext, seen: Observed[Row]) -> Observed[Row]:
        twins = {key: twin(each) for key, each in self.trials(ctx).items()}
        found = observed(twins, self.observe, None, SimBackend(), ctx.threads)
        for key, row in found.rows.items():
            seen.add(f"{SIMULATED}{key}", row, seen.meta)
        return seen


def simulated(rows: Mapping[str, Row]) -> dict[str, Row]:
    """The rows of the simulated twins, by the keys of the kernel's trials."""
    return {key.removeprefix(SIMULATED): rows[key] for key in rows if key.startswith(SIMULATED)}


def agreed(
    study: str,
    agreement: Agreement,
    tables: Callable[[Found], tuple[Sequence[Table], Sequence[Table]]],
    spoil: Spoil,
    mend: Spoil,
) -> Statement[Found]:
    """An agreement as a statement, judged by the kernel's and the simulator's tables."""

    def look(found: Found) -> Seen:
        claim = judge(agreement, *tables(found))
        if claim.verdict == "not checked" and not claim.note:
            raise MissingTrialError(
                f"Neither the kernel's nor the simulator's trials have a number of {agreement.row}."
            )
        return Seen(
            claim.measured if claim.measured is not None else "nothing",
            claim.verdict == "holds",
            f"{agreement.most:g} {agreement.unit} or {100 * agreement.relative:g} %",
            agreement.unit,
            claim.note,
            margin=claim.margin,
        )

    return Statement(
        f"{study}-{agreement.id}",
        agreement.statement,
        "the simulator's",
        look,
        ours="Shown: the difference between kernel and simulator that is closest to the "
        "tolerance, or furthest beyond it.",
        spoil=spoil,
        mend=mend,
    )


def as_simulated(keys: str) -> Spoil:
    """Replace the kernel's rows whose keys match by those of their simulated twins."""

    def mend(rows: Rows) -> Rows:
        twins = simulated(rows)
        hit = {key: twins[key] for key in fnmatch.filter(twins, keys)}
        if not hit:
            raise LookupError(f"no twin matches {keys!r}")
        return {**rows, **hit}

    return mend
