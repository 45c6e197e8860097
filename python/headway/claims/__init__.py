"""Published statements: how they are judged, what carries the verdict, what would refute them.

A ``Statement`` is what a paper says and how it is looked at; ``judge`` turns it and the
evidence of a run into a ``Claim``, plain data with a verdict. A ``Spoil`` changes evidence
so that a verdict must change, and ``headway.verdicts`` keeps the verdicts that a version has.
"""

from headway.claims.claim import (
    BASES,
    PAPERS,
    VERDICTS,
    Basis,
    Claim,
    Headline,
    Tally,
    Verdict,
    headline,
    kinds_told,
    read_claims,
    tally,
    told,
    write_claims,
)
from headway.claims.spoil import Spoil, all_of, replaced, scaled, swapped
from headway.claims.statement import (
    Evidence,
    MissingTrialError,
    Seen,
    Statement,
    between,
    joined,
    judge,
    near,
)
from headway.claims.why import Change, Why, edited

__all__ = [
    "BASES",
    "PAPERS",
    "VERDICTS",
    "Basis",
    "Change",
    "Claim",
    "Evidence",
    "Headline",
    "MissingTrialError",
    "Seen",
    "Spoil",
    "Statement",
    "Tally",
    "Verdict",
    "Why",
    "all_of",
    "between",
    "edited",
    "headline",
    "joined",
    "judge",
    "kinds_told",
    "near",
    "read_claims",
    "replaced",
    "scaled",
    "swapped",
    "tally",
    "told",
    "write_claims",
]
