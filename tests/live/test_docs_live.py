"""Runs those commands of the documentation that use the running kernel.

Needs root, headwayctl and iperf3. Asserts no duration: each command may take minutes.
"""

import shutil
from pathlib import Path

import followed
import pytest
from support import ROOT, on_kernel
from test_docs import of_kind


@on_kernel
@pytest.mark.skipif(followed.shutil.which("iperf3") is None, reason="iperf3 is not installed")
@pytest.mark.parametrize("page", of_kind("live"))
def test_the_live_part_of_a_page_can_be_followed(page: Path, tmp_path: Path) -> None:
    for named in ("include", "examples"):  # commands of the pages use these folders
        (tmp_path / named).symlink_to(ROOT / named)
    _, _, failed = followed.follow(page, {"live"}, folder=tmp_path)
    assert failed is None


@pytest.mark.parametrize("page", of_kind("others"))
def test_a_page_with_programs_of_others_can_be_followed(page: Path, tmp_path: Path) -> None:
    """Test that tshark and tcptrace read the captures that earlier commands of the page wrote.

    Asserts no duration.
    """
    steps = [step for step in followed.steps(page) if step.kind == "others" and step.mark != "not"]
    missing = {step.text.split()[0] for step in steps if not shutil.which(step.text.split()[0])}
    if missing:
        pytest.skip(f"not installed: {', '.join(sorted(missing))}")
    _, _, failed = followed.follow(page, {"quick", "others"}, folder=tmp_path)
    assert failed is None
