"""What a sweep's file means: values, combinations, conditions, and what is refused."""

from pathlib import Path

import pytest

from headway.cli.app import execute
from headway.errors import ExperimentError, HeadwayError
from headway.experiment import Experiment
from headway.sweep import Sweep
from headway.sweep.conditions import Condition
from headway.sweep.fields import Base
from headway.sweep.run import rows_of_text
from headway.sweep.values import Distribution, Quantity, Range, quantity, sampled

KNOWN = {"rtt": "10 ms", "rate": "8 Mbit/s", "flows": "2xcubic", "buffer": "1 BDP",
         "topology.reverse.rate": "1 Mbit/s", "flows[0].delay": "3 ms"}  # fmt: skip


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ({"range": ["1Mbit/s", "100Mbit/s"], "count": 3, "scale": "log"},
         ["1Mbit/s", "10 Mbit/s", "100Mbit/s"]),
        ({"range": ["10ms", "50 ms"], "step": "20 ms"}, ["10ms", "30 ms", "50 ms"]),
        ({"range": ["1 BDP", "2BDP"], "count": 3}, ["1 BDP", "1.5 BDP", "2BDP"]),
        ({"range": [0, 10], "step": 4}, [0, 4, 8]),
        ({"range": [0, 1.0], "count": 3}, [0, 0.5, 1.0]),
        ({"range": ["1 s", "3 s"], "count": 4}, ["1 s", "1.667 s", "2.333 s", "3 s"]),
    ],
)  # fmt: skip
def test_a_range_keeps_the_unit_of_its_ends(written, values) -> None:
    assert Range.model_validate(written).values() == values


def test_a_quantity_is_in_base_units() -> None:
    assert quantity("8 Mbit/s") == Quantity(8e6, "bit/s")
    assert quantity("1500 us") == Quantity(0.0015, "s")
    assert quantity("5%") == Quantity(0.05, "")
    assert quantity("40 pkts") == Quantity(40, "pkts")
    assert quantity("2xcubic") is None
    assert quantity(True) is None


@pytest.mark.parametrize("method", ["sobol", "latin-hypercube"])
def test_a_sample_is_seeded_and_has_one_point_per_stratum(method: str) -> None:
    fields = {
        "rate": Distribution(loguniform=("1Mbit/s", "100Mbit/s")),
        "loss": Distribution(uniform=(0.0, 0.16)),
    }
    points = sampled(fields, 16, method, 1)
    assert points == sampled(fields, 16, method, 1)
    assert points != sampled(fields, 16, method, 2)
    strata = sorted(int(loss / 0.01) for _, loss in points)
    assert strata == list(range(16))
    assert all(1e6 <= quantity(rate).amount <= 1e8 for rate, _ in points)


def test_a_truncated_normal_distribution_has_its_quantiles() -> None:
    plain = Distribution(normal=("50 ms", "10 ms"))
    assert plain.values([0.5, 0.975]) == ["50 ms", "69.6 ms"]
    cut = Distribution(normal=("50 ms", "10 ms"), least="50 ms")
    assert cut.values([0.0, 0.5]) == ["50 ms", "56.74 ms"]  # the 75 % quantile
    assert Distribution(lognormal=("50 ms", 0.5)).values([0.5]) == ["50 ms"]


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("rtt <= '10 ms' and not 'bbr' in flows", True),
        ("rate * rtt / 8 > 1e4", False),  # exactly 10,000 bytes
        ("rate * rtt / 8 >= 1e4", True),
        ("buffer == '1BDP' or buffer in ['10 pkts']", True),
        ("topology.reverse.rate < rate < '1 Gbit/s'", True),
        ("min(flows[0].delay, rtt) == 0.003", True),
        ("max(1, -2) % 2", True),
    ],
)
def test_a_condition_compares_quantities(text: str, holds: bool) -> None:
    assert Condition(text, KNOWN).holds(KNOWN) is holds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("__import__('os').system('true')", "is not allowed"),
        ("rtt.__class__", "unknown field 'rtt.__class__'"),
        ("(lambda: 1)()", "is not allowed"),
        ("[x for x in rtt]", "is not allowed"),
        ("2 ** 99999999", "is not allowed"),
        ("'a' * 99999999 == rtt", "'a' is not a number"),
        ("rat > 1", "unknown field 'rat'; nearest: rate, rtt"),
        ("rtt >", "is not an expression"),
        ("rtt in rate", "cannot be evaluated"),
        ("buffer < '10 pkts'", "cannot be compared"),
        ("1 / (rtt - rtt) > 1", "cannot be evaluated"),
        ("not " * 60 + "rtt", "has more than 50 levels"),
        ("-" * 1999 + "1", "levels"),
        ("0 < " + "1 < " * 600 + "2", "longer than 2000"),
    ],
)
def test_a_condition_runs_no_code_and_fails_in_one_line(text: str, said: str) -> None:
    with pytest.raises(ExperimentError, match=r"^where: ") as error:
        Condition(text, KNOWN).holds(KNOWN)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_blocks_cross_and_the_fields_of_a_block_vary_together(tmp_path: Path) -> None:
    table = tmp_path / "paths.csv"
    table.write_text("rate, rtt\n1Mbit/s, 10ms\n2Mbit/s, 20ms\n")
    sweep = Sweep(
        tables=[str(table)],
        zip=[{"flows": ["1xreno", "1xcubic"], "aqm": ["drop-tail", "codel"]}],
        cross={"loss": [0, "1%"]},
        where=["loss == 0 or rtt > '10 ms'"],
        replications=3,
    )
    assert sweep.fields == ("rate", "rtt", "flows", "aqm", "loss")
    assert len(sweep.cells) == 2 * 2 * 2 - 2
    assert sweep.rows == 18
    assert sweep.settings(5) == {
        "rate": "2Mbit/s", "rtt": "20ms", "flows": "1xcubic", "aqm": "codel", "loss": "1%"
    }  # fmt: skip
    assert [unit.replication for unit in sweep.units([3, 4, 5])] == [0, 1, 2]


