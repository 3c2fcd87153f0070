"""The study of Iris: every case plans, every claim can be judged, and what is not run is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from analysis.claims import Computed, Verdict
from analysis.claims.comparisons import Quantity, comparisons
from analysis.findings import CellFinding, Findings, Standing, TrialFinding
from analysis.papers import PaperResult, hold, read_paper
from experiments import papers
from experiments.papers.iris import computed
from experiments.scenario.settings import Settings
from records import campaign as records
from records.verdict import Check

FOLDER = papers.folder_of("iris")
PAPER = read_paper(FOLDER)
ASKED = PAPER.record.computed
CELLS: dict[str, Settings] = {cell.levels["case"]: cell.settings for cell in papers.whole(FOLDER).cells}
# What each metric of a trial would be, were the study's text true of it, where that is no published value.
COUNTED = {"expected": 2000.0, "lost": 0.0, "in_doubt": 0.0, "duplicates": 0.0, "reordered": 0.0}
SOUND = {"duplicate_share": 0.0, "reordered_share": 0.0, "loss_share": 0.0, "in_doubt_share": 0.0} | COUNTED


def test_every_case_of_which_something_is_said_is_run_or_computed() -> None:
    assert papers.unrun(FOLDER, papers.whole(FOLDER), networks=PAPER.networks, published=PAPER.cases) == ()
    assert ASKED is not None
    assert list(ASKED.cases) == list(computed.CASES)
    spoken = {
        q.case for claim in PAPER.claims for test in claim.tests for one in comparisons(test) for q in one.quantities
    }
    assert spoken == {*CELLS, *ASKED.cases}, "nothing is run or computed of which no claim speaks"
    on = PAPER.networks
    for claim in PAPER.claims:
        for test in claim.tests:
            for one in comparisons(test):
                for quantity in one.quantities:
                    assert quantity.case in ASKED.cases or CELLS[quantity.case].network == on[quantity.network]


def test_two_clusters_of_equal_size_send_to_each_other() -> None:
    for case, cell in CELLS.items():
        clients, half = cell.workload.clients, cell.stations // 2
        senders, receivers = clients.producers(cell.stations), clients.consumers(cell.stations)
        assert {end.station for end in senders} == {end.station for end in receivers} == set(range(cell.stations)), case
        members: dict[int, set[int]] = {}
        for end in receivers:
            members.setdefault(end.channel, set()).add(end.station % 2)
        assert len(receivers) == len(senders) == 2 * half
        for end in senders:
            assert members[end.channel] == {1 - end.station % 2}, f"{case}: across, never within a cluster"


def test_the_processor_decides_only_where_it_may() -> None:
    waived = {Check.GENERATOR_CPU, Check.SERVER_CPU, Check.SERVER_THREAD, Check.MACHINE_USE, Check.SEND_LATENESS,
              Check.SOFTIRQ_DROPS}  # fmt: skip
    for cell in CELLS.values():
        assert {one.check for one in cell.checks.waive} == (waived if cell.network == "wireline-1g" else set())
    growing = [one for name, one in CELLS.items() if name.startswith(("requests-0", "requests-1"))]
    assert [one.stations for one in growing] == [2, 4, 6, 8, 10, 12]
    assert {(one.network, one.workload.body_bytes) for one in growing} == {("wireline-10m", 16_384)}
    shares = {one.station_cores for one in CELLS.values() if one.network == "wireline-10m"}
    assert len(shares) == 1, "every node has as much of a processor as any other, however many there are"
    assert None not in shares


def test_a_quick_round_takes_less_than_half_an_hour() -> None:
    window, around = papers.QUICK, 25  # seconds of a trial beside its load, of twelve nodes
    assert len(CELLS) * (window.warmup_s + window.window_s + window.drain_s + around) <= 30 * 60


def test_what_the_study_contradicts_itself_in_stands_there_twice() -> None:
    twice = {row.case for row in PAPER.rows if row.reading == "second"}
    assert twice == {"requests-large", "requests-12"}
    served = Quantity("requests-12", "cluster", "delivered_per_s")
    assert [PAPER.published(name).by_seed(served)[0] for name in PAPER.readings] == [46_000, 42_000]
    payload = Quantity("requests-large", "machine", "goodput_bit_s")
    assert PAPER.published().span(payload) == (450e6 * 8, math.inf)
    assert PAPER.published("second").by_seed(payload)[0] == 381e6 * 8


def held(folder: Path, values: Mapping[Quantity, float], simulated: Mapping[str, float]) -> PaperResult:
    """Invented results, three trials of each case."""
    generator = np.random.default_rng(2014)
    cells = []
    for case, network in dict.fromkeys((quantity.case, quantity.network) for quantity in values):
        metrics = {q.metric: value for q, value in values.items() if (q.case, q.network) == (case, network)}
        trials = tuple(
            TrialFinding(
                case,
                number,
                number,
                standing=Standing.VALID,
                metrics={name: one * (1 + 0.001 * float(generator.normal())) for name, one in metrics.items()} | SOUND,
            )
            for number in (1, 2, 3)
        )
        levels = {"case": case, "network": PAPER.networks[network]}
        cells.append(CellFinding(name=case, levels=levels, trials=trials))
    planned = records.Campaign(
        scenario="iris", digest="d" * 64, created="2026-11-25T12:00:00Z", seed=1, factors={}, baseline=None,
        cells=tuple(records.Cell(name=one.name, levels=one.levels, settings={"settings": {}}) for one in cells),
        order=(),
    )  # fmt: skip
    metric = {"id-collision": "computed_share"} | {
        case: "computed_share" for case in simulated if case.startswith(("busiest", "served"))
    }
    made = {
        (case, metric.get(case, "computed_number")): Computed(values={0: value}, exact=True, command="")
        for case, value in simulated.items()
    }
    return hold(PAPER, [Findings(campaign=planned, folder=folder, cells=tuple(cells))], computed=made)


def grown(case: str, per_node: float) -> dict[Quantity, float]:
    """Requests, broadcasts or tunnels that grow evenly with the nodes, and what that is of 16 KiB."""
    nodes, network = int(case[-2:]), "machine" if case.startswith("uncapped") else "cluster"
    rate = (nodes + 2 * case.startswith("requests")) * per_node  # as 12 thousand, and 6 for each further pair
    metrics = {"delivered_per_s": rate, "published_per_s": rate, "goodput_bit_s": rate * 16_384 * 8}
    return {Quantity(case, network, name): value for name, value in metrics.items()}


SIMULATED = {
    "id-collision": 4.5474e-5, "most-hops-12": 2, "most-hops-64": 3, "most-hops-256": 3, "hops-of-requests": 2.85,
    "hops-of-broadcasts": 2.3, "members-of-a-request": 1, "members-of-a-broadcast": 6, "messages-of-a-request": 2,
    "spread-from-the-first-member": 32, "spread-by-the-root": 33, "busiest-of-five-groups": 0.3,
    "busiest-of-one-group": 0.9, "cluster-and-topic-of-one-name": 0, "served-by-speed-1": 0.14,
    "served-by-speed-2": 0.3, "served-by-speed-4": 0.56,
}  # fmt: skip
PER_NODE = {"requests": 25.0, "broadcasts": 67.0, "tunnels": 37.3, "uncapped": 500.0}


def as_the_text_says(folder: Path, *, requests_of_twelve: float = 1.0, **simulated: float) -> PaperResult:
    values: dict[Quantity, float] = {}
    for case in CELLS:
        if case[-2:].isdecimal():
            values |= grown(case, PER_NODE[case[:-3]])
    twelve = Quantity("requests-12", "cluster", "delivered_per_s")
    values[twelve] *= requests_of_twelve
    for case, metric, value in (
        ("requests-small", "delivered_per_s", 5000.0), ("broadcasts-small", "delivered_per_s", 8000.0),
        ("events-small", "delivered_per_s", 8100.0), ("tunnels-small", "delivered_per_s", 4000.0),
        ("requests-large", "goodput_bit_s", 4e9), ("broadcasts-large", "goodput_bit_s", 4.4e9),
        ("tunnels-large", "goodput_bit_s", 5.3e9),
    ):  # fmt: skip
        values[Quantity(case, "machine", metric)] = value
    return held(folder, values, SIMULATED | simulated)


def verdicts(result: PaperResult) -> dict[str, Verdict]:
    return {one.ours.claim.id: one.ours.verdict for one in result.claims}


def test_claims_hold_of_results_that_are_as_the_text_says(tmp_path: Path) -> None:
    result = as_the_text_says(tmp_path)
    found = verdicts(result)
    assert len(found) >= 25
    others = {name: one for name, one in found.items() if one is not Verdict.HOLDS}
    assert others == {}
    assert all(one.ours.looked_at for one in result.claims)


@pytest.mark.parametrize(
    ("changes", "fails"),
    [
        ({"requests_of_twelve": 0.5}, {"twelve-nodes-by-two", "requests-grow-linearly", "requests-never-fall"}),
        ({"most-hops-64": 4}, {"few-hops"}),
        ({"cluster-and-topic-of-one-name": 1}, {"names-are-apart"}),
        ({"members-of-a-request": 2}, {"request-to-one"}),
        ({"busiest-of-five-groups": 0.95}, {"split-takes-load-off-the-root"}),
        ({"served-by-speed-4": 0.4}, {"shares-follow-capacity"}),
        ({"hops-of-broadcasts": 3.0}, {"hops-of-broadcasts", "broadcasts-take-fewer-hops"}),
        ({"id-collision": 9e-5}, {"ids-hardly-collide"}),
    ],
)
def test_claims_fail_of_results_that_are_not(changes: dict[str, float], fails: set[str], tmp_path: Path) -> None:
    found = verdicts(as_the_text_says(tmp_path, **changes))
    assert fails <= {name for name, verdict in found.items() if verdict is Verdict.FAILS}


def test_the_studys_own_numbers_support_what_its_text_says_but_for_its_contradictions(tmp_path: Path) -> None:
    published = {one.ours.claim.id: one.published["printed"].verdict for one in as_the_text_says(tmp_path).claims}
    assert published["twelve-nodes-by-two"] is Verdict.HOLDS
    assert published["broadcasts-take-fewer-hops"] is Verdict.HOLDS
    assert published["ids-hardly-collide"] is Verdict.HOLDS
    assert published["tunnels-lose-a-third-on-twelve"] is Verdict.INCONCLUSIVE  # about 2.1 Gbit/s


def test_arithmetic_and_a_world_of_twelve_nodes_are_as_expected() -> None:
    ((metric, seed, chance),) = computed.collision()
    assert (metric, seed) == ("computed_share", None)
    assert chance == pytest.approx(1 - math.exp(-(1e4**2) / 2**41), rel=1e-9)
    assert list(computed.CASES["members-of-a-broadcast"]()) == [("computed_number", None, 6.0)]
    assert [value for _, _, value in computed.CASES["messages-of-a-request"]()] == [2.0] * 5


def test_an_unknown_case_is_refused() -> None:
    with pytest.raises(SystemExit, match="'hops' is no case: there are id-collision"):
        computed.main(["hops"])
