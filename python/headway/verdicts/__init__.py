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
    as_claims,
    changed,
    differences,
    measured_on,
    read,
    write,
)
from headway.verdicts.runs import judged

__all__ = [
    "SEEDS",
    "Difference",
    "Form",
    "Locked",
    "Outcome",
    "as_claims",
    "changed",
    "differences",
    "judged",
    "measured_on",
    "read",
    "write",
]