def test_shards_are_disjoint_and_have_all_rows() -> None:
    sweep = Sweep(cross={"rtt": ["10 ms", "20 ms"]}, replications=5)
    shards = [list(rows_of_text(sweep, None, f"{i}/3")) for i in (1, 2, 3)]
    assert sorted(row for shard in shards for row in shard) == list(range(10))
    assert list(rows_of_text(sweep, "4:6", None)) == [4, 5]
    assert list(rows_of_text(sweep, "8:", "2/2")) == [9]
    for rows, shard in (("6:4", None), ("0:11", None), ("x", None), (None, "0/3"), (None, "4/3")):
        with pytest.raises(HeadwayError, match="is not allowed"):
            rows_of_text(sweep, rows, shard)


def test_a_field_is_named_by_option_or_by_its_place(tmp_path: Path) -> None:
    options = Base(fixed={"rate": "10Mbit/s", "burst-loss": "to_bad=1%:to_good=25%"})
    made = options.experiment({"rtt": "9 ms", "flows[*].delay": "3 ms", "seed": 7})
    assert made.topology.rate == 10_000_000
    assert made.topology.rtt == 9_000_000
    assert [flow.delay for flow in made.flows] == [3_000_000]
    assert made.topology.burst_loss is not None
    assert made.seed == 7

    whole = Base(document=made.model_dump(mode="json"))
    other = whole.experiment({"topology.rate": "1Mbit/s", "buffer": "40 pkts", "flows": "2xreno",
                              "sysctls.tcp_sack": 0})  # fmt: skip
    assert other.topology.rate == 1_000_000
    assert str(other.topology.buffer) == "40 pkts"
    assert other.flow_names() == ["reno-0", "reno-1"]
    assert other.sysctls == {"tcp_sack": "0"}
    assert other.seed == 7


def test_a_row_is_the_experiment_that_its_command_tries() -> None:
    sweep = Sweep(experiment={"duration": "2 s", "sysctl": ["tcp_sack=0"], "voip": True},
                  cross={"loss": [0.01], "router": ["xcp"], "flows": ["1xreno"]})  # fmt: skip
    words = sweep.base.as_command(sweep.settings(0), 3)
    assert words == ["--duration", "2 s", "--sysctl", "tcp_sack=0", "--voip", "--loss", "0.01",
                     "--router", "xcp", "--flows", "1xreno", "--seed", "3"]  # fmt: skip
    assert Base(document={}).as_command({}, 1) is None


