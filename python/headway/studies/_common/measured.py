"""Studies that measure this machine's kernel through headwayctl instead of running experiments.

A measurement is a command of headwayctl that prints JSON. It is kept as ``trials/KEY.json`` as soon
as it is done, with the command, the versions and the kernel that made it.
"""

from __future__ import annotations

import abc
import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from headway.backends._headwayctl import Headwayctl
from headway.errors import HeadwayError, InterruptedRunError
from headway.experiment import Experiment
from headway.files import save_text
from headway.interrupts import held, interrupted
from headway.study import Study, StudyContext, StudyResult
from headway.trace import Trace, versions

Measured = Mapping[str, Any]
"""What headwayctl printed, by measurement."""
_TIMEOUT_S = 600.0


class MeasuredStudy(Study):
    """A study whose trials are commands of headwayctl; it needs the kernel backend."""

    only_backend: ClassVar[str | None] = "kernel"

    @abc.abstractmethod
    def commands(self, ctx: StudyContext) -> dict[str, Sequence[str]]:
        """Arguments of headwayctl by key (a file name)."""

    @abc.abstractmethod
    def judge(self, ctx: StudyContext, measured: Measured) -> StudyResult:
        """Tables, claims and figures; a pure function of what was measured."""

    def experiments(self, _ctx: StudyContext) -> dict[str, Experiment]:
        """None."""
        return {}

    def analyse(self, ctx: StudyContext, _traces: Mapping[str, Trace]) -> StudyResult:
        """The saved measurements, judged."""
        saved = {key: _load(_file(ctx, key)) for key in self.commands(ctx)}
        missing = [key for key, one in saved.items() if one is None]
        if missing:
            raise HeadwayError(
                f"{ctx.out_dir}: {len(missing)} of {len(saved)} measurements are missing (first: "
                f"{missing[0]}); run `headway run {self.name} --resume --out {ctx.out_dir}`"
            )
        return self.judge(ctx, {key: one["measured"] for key, one in saved.items() if one})

    def run(self, ctx: StudyContext) -> StudyResult:
        """Measure one after the other, then judge."""
        self.describe(ctx)
        commands = self.commands(ctx)
        done = [key for key in commands if ctx.resume and _is_current(ctx, key, commands[key])]
        ctx.progress(len(done), len(commands), "")

        def measure() -> None:
            headwayctl = Headwayctl()
            for key, command in commands.items():
                if key in done:
                    continue
                measured = headwayctl.json(*command, "--json", timeout_s=_TIMEOUT_S)
                with held():
                    save_text(_file(ctx, key), json.dumps(_record(command, measured), indent=1))
                    done.append(key)
                    ctx.progress(len(done), len(commands), key)

        if interrupted(measure):
            raise InterruptedRunError(len(done), len(commands), str(ctx.trials_dir))
        return self.analyse(ctx, {})


def _file(ctx: StudyContext, key: str) -> Path:
    return ctx.trials_dir / f"{key}.json"


def _record(command: Sequence[str], measured: object) -> dict[str, object]:
    return {
        "command": list(command),
        "versions": versions(),
        "kernel": platform.release(),
        "measured": measured,
    }


def _load(path: Path) -> dict[str, Any] | None:
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise HeadwayError(f"{path}: unreadable ({error})") from None
    return record


def _is_current(ctx: StudyContext, key: str, command: Sequence[str]) -> bool:
    try:
        saved = _load(_file(ctx, key))
    except HeadwayError:
        return False  # what is not whole is measured again
    return saved is not None and {**saved, "measured": None} == _record(command, None)
