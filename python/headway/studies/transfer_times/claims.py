"""Check: C-TH-001, 014 to 018, 042, 117 to 143, 264, 266, 276, 289."""

from __future__ import annotations

from headway.claims import Statement
from headway.studies.transfer_times import (
    claims_first_flight,
    claims_gains,
    claims_network,
    claims_transfers,
)
from headway.studies.transfer_times.results import Results

STATEMENTS: tuple[Statement[Results], ...] = (
    *claims_first_flight.STATEMENTS,
    *claims_transfers.STATEMENTS,
    *claims_network.STATEMENTS,
    *claims_gains.STATEMENTS,
)
