"""``headway try --diverge``: find the first packet that differs between two backends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.cli.try_run import FinishedTrial
from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.units import parse_time

if TYPE_CHECKING:
    from headway.validation.diverge import Compared, CompareOptions


@dataclass(frozen=True)
class DivergeOptions:
    """Whether the first trial's packets are compared, and how."""

    how: CompareOptions | None
    """None if they are not compared."""

    @classmethod
    def from_options(
        cls, diverge: bool, time: str, after: str, ignore: str, beside: str | None, given: set[str]
    ) -> DivergeOptions:
        """Read the options; raises HeadwayError for options that do not go together."""
        if not diverge:
            for name in ("diverge_time", "diverge_after", "diverge_ignore"):
                if name in given:
                    option = f"--{name.replace('_', '-')}"
                    raise HeadwayError(f"{option}: needs --diverge")
            return cls(None)
        if beside is None:
            raise HeadwayError("--diverge: needs a second backend; add --beside kernel")
        from headway.validation.diverge import FIELDS, CompareOptions

        left_out = [name.strip() for name in ignore.split(",") if name.strip()]
        for name in left_out:
            if name not in FIELDS:
                raise HeadwayError(
                    f"--diverge-ignore: {name!r} is not allowed; choose from {', '.join(FIELDS)}"
                )
        fields = tuple(field for field in FIELDS if field not in left_out)
        return cls(CompareOptions(_time("time", time), fields, _time("after", after)))

    def capture(self, experiments: list[Experiment], *, whole: bool) -> None:
        """Capture the first trial's packets at both hosts; raises HeadwayError."""
        if self.how is not None:
            from headway.validation.diverge import captured

            experiments[0] = captured(experiments[0], whole=whole)

    def compare(
        self, one: FinishedTrial | None, other: FinishedTrial | None, names: tuple[str, str]
    ) -> Compared | None:
        """Compare a trial's two traces; None if not asked for or if a trace is missing."""
        if self.how is None or one is None or other is None:
            return None
        if one.trace is None or other.trace is None:
            return None
        from headway.validation.diverge import compare

        return compare(one.trace, other.trace, names, self.how)


def _time(option: str, text: str) -> int:
    try:
        return parse_time(text)
    except ValueError as error:
        raise HeadwayError(f"--diverge-{option}: {error}") from None
