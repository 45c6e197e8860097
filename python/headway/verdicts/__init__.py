"""The locked verdicts of this version on every claim, kept in a file in each study's folder.

``headway verdicts`` runs the studies again and lists changes. With ``--write`` it rewrites the
files, and the pages that are generated from them.
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
