"""Findings whose trials carry journeys and series of losses, as a reduction would give them."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

from analysis.details import Details
from analysis.findings import Findings, TrialFinding
from analysis.journey.parts import KEYS, LATENCY, PARTS, REPLY_PARTS

SPREAD = dict(zip(KEYS, (1.0, 0.8, 2.0, 6.0, 19.0), strict=True))  # of a latency's percentiles, of its mean
WEIGHTS = dict(zip(PARTS, (2.0, 1.0, 5.0, 0.1, 1.0, 3.0, 6.0, 0.2), strict=True))
REPLY_WEIGHTS = dict(zip(REPLY_PARTS, (8.0, 1.0, 5.0, 0.1, 1.0, 3.0, 6.0, 0.2), strict=True))


def journey(latency: float, *, without: tuple[str, ...] = (), replies: bool = False) -> dict[str, dict[str, float]]:
    """Parts that sum to each percentile's latency; recovery grows with it.  replies: of a response time."""
    weights = WEIGHTS | REPLY_WEIGHTS if replies else WEIGHTS
    found = {}
    for key, factor in SPREAD.items():
        parts = {
            part: weight * (factor if part.endswith("recovery") else 1.0)
            for part, weight in weights.items() if part not in without
        }  # fmt: skip
        whole = latency * factor
        found[key] = {part: whole * weight / sum(parts.values()) for part, weight in parts.items()} | {LATENCY: whole}
    return found


def held(trial: TrialFinding) -> Details:
    """A trial's details, wherever they are."""
    return Details(**{one.name: getattr(trial, one.name) for one in fields(Details)})


def travelled(findings: Findings, folder: Path, *, untold: tuple[str, ...] = (), why: str = "") -> Findings:
    """The findings with journeys, to be written into `folder`; cells named in `untold` have none, for the reason."""
    folder.mkdir(parents=True, exist_ok=True)

    def told(trial: TrialFinding) -> TrialFinding:
        if trial.cell in untold:
            return replace(trial, journey_why=why)
        found = journey(0.2 * (1 + 0.1 * trial.number))
        shares = {"journey_share": 0.97, "copies_uplink": 1.04, "copies_downlink": 1.25}
        times = [t for t, _ in trial.seconds["delivered_per_s"]]
        series = {
            "retr_per_s_uplink": [(t, 2.0) for t in times], "retr_per_s_downlink": [(t, 4.0) for t in times],
            "recovery_uplink": [(t, 0.5) for t in times], "recovery_downlink": [(t, 0.25) for t in times],
        }  # fmt: skip
        details = replace(held(trial), seconds=trial.seconds | series)
        return replace(trial, journey=found, metrics=trial.metrics | shares, details=details)

    cells = tuple(replace(cell, trials=tuple(map(told, cell.trials))) for cell in findings.cells)
    return replace(findings, folder=folder, cells=cells)
