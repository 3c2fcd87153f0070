"""A network of several segments in the analysis: all media count, links between routers do not."""

from __future__ import annotations

import pytest
from synthetic_campaign import WINDOW, link, resources

from analysis.medium import medium_metrics
from analysis.series import queue_series
from records.link import LinkProof


def of_segments() -> LinkProof:
    """Two cells, the second one busier, and a link that is busier still."""
    first, second, wire = (link("nistnet-80211", air_bytes=sent) for sent in (300_000, 600_000, 900_000))
    return first.model_copy(
        update={
            "segment": "cell1",
            "further": (
                second.model_copy(update={"segment": "cell2"}),
                wire.model_copy(update={"segment": "link1", "link": True}),
            ),
        }
    )


def test_bytes_are_those_of_all_media_and_use_is_that_of_the_busiest() -> None:
    metrics = medium_metrics(of_segments(), deliveries=300)
    assert metrics["air_bytes_per_delivery"] == 3000
    assert metrics["air_utilisation"] == pytest.approx(0.6)


def test_queues_of_further_segments_are_not_taken_for_the_first_ones() -> None:
    proof = of_segments()
    alone = queue_series(resources(queues={"air": 112_500.0}), proof, WINDOW)
    both = queue_series(resources(queues={"air": 112_500.0, "link1/air": 50_000.0}), proof, WINDOW)
    assert both == alone


def test_a_proof_holds_when_those_of_all_segments_do_and_says_which_does_not() -> None:
    proof = of_segments()
    assert proof.holds
    broken = proof.further[1].checks[0].model_copy(update={"delivered": -1.0})
    bad = proof.further[1].model_copy(update={"checks": (broken,)})
    worse = proof.model_copy(update={"further": (proof.further[0], bad)})
    assert not worse.holds
    assert [one.detail.split(":")[0] for one in worse.all_checks if not one.holds] == ["segment link1"]
    assert LinkProof.model_validate_json(worse.model_dump_json()) == worse


def test_a_proof_of_one_segment_is_as_it_always_was() -> None:
    proof = link("nistnet-80211", air_bytes=1)
    assert proof.segments == (proof,)
    assert proof.all_checks == proof.checks
    assert LinkProof.model_validate(proof.model_dump(exclude={"segment", "further", "link"})) == proof
