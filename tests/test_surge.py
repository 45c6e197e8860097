"""SURGE's servers and users against their table, and the users' requests."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from headway.models.distributions import Pareto
from headway.studies.web_surge import experiments as web
from headway.workloads import surge
from headway.workloads.surge import WebPage

MODELS: tuple[surge.Model, ...] = ("default", "large")


def files(server: surge.Server) -> np.ndarray:
    """The size of each page's first file: of bases, and of files that are pages by themselves."""
    return np.array([page[0] for page in server.pages])


@pytest.mark.parametrize("model", MODELS)
def test_a_name_makes_a_server(model: surge.Model) -> None:
    first = surge.server(model, "1")
    surge.server.cache_clear()
    assert surge.server(model, "1").pages == first.pages
    assert surge.server(model, "2").pages != first.pages


@pytest.mark.parametrize("model", MODELS)
def test_30_of_62_pages_have_embedded_files(model: surge.Model) -> None:
    server = surge.server(model, "1")
    assert len(server.pages) == 0.62 * 2000
    assert sum(len(page) > 1 for page in server.pages) == 0.30 * 2000
    assert server.shares.sum() == pytest.approx(1)


def test_large_files_are_asked_for_alike_and_embed_two() -> None:
    servers = [surge.server("large", f"{n}") for n in range(20)]
    assert {float(share) for share in servers[0].shares} == {float(servers[0].shares[0])}
    embedded = [len(page) - 1 for one in servers for page in one.pages if len(page) > 1]
    assert np.mean(embedded) == pytest.approx(2, rel=0.03)
    sizes = [size for one in servers for page in one.pages for size in page]
    assert np.mean(sizes) == pytest.approx(247.7e3, rel=0.03)
    assert np.std(np.log(sizes)) == pytest.approx(1.0, rel=0.03)


def test_93_percent_of_surges_files_are_the_body_and_the_tail_has_no_end() -> None:
    servers = [surge.server("default", f"{n}") for n in range(40)]
    first = np.concatenate([files(one) for one in servers])
    in_body = first[first < 133e3]
    assert in_body.size / first.size == pytest.approx(0.93, abs=0.01)
    # The body is cut off at 133 kB: its median is a lower quantile of the whole distribution.
    assert np.median(in_body) == pytest.approx(surge.BODY.quantile(0.968 / 2), rel=0.03)
    tail = first[first >= 133e3]
    assert np.median(tail) == pytest.approx(133e3 * 2 ** (1 / 1.1), rel=0.05)
    assert tail.max() > 50 * 133e3


def test_popularity_is_zipfs() -> None:
    """The 1240 pages have popularities of 1/rank, where the rank is among all 2000 files."""
    ranks = 1 / surge.server("default", "1").shares
    ranks /= ranks.min()
    [first, *_] = [top for top in range(1, 20) if np.allclose(ranks * top, np.rint(ranks * top))]
    numbers = np.rint(ranks * first)
    assert np.unique(numbers).size == 1240
    assert 1900 < numbers.max() <= 2000


@pytest.mark.parametrize("seed", range(5))
def test_sizes_are_matched_to_popularity_so_that_requests_are_pareto(seed: int) -> None:
    sizes = np.sort(surge.BODY.quantile(np.random.default_rng(seed).uniform(size=2000)))[::-1]
    given = surge.matched(sizes.astype(np.int64), 1 / np.arange(1.0, 2001))
    assert np.allclose(np.sort(given), np.sort(1 / np.arange(1.0, 2001)) / _HARMONIC)
    asked = np.cumsum(given)
    wanted = 1 - Pareto(1000, 1.0).cdf(sizes)
    # The most popular file gets an eighth of all requests, so the distance between the
    # distributions is at least a sixteenth somewhere.
    apart = np.abs(asked - wanted)
    assert apart.max() < 0.1
    assert np.median(apart) < 0.02


