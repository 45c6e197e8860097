"""Check: startups that know the path's rate from the first packet on. No paper states this."""

from functools import partial

from headway.claims import Claims, Seen, between, swapped
from headway.studies.first_megabyte.experiments import SCHEMES, Found, median_ms

CLAIMS: Claims[Found] = Claims(__name__)


def _near_least(found: Found, name: str) -> Seen:
    """Bounds on a download's time: at most 15 % above the least possible time.

    A time of up to 1 % below it is an error of measurement.
    """
    least_ms = 1e3 * SCHEMES[name].least_s
    return between(median_ms(found[name]), 0.99 * least_ms, 1.15 * least_ms, unit="ms")


# Evidence that refutes a claim: a startup without a paced first flight, or one that needs a round
# trip for its request.
for name, worse in {"mega-start": "jump-start-original", "quick-start": "quick-start-late"}.items():
    CLAIMS.add(
        f"first-megabyte-{name}", partial(_near_least, name=name), spoil=swapped(name, worse)
    )
