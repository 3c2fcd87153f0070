"""The journey of a trial as rows of the one table that tasks hand back."""

from __future__ import annotations

from analysis.journey.parts import WIRES
from analysis.journey.reasons import damaged_before_the_link
from analysis.journey.summary import summary
from analysis.journey.trial import Journey, journey, stamped_journey
from analysis.looked import Looked
from analysis.recorded import Recorded
from analysis.rows import Rows
from records.manifest import Manifest
from records.store import DamagedTrial, Trial


def journey_rows(
    trial: Trial, manifest: Manifest, recorded: Recorded, rows: Rows, looked: Looked | None = None
) -> None:
    """Add the rows of table `journey` and the trial's metrics that come of it; `looked` as in analysis.trial."""
    damaging = trial.link().damaging
    if between := [one.segment for one in damaging if one.link]:
        rows.add("journey", "why", text=damaged_before_the_link(between))
        return
    tables = {name: trial.table(name) for name in ("published", "delivered")}
    shown = None if looked is None or manifest.workload.tls else looked.ways()
    found = journey(recorded, manifest, **tables, damaging=bool(damaging), shown=shown)
    add_journey(found, rows)


def stamped_rows(trial: Trial, manifest: Manifest, rows: Rows) -> None:
    """The same, from stamps of the stack's nodes; DamagedTrial where they are not what the manifest says."""
    tables = {name: trial.table(name) for name in ("published", "delivered")}
    stamps = trial.table("stamps")
    if len(stamps) != manifest.rows["stamps"]:
        raise DamagedTrial(
            f"{trial.path / 'stamps'}.parquet: {len(stamps)} rows, the manifest says {manifest.rows['stamps']}"
        )
    add_journey(stamped_journey(stamps, manifest, **tables), rows)


def add_journey(found: Journey, rows: Rows) -> None:
    """Table `journey`: key `mean` or a percentile, metric a part or `latency`, value in seconds; and metric `why`.

    Where nothing can be told at all there is no share of what was attributed, but only the reason.
    """
    if found.told:
        rows.add("trial", "journey_share", value=found.account.attributed / found.account.deliveries)
    if found.hops is not None:
        rows.add("trial", "hops_mean", value=found.hops)
    for direction, copies in found.copies.items():
        rows.add("trial", f"copies_{direction}", value=copies)
    for key, means in summary(found.names, found.parts, found.latency).items():
        for name, value in means.items():
            if name not in WIRES or found.wire_known:
                rows.add("journey", name, key=key, value=value)
    if found.why:
        rows.add("journey", "why", text=found.why)