_HARMONIC = float(np.sum(1 / np.arange(1.0, 2001)))


def test_the_pages_asked_for_most_have_the_fewest_files() -> None:
    server = surge.server("default", "1")
    pages = [(share, len(page)) for page, share in zip(server.pages, server.shares, strict=True)]
    based = sorted(((share, count) for share, count in pages if count > 1), reverse=True)
    counts = [count for _, count in based]
    assert counts == sorted(counts)
    assert counts[0] == 2
    assert 20 < counts[-1] <= 150
    # The median of floor(Pareto(2, 1.245)): half are below 2 * 2 ** (1 / 1.245) = 3.49.
    assert counts[len(counts) // 2] == 3


def test_users_ask_for_the_servers_pages_as_often_as_they_are_popular() -> None:
    server = surge.server("default", "1")
    visits = server.visits("one", 100_000)
    assert visits == server.visits("one", 100_000)
    assert visits[:20] != server.visits("other", 100_000)[:20]
    most = server.pages[int(np.argmax(server.shares))]
    asked = np.mean([visit.files_bytes == most for visit in visits])
    assert asked == pytest.approx(server.shares.max(), abs=0.02)
    assert {visit.files_bytes for visit in visits} <= set(server.pages)


def test_users_think_two_seconds_or_more_until_they_have_thought_enough() -> None:
    visits = surge.server("large", "1").visits("think", 100_000)
    thinks_s = np.array([visit.think_us for visit in visits]) / 1e6
    assert thinks_s.min() >= 2
    # The median of a Pareto distribution: k 2^(1/alpha).
    assert np.median(thinks_s) == pytest.approx(2 * 2 ** (1 / 1.4), rel=0.03)
    assert thinks_s[:-1].sum() < 100_000 <= thinks_s.sum()


# ---- The requests, and their connections ----

SHORT, LONG = 3_000_000, 6_000_000
"""Think times in us: shorter and longer than the time for which servers keep idle connections."""


def asked(visits: list[WebPage], http: str) -> list[list[tuple[int, int]]]:
    """For each connection of a user, (response bytes, think time in us) of its epochs."""
    app = web.requests(visits, http)
    ends = list(itertools.accumulate(app.connections or (), initial=0))
    assert ends[-1] == len(app.epochs)
    return [
        [(given, think_ns // 1000) for _, given, think_ns in app.epochs[begin:end]]
        for begin, end in itertools.pairwise(ends)
    ]


def test_http_10_opens_a_connection_for_every_file() -> None:
    visits = [WebPage((10, 20, 30), SHORT), WebPage((40,), LONG)]
    assert asked(visits, "1.0") == [[(10, 0)], [(20, 0)], [(30, SHORT)], [(40, LONG)]]


def test_http_11_keeps_it_until_it_is_idle_for_long() -> None:
    visits = [WebPage((10, 20), SHORT), WebPage((30,), LONG), WebPage((40,), SHORT)]
    assert asked(visits, "1.1") == [[(10, 0), (20, SHORT), (30, LONG)], [(40, SHORT)]]


def test_pipelining_asks_for_all_embedded_files_at_once() -> None:
    visits = [WebPage((10, 20, 30), SHORT), WebPage((40,), SHORT)]
    assert asked(visits, "1.1p") == [[(10, 0), (50, SHORT), (40, SHORT)]]
    assert [request for request, _, _ in web.requests(visits, "1.1p").epochs] == [100, 200, 100]


@pytest.mark.parametrize("http", ["1.1", "1.1p"])
def test_a_connection_ends_after_16_requests(http: str) -> None:
    page = WebPage(tuple(range(1, 41)), SHORT)
    rows = asked([page], http)
    assert [sum(given for given, _ in row) for row in rows] == [
        sum(range(1, 17)),
        sum(range(17, 33)),
        sum(range(33, 41)),
    ]
    assert [think for row in rows for _, think in row if think] == [SHORT]
