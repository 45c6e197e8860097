"""Connections of a tmix file, as the kernel backend opens them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headway import (
    Chain,
    Dumbbell,
    Exchanges,
    Experiment,
    Flow,
    Sessions,
)
from headway.backends.kernel import check
from headway.backends.kernel.traffic_files import (
    FIRST_PORT,
    start_after_handshake,
    with_exchange_files,
)
from headway.errors import HeadwayError
from headway.workloads import Pareto, Tmix, Workload, read_exchanges, shares, tmix

PATH = Dumbbell.model_validate({"rate": "10 Mbit/s", "rtt": "60 ms", "buffer": "2 BDP"})
SMALL = """\
SEQ 0 3 1 1
> 329
t 12000
< 4030
t 120000
> 403
< 25821
t 40000
> 2000
< 90000
SEQ 300000 1 1 2
> 400
t 30000
< 60000
SEQ 500000 2 1 3
< 12000
t 60000
> 900
< 1198
t 20000
"""


def drawn(path: Path, *, pairs: int = 2, **changes: object) -> list[Flow]:
    """Pairs that share a tmix file's connections, 1 MB of responses in all."""
    path.write_text(SMALL)
    _, digest = tmix.load(path)
    workload = Workload.model_validate(
        {
            "vectors": Tmix(path=str(path), sha256=digest),
            "load": 0.5,
            "rate": "2 Mbit/s",
            "until": "8 s",
            "seed": 2,
            **changes,
        }
    )
    return [
        Flow(app=Sessions(workload=workload, pair=pair, pairs=pairs), control="cubic", start="1 s")
        for pair in range(pairs)
    ]


def asked(flows: list[Flow], **fields: object) -> Experiment:
    return Experiment.model_validate(
        {"topology": PATH, "flows": flows, "duration": "11 s", **fields}
    )


def test_what_starts_before_its_flow_is_open_with_it_in_the_file_too(tmp_path: Path) -> None:
    flows = drawn(tmp_path / "some.tmix", pairs=1)
    late = [flows[0].model_copy(update={"start": 5_000_000_000})]
    [flow] = with_exchange_files(asked(late), tmp_path).flows
    assert isinstance(flow.app, Exchanges)
    starts_ns = shares(flows[0].app.workload, 1)[0].start_us * 1000
    expected = np.maximum(starts_ns - 5_000_000_000, 0)
    assert expected.min() == 0 < expected.max()
    assert read_exchanges(flow.app.file).start_ns.tolist() == expected.tolist()


def test_a_connections_first_exchange_begins_when_its_handshake_has_ended(tmp_path: Path) -> None:
    file = tmp_path / "played.csv"
    played = Flow(app=Exchanges(file=_written(file, "0,1,1\n0,1,1\n1,1,1\n")), control="reno")
    # exchange 1 follows exchange 0 on its connection; the second connection has no handshake here
    rows = np.array([[0, 10, 90], [1, 95, 99], [2, 20, 80]])
    told = start_after_handshake(rows, played, {FIRST_PORT: 50})
    assert told.tolist() == [[0, 50, 90], [1, 95, 99], [2, 20, 80]]
    told = start_after_handshake(rows, played, {FIRST_PORT: 5, FIRST_PORT + 1: 60})
    assert told.tolist() == [[0, 10, 90], [1, 95, 99], [2, 60, 80]]
    alone = Flow(app=Exchanges(file=_written(file, "0,1,1\n0,1,1\n")), control="reno")
    told = start_after_handshake(rows[:2], alone, {45_678: 50})
    assert told.tolist() == [[0, 50, 90], [1, 95, 99]]
    assert start_after_handshake(rows[:0], alone, {}).shape == (0, 3)


def _written(file: Path, lines: str) -> Path:
    file.write_text("connection,request_bytes,response_bytes\n" + lines)
    return file


def test_what_a_file_of_exchanges_cannot_say_is_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "some.tmix"
    for flows, fields, said in [
        (drawn(file, persistent=True), {}, "persistent: not possible; a file of exchanges has"),
        (
            drawn(file, vectors=Pareto(mean="1 kB", request="0 B"), rate="1 Gbit/s"),
            {},
            "at most 32768, one for each of the client's ports",
        ),
        ([flow.model_copy(update={"announces": True}) for flow in drawn(file)], {}, "announces: "),
        (drawn(file), {"topology": _two_hops()}, "sessions: not possible with a gateway"),
    ]:
        with pytest.raises(HeadwayError, match=f"^kernel backend: .*{said}") as error:
            check(asked(flows, **fields))
        assert "\n" not in str(error.value)
    file.write_text(SMALL + "SEQ 900000 1\n> 0\nt 5\n> 7\n< 7\n")
    _, digest = tmix.load(file)
    flows = drawn(file)
    file.write_text(SMALL + "SEQ 900000 1\n> 0\nt 5\n> 7\n< 7\n")
    vectors = Tmix(path=str(file), sha256=digest)
    workload = flows[0].app.workload.model_copy(update={"vectors": vectors})
    app = Sessions(workload=workload, pair=0, pairs=1)
    with pytest.raises(HeadwayError, match="without a request and a response is not allowed"):
        check(asked([Flow(app=app, control="cubic")]))


def _two_hops() -> Chain:
    hop = {"forward": {"rate": "5Mbit/s", "delay": "10 ms", "buffer": "20000 B"}}
    return Chain.model_validate({"hops": [hop] * 2})
