"""Run: trials whose flows saw fewer than twenty congestion epochs are run again, longer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.files import save_text
from headway.studies.collateral_damage.experiments import EPOCHS, MARGIN, planned
from headway.studies.collateral_damage.observe import Trial
from headway.study import StudyContext
from headway.sweep import Observed
from headway.trace import Trace

FILE = "lengthened.json"
"""In the study's folder: by how much trials were lengthened, by key and in order."""
ROUNDS, MOST = 4, 4.0
"""A short trial is run again so often, and becomes at most so many times as long each time."""

Observe = Callable[[str, Trace], Trial]


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """The trials by key, as long as they turned out to need in this folder."""
    plan = planned(ctx)
    for key, factors in _factors(ctx.out_dir).items():
        for factor in factors:
            if key in plan:
                plan[key] = lengthened(plan[key], factor)
    return plan


def collect(ctx: StudyContext, observe: Observe) -> Observed[Trial]:
    """Run all trials; in the full form, short ones again."""
    if not ctx.resume:
        (ctx.out_dir / FILE).unlink(missing_ok=True)
    trials = experiments(ctx)
    if ctx.quick:
        return ctx.run_trials(trials, observe)
    return run_until_enough(ctx, trials, observe)


def run_until_enough(
    ctx: StudyContext, trials: Mapping[str, Experiment], observe: Observe
) -> Observed[Trial]:
    """Run trials, then those again, longer, whose flows saw fewer than twenty epochs on average.

    Notes how much longer they became.
    """
    factors = _factors(ctx.out_dir)
    plan = dict(trials)
    seen = ctx.run_trials(plan, observe)
    for _ in range(ROUNDS):
        short = {}
        for key, row in seen.rows.items():
            epochs = row.numbers.epochs
            if epochs < EPOCHS:
                factor = min(MARGIN * EPOCHS / max(epochs, 1.0), MOST)
                short[key] = plan[key] = lengthened(plan[key], factor)
                factors[key] = [*factors.get(key, []), factor]
        if not short:
            break
        seen.rows |= ctx.run_trials(short, observe).rows
        save_text(ctx.out_dir / FILE, json.dumps(factors, indent=1))
    return seen


def lengthened(experiment: Experiment, factor: float) -> Experiment:
    """The same trial with every flow living ``factor`` times as long."""
    tcp = [flow for flow in experiment.flows if flow.is_tcp]
    lives_ns = [(flow.stop or 0) - (flow.start or 0) for flow in tcp]
    extra_ns = int(max(lives_ns) * (factor - 1))
    flows = tuple(
        flow.model_copy(update={"stop": (flow.stop or 0) + extra_ns}) for flow in experiment.flows
    )
    return experiment.model_copy(
        update={"flows": flows, "duration": experiment.duration + extra_ns}
    )


def _factors(out_dir: Path) -> dict[str, list[float]]:
    file = out_dir / FILE
    if not file.exists():
        return {}
    try:
        saved = json.loads(file.read_text(encoding="utf-8"))
        return {str(key): [float(factor) for factor in value] for key, value in saved.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise HeadwayError(f"{file}: unreadable ({error})") from None
