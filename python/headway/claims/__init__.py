"""Published statements: how they are judged, on what basis, and what would refute them.

A ``Statement`` has a paper's text and the function that judges it. ``judge`` applies it to the
evidence of a run, and returns a ``Claim``, plain data with a verdict. A ``Spoil`` changes evidence
so that the verdict must change, to test the judging function. ``Claims`` makes a study's statements
from the texts in its ``study.toml`` and from decorated judging functions. ``headway.verdicts``
stores the verdicts of a version.
"""

from headway.claims.claim import (
    BASES,
    MEASURED,
    PAPERS,
    VERDICTS,
    Basis,
    Claim,
    Headline,
    Tally,
    Verdict,
    headline,
    read_claims,
    tally,
    told,
    unique,
    write_claims,
)
from headway.claims.declared import Claims
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
    "MEASURED",
    "PAPERS",
    "VERDICTS",
    "Basis",
    "Change",
    "Claim",
    "Claims",
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
    "near",
    "read_claims",
    "replaced",
    "scaled",
    "swapped",
    "tally",
    "told",
    "unique",
    "write_claims",
]
