"""The verdicts that this version has on every claim, kept in a file beside each study.

``headway verdicts`` runs the studies again and says what changed; with ``--write`` it rewrites the
files, and the pages that are made from them. Nothing on those pages is typed.
"""

from headway.verdicts.locked import (
    SEEDS,
    Difference,
    Form,
    Locked,
    Outcome,
    Try,
    as_claims,
    changed,
    differences,
    differing_tries,
    measured_on,
    read,
    write,
)
from headway.verdicts.runs import Judged, judged

__all__ = [
    "SEEDS",
    "Difference",
    "Form",
    "Judged",
    "Locked",
    "Outcome",
    "Try",
    "as_claims",
    "changed",
    "differences",
    "differing_tries",
    "judged",
    "measured_on",
    "read",
    "write",
]
