"""How long a megabyte takes over 100 Mbit/s and 200 ms with each startup, on either backend.

Claim: a startup that knows its rate takes little more than the least possible time, which is the
data at the link's rate plus the round trips that the startup needs. Slow start takes three times as
long. Setup: one client, one server, one download at a time, CUBIC of today's Linux after the
startup, and a Quick-Start router at the link. Run: every startup, three times. Check: the median
within 15 % of what is least possible.  Plot: nothing; a table.

This is no paper's figure. It asks the thesis' question (section 6.4.2) for a path of today.
"""

from headway.studies.first_megabyte import claims, experiments, page
from headway.study import Agreement, declared

STUDY = declared(
    __name__,
    claims, experiments, page,
    agreements=Agreement.per_row(
        {name: scheme.label for name, scheme in experiments.SCHEMES.items()},
        "{}: the download time on the kernel agrees with the simulator's.",
        table=page.TITLE, most=15.0, unit="ms", relative=0.08,
    ),
)  # fmt: skip
