import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway import units


@pytest.mark.parametrize(
    ("text", "rate_bps"),
    [
        ("1Mbit/s", 10**6),
        ("1 Mbps", 10**6),
        ("100kbit/s", 10**5),
        ("0.5 Gbit/s", 5 * 10**8),
        ("1.5mbit", 1_500_000),
        ("9600 bit/s", 9600),
        ("1e3 kbit/s", 10**6),
    ],
)
def test_rates_are_read_as_people_write_them(text: str, rate_bps: int) -> None:
    assert units.parse_rate(text) == rate_bps


@pytest.mark.parametrize(
    ("text", "time_ns"),
    [
        ("50 ms", 50_000_000),
        ("20us", 20_000),
        ("20 µs", 20_000),
        ("3min", 180 * 10**9),
        ("0.1ms", 100_000),
        ("0 s", 0),
        ("7 ns", 7),
    ],
)
def test_times_are_read_as_people_write_them(text: str, time_ns: int) -> None:
    assert units.parse_time(text) == time_ns


@pytest.mark.parametrize(
    ("text", "size_bytes"), [("60000 B", 60_000), ("64 KiB", 65_536), ("60 kB", 60_000)]
)
def test_sizes_are_read_as_people_write_them(text: str, size_bytes: int) -> None:
    assert units.parse_size(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("60000 B", "60000 B"),
        ("40 pkts", "40 pkts"),
        ("1 packet", "1 pkts"),
        ("1.50BDP", "1.5 BDP"),
    ],
)
def test_buffers_keep_what_they_were_given_in(text: str, shown: str) -> None:
    assert str(units.parse_buffer(text)) == shown


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        (units.parse_rate, "1000", "'1000' has no unit; allowed: bit/s, kbit/s, Mbit/s, Gbit/s"),
        (units.parse_rate, 1000, "1000 has no unit"),
        (units.parse_rate, "-1Mbit/s", "must be more than 0"),
        (units.parse_rate, "0 bit/s", "must be more than 0"),
        (units.parse_rate, "fast", "'fast' is not a rate"),
        (units.parse_rate, "1 Mbyte/s", "unknown unit 'Mbyte/s'"),
        (units.parse_rate, "1e300 bit/s", "too large"),
        (units.parse_rate, None, "is not a rate"),
        (units.parse_rate, True, "is not a rate"),
        (units.parse_time, "50", "allowed: ns, us, ms, s, min, h"),
        (units.parse_time, "-1 s", "must be at least 0"),
        (units.parse_positive_time, "0 s", "must be more than 0"),
        (units.parse_buffer, "0 B", "must be more than 0"),
        (units.parse_buffer, "60000", "allowed: B, kB, MB, GB, KiB, MiB, GiB, pkts, BDP"),
        (units.parse_buffer, "1.5 pkts", "whole number of packets"),
        (units.parse_probability, "2", "less than 1"),
        (units.parse_probability, "nan", "less than 1"),
        (units.parse_probability, "some", "is not a probability"),
    ],
)
def test_what_is_wrong_is_said_with_what_is_allowed(parse, text, said) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as error:
        parse(text)
    assert "\n" not in str(error.value)


def test_probabilities_may_be_percentages() -> None:
    assert units.parse_probability("1%") == 0.01
    assert units.parse_probability(0) == 0.0


@given(st.integers(1, 10**15))
def test_a_formatted_rate_reads_back_as_itself(rate_bps: int) -> None:
    assert units.parse_rate(units.format_rate(rate_bps)) == rate_bps


@given(st.integers(0, 10**16))
def test_a_formatted_time_reads_back_as_itself(time_ns: int) -> None:
    assert units.parse_time(units.format_time(time_ns)) == time_ns


def _accepts(parse, text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


@given(st.text(max_size=20) | st.from_regex(r"[-+]?[0-9.]{1,5}[eE]?[0-9]{0,3} ?[a-zA-Z/]{0,6}"))
def test_no_text_makes_a_parser_fail_in_another_way(text: str) -> None:
    for parse in (units.parse_rate, units.parse_time, units.parse_size, units.parse_buffer):
        assert _accepts(parse, text) in (True, False)


def test_bdp_is_rate_times_rtt_in_bytes() -> None:
    assert units.bdp_bytes(10**6, 50_000_000) == 6250
