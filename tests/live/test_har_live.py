"""Compares the processor time of reading many pages with that of reading one.

The two times per page may differ by a factor of three. Quadratic work would take hundreds of times
as long.
"""

from __future__ import annotations

import json
import time

from test_har import entry

from headway.workloads.har import read_har


def test_many_pages_take_no_longer_than_one_of_as_many_objects(tmp_path):
    def taken_s(pages: int) -> float:
        many = [entry(f"a.example/{n}", n / 10, 30, pageref=f"{n % pages}") for n in range(20_000)]
        file = tmp_path / f"{pages}.har"
        file.write_text(json.dumps({"log": {"entries": many}}))
        began_s = time.process_time()
        assert len(read_har(file).table) == pages
        return time.process_time() - began_s

    assert taken_s(10_000) < 3 * taken_s(1)
