"""Why a statement does not hold, and the experiments that show it.

``refuted``: the statement is not generally true. It holds in a counterfactual that changes one
thing, or it fails with all of several plausible changes (``nothing_helps``). ``unknown setting``: a
setting that the paper does not print decides the verdict; a counterfactual shows a value for which
the statement holds. ``open``: the reason is unknown, which is a defect of Headway. A failing
statement without a counterfactual is open.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from headway.experiment import Experiment

Kind = Literal["refuted", "unknown setting", "open"]
Edit = Callable[["Experiment"], "Experiment"]


@dataclass(frozen=True)
class Change:
    """What a counterfactual changes, in the trials whose key matches ``keys`` (shell wildcards).

    ``says`` completes "holds with ...", for example "a queue of 15 packets". ``edit`` changes the
    trials' experiments. ``observe``, called with the key and the trace, replaces the study's
    function of that name, to change a metric. In a study whose trials are commands of headwayctl,
    ``options`` are set in the commands.
    """

    says: str
    edit: Edit | None = None
    keys: str | Sequence[str] = "*"
    observe: Callable[[str, Any], Any] | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def patterns(self) -> Sequence[str]:
        """The wildcard patterns for the keys of the trials that change."""
        return (self.keys,) if isinstance(self.keys, str) else self.keys

    def matches(self, key: str) -> bool:
        """Whether the change applies to a trial."""
        return any(fnmatch.fnmatchcase(key, pattern) for pattern in self.patterns)


@dataclass(frozen=True)
class Why:
    """Why a statement does not hold: the kind of the failure, and its reason.

    ``reason`` explains the mechanism in one or two sentences. If one of the ``tries`` makes the
    statement hold, it is the first. ``shown_by`` is the id of another statement of the same study,
    which judges the same sentence with one thing changed; it counts as a counterfactual.
    """

    kind: Kind
    reason: str
    tries: Sequence[Change] = ()
    nothing_helps: bool = False
    shown_by: str = ""

    @property
    def changes(self) -> Sequence[Change]:
        """All counterfactuals; the last one represents ``shown_by``."""
        if not self.shown_by:
            return self.tries
        return (*self.tries, Change(f"the comparison that claim {self.shown_by} makes"))


def edited(fields: Mapping[str, Any]) -> Edit:
    """An edit that sets values at paths of an experiment; "*" means every entry of a list.

    Example: ``edited({"topology.buffer": "15 pkts", "flows.*.delayed_ack": True})``. If the new
    value is a function, its result for the old value is set. The edit raises LookupError for a path
    that does not exist.
    """
    return _Edited(tuple(fields.items()))


@dataclass(frozen=True)
class _Edited:
    """An edit that sets values at paths.

    Equal edits compare as equal, so that statements can share trial runs.
    """

    fields: tuple[tuple[str, Any], ...]

    def __hash__(self) -> int:
        return hash(repr(self.fields))

    def __call__(self, experiment: Experiment) -> Experiment:
        # Flows that stay as they are need not be parsed again: there may be thousands.
        edits_flows = any(path.partition(".")[0] == "flows" for path, _ in self.fields)
        kept = {} if edits_flows else {"flows": experiment.flows}
        data = experiment.model_dump(mode="json", exclude=set(kept)) | kept
        for path, value in self.fields:
            if not _put(data, path.split("."), value):
                raise LookupError(f"{path}: no such field")
        return type(experiment).model_validate(data)


def _put(data: Any, path: Sequence[str], value: Any) -> bool:
    name, rest = path[0], path[1:]
    if isinstance(data, list):
        chosen: Sequence[Any] = range(len(data)) if name == "*" else [int(name)]
    else:
        chosen = [name] if isinstance(data, dict) and (name in data or not rest) else []
    hit = False
    for key in chosen:
        if rest:
            hit |= _put(data[key], rest, value)
        else:
            old = data.get(key) if isinstance(data, dict) else data[key]
            data[key] = value(old) if callable(value) else value
            hit = True
    return hit
