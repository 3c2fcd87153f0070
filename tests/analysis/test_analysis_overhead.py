"""Use of a link whose frames cost more than their bits, where a timeline changes what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from busy_medium import saturated
from synthetic_campaign import GO, SECOND, START, WINDOW, Spec, link, write_campaign

from analysis.medium import medium_metrics
from analysis.rates import OVERHEAD, RATE, overhead_is_known, rate_steps
from analysis.series import queue_series, window_uses
from analysis.trial import reduce_trial
from records import older
from records.airtime import Steps
from records.link import LinkProof, QueueCounters
from records.schema import resources_table
from records.store import Trial

OWN = 826e-6
Limits = Sequence[tuple[float, float, float]]  # seconds after the window's start, bit/s, seconds a frame
SLOWER: Limits = ((-1.0, 11e6, OWN), (4.0, 2e6, OWN))


def steps_of(limits: Limits, *, since_s: float = -1.0) -> Steps:
    since, rate, overhead = zip(*limits, strict=True)
    return Steps(np.array(since) - since_s, np.array(rate), np.array(overhead))


def trial(limits: Limits, sizes: tuple[int, ...], *, told: bool = True) -> tuple[pa.Table, LinkProof]:
    """The resources and the link of a medium that was never idle; told: whether its overheads were recorded."""
    t_s, sent, frames = saturated(steps_of(limits), sizes, until_s=10.0, every_s=0.25)
    rows = [
        (GO + round(t * SECOND), "queue:air", metric, float(value))
        for t, *both in zip(t_s, sent, frames, strict=True)
        for metric, value in zip(("sent_bytes", "sent_packets"), both, strict=True)
    ]
    for at_s, rate, overhead in limits:
        rows.append((START + round(at_s * SECOND), "queue:air", RATE, rate))
        rows += [(START + round(at_s * SECOND), "queue:air", OVERHEAD, overhead)] if told else []
    at = [int(abs(t_s - second).argmin()) for second in (1.0, 9.0)]
    air = QueueCounters(name="air", bytes=sent[at[1]] - sent[at[0]], packets=frames[at[1]] - frames[at[0]], dropped=0)
    proof = link("nistnet-80211", air_bytes=1)
    window = proof.counters[0].model_copy(update={"queues": (air,)})
    update = {"rate_uplink": limits[0][1], "overhead_uplink": limits[0][2], "counters": (window,)}
    return resources_table(rows), proof.model_copy(update=update)


@pytest.mark.parametrize("sizes", [(1514,), (1514, 66), (66,)], ids=str)
@pytest.mark.parametrize(
    "limits", [SLOWER, ((-1.0, 11e6, OWN), (3.0, 54e6, 171e-6)), ((-1.0, 2e6, OWN), (5.1, 2e6, 0.0))], ids=str
)
def test_a_busy_link_is_used_to_the_full_whatever_its_frames_cost(limits: Limits, sizes: tuple[int, ...]) -> None:
    resources, proof = trial(limits, sizes)
    steps = rate_steps(resources, WINDOW, proof)
    series = queue_series(resources, proof, WINDOW, steps)["utilisation_air"]
    assert [share for _, share in series] == pytest.approx([1.0] * 10, abs=0.01)
    uses = window_uses(resources, WINDOW, steps)
    metrics = medium_metrics(proof, deliveries=1, steps=steps, uses=uses)
    assert metrics["air_utilisation"] == pytest.approx(1.0, abs=0.01)


def test_the_links_own_overhead_holds_where_none_was_recorded() -> None:
    resources, proof = trial(SLOWER, (1514,), told=False)
    series = queue_series(resources, proof, WINDOW, rate_steps(resources, WINDOW, proof))["utilisation_air"]
    assert [share for _, share in series] == pytest.approx([1.0] * 10, abs=0.01)


CHANGE = {"timeline": [{"at": 4.0, "change": {"frame_overhead": "100 us"}}]}
HANDOVER = {"uplink": {"frame_overhead": OWN}, "downlink": {"frame_overhead": OWN}, "timeline": [
    {"at": 4.0, "handover": {"lasts": 1.0, "to": {"uplink": {"frame_overhead": 0.0}, "downlink": {}}}}]}  # fmt: skip


@pytest.mark.parametrize(
    ("profile", "known"),
    [
        ({}, True),
        (CHANGE, False),
        (HANDOVER, False),
        ({"timeline": [{"at": 4.0, "change": {"rate": 1e6}}, {"at": 5.0, "outage": 1.0}]}, True),
        ({"timeline": [{"at": 4.0, "change": {"frame_overhead": 0.0}}]}, True),
    ],
    ids=["nothing", "change", "handover", "rate", "to what it was"],
)
def test_whether_an_overhead_that_changed_was_recorded(profile: dict[str, Any], known: bool) -> None:
    before, proof = trial(SLOWER, (1514,), told=False)
    asked = LinkProof.model_validate(proof.model_dump() | older.link(profile, ["sta1"]))
    assert overhead_is_known(before, asked) is known
    now, _ = trial(SLOWER, (1514,))
    assert overhead_is_known(now, asked)


def used(folder: Path) -> set[str]:
    """Metrics and series of a trial's reduction."""
    return {str(row["metric"]) for row in reduce_trial(folder, 0).to_pylist() if row["table"] in ("trial", "second")}


def test_a_trial_that_did_not_record_it_has_no_use_of_its_link(tmp_path: Path) -> None:
    campaign = write_campaign(tmp_path, Spec(bodies=(100,), guarantees=("durable",), trials=1))
    (folder,) = campaign.glob("nistnet*/trial-001")
    assert {"air_utilisation", "utilisation_air"} <= used(folder)
    manifest = Trial(folder).manifest()
    changed = manifest.model_copy(update={"profile": manifest.profile | CHANGE})
    (folder / "manifest.json").write_text(changed.model_dump_json())
    assert not [name for name in used(folder) if "utilisation" in name]
    assert "air_bytes_per_delivery" in used(folder)
