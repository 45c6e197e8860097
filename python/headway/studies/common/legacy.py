"""Studies that still look at whole traces; goes when the last one observes instead."""

from __future__ import annotations

import abc
from collections.abc import Mapping

from headway.publish import Page
from headway.study import Study, StudyContext, StudyResult
from headway.sweep import Observed
from headway.trace import Trace


class TraceStudy(Study[Trace, Mapping[str, Trace]]):
    """A study whose rows are its traces."""

    @abc.abstractmethod
    def analyse(self, ctx: StudyContext, traces: Mapping[str, Trace]) -> StudyResult:
        """Metrics, tables, claims and figures of the trials."""

    def observe(self, _key: str, trace: Trace) -> Trace:
        """All of it."""
        return trace

    def page(self, _ctx: StudyContext, _found: Mapping[str, Trace]) -> Page:
        """Not asked for."""
        raise NotImplementedError

    def conclude(self, ctx: StudyContext, seen: Observed[Trace]) -> StudyResult:
        """As :meth:`analyse` does."""
        return self.analyse(ctx, seen.rows)
