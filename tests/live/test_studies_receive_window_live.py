"""Measures receive windows of the kernel.

A late run is repeated.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import made_up
from real_time import in_real_time
from support import headway, on_kernel
from test_studies_receive_window import judged

from headway.studies.receive_window import STUDY


@on_kernel
@in_real_time
def test_the_kernel_measures_what_is_judged(tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    done = headway("run", "receive-window", "--quick", "--out", str(folder))
    assert done.returncode == 0, done.stderr
    claims = judged(folder, STUDY.saved(made_up.context(folder)).rows)
    assert all(claim.measured is not None for claim in claims.values())
    # the other claims are about differences that a busy machine may hide
    assert claims["C-TH-037"].verdict == "holds"