BAD = {
    "an axis that names no field": ('[cross]\n"topology.rat" = ["1Mbit/s"]',
        "topology.rat: no such field; nearest: rate, rtt"),
    "an option that does not exist": ('[cross]\nburst-los = ["1%"]', "nearest: burst_loss"),
    "an element that does not exist": ('[cross]\n"flows[1].delay" = ["1 ms"]',
        "flows[1].delay: no such field; flows has 1 elements"),
    "a value without a unit": ('[cross]\nrtt = [10]', "rtt: '10' has no unit"),
    "an empty product": ("[cross]\nrtt = []", "rtt: has no value, so the sweep has no run"),
    "conditions that drop everything": ('where = ["loss > 1"]\n[cross]\nloss = [0]',
        "where: no combination is left"),
    "a billion runs": ("replications = 1_000_000_000", "1,000,000,000 runs are too many"),
    "a billion combinations": ("[cross]\n" + "\n".join(
        f'"{name}" = {{ range = [0.0, 0.5], count = 1000 }}' for name in ("loss", "a", "b")),
        "1,000,000,000 combinations are too many"),
    "a metric of a flow that does not exist": ('metrics = ["cubic-7.srtt_us"]',
        "metrics: cubic-7.srtt_us: unknown flow, class or link 'cubic-7'; nearest: cubic"),
    "a metric that does not exist": ('metrics = ["goodput"]', "unknown metric 'goodput'"),
    "a flow's metric of a link": ('metrics = ["reverse0.srtt_us"]', "reverse0 has only"),
    "a function that does not exist": ('functions = ["math:nothing"]', "math:nothing: cannot be"),
    "two values that do not match": ('[[zip]]\nrtt = ["1 ms"]\nloss = [0, 0.1]',
        "rtt has 1, loss has 2"),
    "a field that varies twice": ('[cross]\nrtt = ["1 ms"]\n[[zip]]\nrtt = ["1 ms"]',
        "varies twice"),
    "a range of two kinds": ('[cross.rtt]\nrange = ["1 ms", "1 Mbit/s"]\ncount = 2',
        "rtt: range: '1 ms' and '1 Mbit/s' have different kinds"),
    "a distribution of nothing": ("[cross.rtt]\ncount = 2", "give exactly one of uniform"),
    "no number of replications": ("replications = 0", "replications: 0 is not allowed"),
    "a key that does not exist": ("axes = 1", "axes: no such field"),
    "a table that does not exist": ('tables = ["none.csv"]', "none.csv: cannot read"),
    "an unknown backend": ('backend = "ns-3"', "backend: unknown 'ns-3'; allowed: sim, kernel"),
    "no TOML": ("replications = ", "not TOML"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_line_and_nothing_is_made(what: str, tmp_path: Path, capfd) -> None:
    text, said = BAD[what]
    file = tmp_path / "bad.toml"
    file.write_text(text + "\n", encoding="utf-8")
    for action in ("plan", "run"):
        assert execute(["sweep", action, str(file), "--out", str(tmp_path / "out")]) == 2
        printed = capfd.readouterr()
        assert printed.out == ""
        assert printed.err.count("\n") == 1
        assert said in printed.err
    assert list(tmp_path.iterdir()) == [file]


def test_a_value_that_only_some_combinations_allow_is_not_refused() -> None:
    sweep = Sweep(experiment={"flows": "1xreno"},
                  cross={"warmup": ["5 s", "1 s"], "duration": ["2 s", "9 s"]})  # fmt: skip
    sweep.check()
    with pytest.raises(ExperimentError, match="warmup"):
        sweep.base.experiment(sweep.settings(0))


def test_an_experiment_of_a_program_can_be_swept() -> None:
    made = Base().experiment({"duration": "2 s"})
    sweep = Sweep(experiment=made, cross={"topology.rtt": ["10 ms"]})
    assert isinstance(made, Experiment)
    assert sweep.base.experiment(sweep.settings(0)).topology.rtt == 10_000_000


def test_a_plan_has_a_line_per_row(tmp_path: Path, capfd) -> None:
    file = tmp_path / "grid.toml"
    file.write_text('replications = 6\n[experiment]\nduration = "1 s"\n[cross]\n'
                    'rtt = ["10 ms", "20 ms"]\n', encoding="utf-8")  # fmt: skip
    rows = tmp_path / "rows.jsonl"
    assert execute(["sweep", "plan", str(file), "--rows", str(rows)]) == 0
    lines = rows.read_text().splitlines()
    assert len(lines) == 12
    assert lines[7] == '{"row": 7, "seed": 2, "settings": {"rtt": "20 ms"}}'
    out = capfd.readouterr().out
    assert "grid: 2 combinations, 12 runs" in out
    assert "and 2 more rows" in out
