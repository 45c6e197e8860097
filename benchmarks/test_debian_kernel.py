"""The guest's files, and the parser of its console, without starting a guest."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import debian_kernel
import numpy as np
import pytest
from debian_kernel import BenchError


def test_modules_are_in_an_order_in_which_they_can_be_loaded(tmp_path: Path):
    needs = {"tcp-vegas": "", "veth": "", "sch_netem": "crc-x", "crc-x": "veth"}
    for name, others in needs.items():
        text = f"\0license=GPL\0depends={others}\0name={name}\0"
        (tmp_path / f"{name}.ko").write_bytes(text.encode())
    order = debian_kernel.in_order(tmp_path, ("sch_netem", "veth", "tcp_vegas"))
    assert [path.stem for path in order] == ["veth", "crc-x", "sch_netem", "tcp-vegas"]
    with pytest.raises(BenchError, match="no module tcp_fast"):
        debian_kernel.in_order(tmp_path, ("tcp_fast",))


def test_the_archive_has_every_folder_before_its_files_and_pads_to_four_bytes():
    made = debian_kernel.archive({"a/b/c": (b"12345", 0o100755)})
    assert len(made) % 4 == 0
    assert made.count(b"070701") == 4
    places = [made.index(name) for name in (b"a\0", b"a/b\0", b"a/b/c\0", b"TRAILER!!!\0")]
    assert places == sorted(places)
    assert b"12345\0\0\0" in made


def test_a_fall_that_lasts_is_one_reduction():
    cwnd = np.array([100, 101, 90, 80, 81, 82, 70, 71.0])
    assert debian_kernel.reductions(cwnd) == 2


def report(start: int, cwnd_pkts: int) -> dict[str, object]:
    stream = {"start": start, "seconds": 1.0, "bytes": 1_000_000, "rtt": 50_000}
    return {"streams": [{**stream, "snd_cwnd": cwnd_pkts * debian_kernel.MSS_BYTES}]}


def said(control: str, text: str) -> str:
    coded = base64.b64encode(gzip.compress(text.encode())).decode()
    return f"SEGMENTS {control} 10 10 1010 510\nBEGIN {control}\n{coded}\nEND {control}\nDONE\n"


def test_iperf3s_results_count_from_the_warm_up_on():
    warm = debian_kernel.WARMUP_S
    text = json.dumps({"intervals": [report(0, 900), report(warm, 100), report(warm + 1, 120)]})
    console = said("reno", text)
    [one] = debian_kernel.reports(console).values()
    assert (one.cwnd_pkts, one.goodput_mbps, one.srtt_ms) == (110, 8, 50)
    assert debian_kernel.acks_per_packet(console) == {"reno": 0.5}


def test_an_error_of_iperf3_is_told():
    with pytest.raises(BenchError, match=r"bic: iperf3 said: .*'no such control'"):
        debian_kernel.reports(said("bic", "usage\nno such control"))
