"""Tables: in all outputs, a column's cells have equal decimals, and numbers are right-aligned."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from headway.cli.show import print_table
from headway.table import (
    ABSENT,
    Cell,
    Table,
    aligned,
    is_numeric,
    markdown,
    parts,
    texts,
    value_text,
)


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        ([15.24, 15.09, 7.913], ["15.24", "15.09", "7.91"]),
        ([32, 34, 39.6, None], ["32.0", "34.0", "39.6", ABSENT]),
        ([0.5, 0.25, 0.0], ["0.50", "0.25", "0.00"]),
        ([1.0, 2.0], ["1", "2"]),
        ([12345.678, 3.25], ["12,345.7", "3.2"]),
        ([100.0, 0.0123], ["100.000", "0.012"]),
        ([-4.25, 18.5], ["-4.25", "18.50"]),
        ([1e-9, 1e9], ["1e-09", "1e+09"]),
        ([1, 60000], ["1", "60000"]),
        ([math.nan, 1.5], ["nan", "1.5"]),
        (["50 ms", "x"], ["50 ms", "x"]),
        ([], []),
    ],
)
def test_numbers_of_a_column_have_equal_decimals(cells: list[Cell], shown: list[str]) -> None:
    assert aligned(cells) == shown


def test_a_table_says_whether_a_unit_goes_down_or_along() -> None:
    rows: list[list[Cell]] = [["bytes", 53704.4, 5124.0], ["ms", 450.41, 41.0]]
    assert texts(Table("", ["", "a", "b"], rows)) == [
        ["bytes", "53,704", "5124"],
        ["ms", "450", "41"],
    ]
    assert texts(Table("", ["", "a", "b"], rows, by_row=True)) == [
        ["bytes", "53,704", "5124"],
        ["ms", "450.4", "41.0"],
    ]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["", 1.5], True),
        (["1.9 %", "25.1 %", "–"], True),
        (["+27.2", "-3", "−0.5"], True),
        (["13 of 13", "9 of 13"], True),
        (["0.60/0.61", "11.19 (0.8)", "2.7 / 8.2"], True),
        (["50 ms", "100 ms"], False),
        (["slow start", "3"], False),
        (["", None], False),
    ],
)
def test_numbers_stand_to_the_right_also_as_text(cells: list[Cell], numbers: bool) -> None:
    assert is_numeric(cells) is numbers


def test_a_page_s_table_has_numbers_to_the_right_and_its_bars_escaped() -> None:
    assert markdown(["a", "b", "c"], [["x|y", 1.5, "3"], ["z", 12.25, None]]) == [
        "| a | b | c |",
        "|---|---:|---:|",
        r"| x\|y | 1.50 | 3 |",
        "| z | 12.25 | – |",
    ]


def test_a_long_title_is_not_folded_at_the_width_of_a_narrow_table(capsys) -> None:
    title = "Response times of every startup over a path in s, [those of slow start over it]"
    print_table(Table(title, ["a"], [[1.5]]))
    assert capsys.readouterr().out.splitlines()[0] == title


def test_a_value_by_itself_has_its_unit() -> None:
    assert value_text(2.66712345, "ms") == "2.6671 ms"
    assert value_text("a < b", "ms") == "a < b"
    assert value_text(None, "ms") == ABSENT


def test_a_table_that_is_too_wide_comes_in_parts_of_whole_blocks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = [f"quantity{i}\nkernel" for i in range(6)]
    columns = ["flows", *(column for name in names for column in (name, "sim.", "diff."))]
    rows = [["four flows", *([1234.5, 1230.5, "+4"] * 6)], ["one", *([99.25, 99.0, "+0.25"] * 6)]]

    def one_block(shown: Sequence[int]) -> bool:
        return len(shown) <= 4

    print_table(Table("wide", columns, rows, heads=1, block=3))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    numbers = " ".join(lines).split()
    assert numbers.count("1234") == numbers.count("+0.25") == 6
    assert numbers.count("one") == 2
    quantities = ["goodput\nMbit/s", "queue\nms", "queue\nsd\nms", "lost\nlater\n%", "price\nms"]
    told = ["mu", "flows", *(n for q in quantities for n in (f"{q}\nkernel", "sim.", "diff."))]
    full = [0.96, "one flow", 9.21, 9.21, "+0", 2.86, 2.53, "+0.33", 2.3, 0.92, "+1.38", 0, 0, "+0"]
    print_table(Table("", told, [[*full, 107.6, 109.4, "-1.8"]], heads=2, block=3))
    words = capsys.readouterr().out.split()
    assert (words.count("goodput"), words.count("kernel")) == (1, 5)
    assert len(parts(Table("", columns, rows, heads=1, block=3), one_block)) == 6
    assert parts(Table("", columns, rows), one_block) == [list(range(19))]
