"""Studies that measure this machine's kernel through headwayctl instead of running experiments.

A measurement is a headwayctl command that prints JSON. It is saved as ``trials/KEY.json`` as soon
as it is complete, with the command, the program versions and the machine that produced it.
"""

import abc
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from headway import machine
from headway.backends.kernel.headwayctl import Headwayctl
from headway.errors import HeadwayError, InterruptedRunError
from headway.experiment import Experiment
from headway.files import save_text
from headway.interrupts import delay_interrupts, interrupted
from headway.study import Found, Study, StudyContext
from headway.sweep import Observed
from headway.trace import Trace
from headway.versions import versions

Measurement = dict[str, Any]
"""The JSON that headwayctl printed."""
Commands = Mapping[str, Sequence[str]]
"""Arguments of headwayctl by key (a file name)."""
_TIMEOUT_S = 600.0


def measure(headwayctl: Headwayctl, command: Sequence[str]) -> Measurement:
    """Run a headwayctl command and return its JSON. Raises HeadwayError."""
    measured: Measurement = headwayctl.json(*command, "--json", timeout_s=_TIMEOUT_S)
    return measured


class MeasuredStudy(Study[Measurement, Found]):
    """A study whose trials are commands of headwayctl; it needs the kernel backend."""

    only_backend: ClassVar[str | None] = "kernel"

    @abc.abstractmethod
    def commands(self, ctx: StudyContext) -> Commands:
        """The commands that measure."""

    def experiments(self, _ctx: StudyContext) -> dict[str, Experiment]:
        """None."""
        return {}

    def observe(self, _key: str, _trace: Trace) -> Measurement:
        """There is no trace."""
        raise NotImplementedError

    def saved(self, ctx: StudyContext) -> Observed[Measurement]:
        """The measurements in ``ctx.out_dir``. Raises HeadwayError if some are missing."""
        records = {key: _load(_file(ctx, key)) for key in self.commands(ctx)}
        missing = [key for key, one in records.items() if one is None]
        if missing:
            raise HeadwayError(
                f"{ctx.out_dir}: {len(missing)} of {len(records)} measurements are missing (first: "
                f"{missing[0]}); run `headway run {self.name} --resume --out {ctx.out_dir}`"
            )
        seen: Observed[Measurement] = Observed()
        for key, one in records.items():
            if one:
                seen.add(key, one["measured"], _meta(one))
        return seen

    def collect(self, ctx: StudyContext) -> Observed[Measurement]:
        """Run the measurements one after the other."""
        commands = self.commands(ctx)
        headwayctl = Headwayctl()
        done = _finished_before(ctx, commands, headwayctl) if ctx.resume else []
        ctx.progress(len(done), len(commands), "")

        def measure_all() -> None:
            for key, command in commands.items():
                if key in done:
                    continue
                measured = measure(headwayctl, command)
                record = {**_made_by(command, headwayctl), "measured": measured}
                with delay_interrupts():
                    save_text(_file(ctx, key), json.dumps(record, indent=1))
                    done.append(key)
                    ctx.progress(len(done), len(commands), key)

        if interrupted(measure_all):
            raise InterruptedRunError(len(done), len(commands), str(ctx.trials_dir))
        return self.saved(ctx)


def _file(ctx: StudyContext, key: str) -> Path:
    return ctx.trials_dir / f"{key}.json"


_MADE_BY = {
    "command": "another command",
    "versions": "another build of Headway",
    "kernel": "another kernel",
    "processor": "another processor",
}
"""Parts of a record that identify its origin, and how a notice names one that differs."""


def _made_by(command: Sequence[str], headwayctl: Headwayctl) -> dict[str, Any]:
    return {
        "command": list(command),
        "versions": {**versions(), "headwayctl": headwayctl.digest},
        "kernel": machine.kernel(),
        "processor": machine.processor(),
    }


def _meta(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "backend": "kernel",
        "versions": record["versions"],
        "platform": f"{record['kernel']}, {record['processor']}",
    }


def _load(path: Path) -> dict[str, Any] | None:
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        missing = [part for part in (*_MADE_BY, "measured") if part not in record]
        if missing:
            raise ValueError(f"no {missing[0]!r} in it")
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise HeadwayError(f"{path}: unreadable ({error})") from None
    return record


def _finished_before(ctx: StudyContext, commands: Commands, headwayctl: Headwayctl) -> list[str]:
    """Keys of saved measurements with the same program, machine and command.

    Prints how many are kept, and how many are measured again and why.
    """
    done: list[str] = []
    others: Counter[str] = Counter()
    for key, command in commands.items():
        try:
            saved = _load(_file(ctx, key))
        except HeadwayError:
            others["an unreadable file"] += 1
            continue
        if saved is None:
            continue
        wanted = _made_by(command, headwayctl)
        differs = [word for part, word in _MADE_BY.items() if saved.get(part) != wanted[part]]
        if differs:
            others[" and ".join(differs)] += 1
        else:
            done.append(key)
    if done:
        ctx.notice(f"{len(done)} of {len(commands)} measurements in {ctx.trials_dir} are kept")
    if others:
        why = ", ".join(f"{count} of {reason}" for reason, count in others.items())
        ctx.notice(
            f"{others.total()} of {len(commands)} measurements in {ctx.trials_dir} are made again: "
            f"{why}"
        )
    return done
