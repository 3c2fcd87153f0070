"""Writing a study's page, its plots and its tables into a folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.claims import wording
from analysis.claims.outcomes import Outcome
from analysis.findings import Findings, Standing
from analysis.papers.figures import figures, scatter
from analysis.papers.result import Figures, PaperResult
from analysis.papers.view import view
from analysis.report.page import Pages
from analysis.report.provenance import facts, sources
from analysis.report.publish import staged
from analysis.statistics import Estimate
from records.spreadsheet import write_csv

PAGE = "paper.html"
_HERE = Path(__file__).parent
_ROWS = (
    "case", "reading", "note", "network", "metric", "published", "n", "mean", "ci95_low", "ci95_high",
    "by_published", "from_go_mean", "from_go_ci95_low", "from_go_ci95_high", "doubts", "how_exact",
)  # fmt: skip
_RATIOS = ("case", "reading", "metric", "published", "ours", "ci95_low", "ci95_high", "pairs", "why", "network")
_CLAIMS = (
    "claim", "section", "verdict", "from_go_verdict", "published", "subject", "asked", "effect", "ci95_low",
    "ci95_high", "pairs", "answer", "why", "from_go_effect", "from_go_ci95_low", "from_go_ci95_high", "from_go_answer",
    "bound", "from_go_bound",
)  # fmt: skip
_COMPUTED = ("case", "metric", "seed", "value", "command")
Cell = str | float | int | None


def write(result: PaperResult, folder: Path) -> Path:
    """Write paper.html, paper-plots/ and paper-tables/ into `folder`; returns the page's path.

    What was there stays until the new is whole.  Raises ReportBusy when another process writes there.
    """
    drawn, dots = figures(result), scatter(result)
    origins = [origin(one) for one in result.campaigns]
    page = Pages(templates=_HERE, extra="compare.css").fill("paper.html.j2", view(result, drawn, dots, origins))
    folder.mkdir(parents=True, exist_ok=True)
    with staged(folder, names=("paper-plots", "paper-tables", PAGE)) as stage:
        (stage / "paper-plots").mkdir()
        for plot in (*drawn, *([dots] if dots else [])):
            (stage / "paper-plots" / f"{plot.name}.svg").write_bytes(plot.svg)
            (stage / "paper-plots" / f"{plot.name}.png").write_bytes(plot.png)
        tables = stage / "paper-tables"
        tables.mkdir()
        write_csv(tables / "rows.csv", _ROWS, _rows(result))
        write_csv(tables / "ratios.csv", _RATIOS, _ratios(result))
        write_csv(tables / "claims.csv", _CLAIMS, _claims(result))
        write_csv(tables / "computed.csv", _COMPUTED, _computed(result))
        (tables / "claims.json").write_text(json.dumps(summary(result), indent=1) + "\n")
        (tables / "manifest.json").write_text(json.dumps(origins, indent=1) + "\n")
        (stage / PAGE).write_text(page)
    return folder / PAGE


def origin(campaign: Findings) -> dict[str, Any]:
    """Where a campaign's numbers come from: what was asked, how its trials ended, machine, kernel, versions."""
    record = campaign.campaign
    return {
        "campaign": campaign.folder.name,
        "scenario": record.scenario,
        "digest": record.digest,
        "created": record.created,
        "seed": record.seed,
        "trials": {
            standing.value: count
            for standing in Standing
            if (count := sum(cell.count(standing) for cell in campaign.cells))
        },
        "facts": dict(facts(sources(campaign))),
    }


def summary(result: PaperResult) -> dict[str, object]:
    """The verdicts alone: claim to ours, and to what each reading of the published numbers says."""
    return {
        "paper": result.paper.record.name,
        "campaigns": [one.folder.name for one in result.campaigns],
        "claims_sha256": result.paper.digest,
        "link_bound": {
            "near": result.near,
            "near_from_go": result.near_from_go,
            "measured": sum(row.near is not None for row in result.bound),
        }
        if result.paper.record.link_bound
        else None,
        "claims": {
            one.ours.claim.id: {
                "ours": one.ours.verdict,
                "means_alone": one.ours.leaning,
                "from_go": one.from_go.verdict if one.from_go.judged else None,
                "published": {name: found.verdict for name, found in one.published.items()},
            }
            for one in result.claims
        },
    }


def _rows(result: PaperResult) -> Iterable[Sequence[Cell]]:
    """SI units: messages per second, seconds."""
    for row in result.rows:
        for one in row.figures:
            yield [row.row.case, row.row.reading, row.row.note, one.quantity.network, one.quantity.metric,
                   one.published.value if one.published else None, *_mean(one.ours, with_n=True), _share(one),
                   *_mean(one.from_go), one.doubts, one.published.how_exact if one.published else None]  # fmt: skip


def _share(one: Figures) -> float | None:
    return one.ours.mean / one.published.value if one.ours and one.published and one.published.value else None


def _mean(found: Estimate | None, *, with_n: bool = False) -> list[Cell]:
    if found is None:
        return [*([0] if with_n else []), None, None, None]
    return [*([found.n] if with_n else []), found.mean, found.low, found.high]


def _pairs(one: Outcome) -> int | None:
    """How many pairs of trials of equal seed it is of; None for single values and for unequal seeds."""
    return one.n[0] if one.n and one.paired else None


def _ratios(result: PaperResult) -> Iterable[Sequence[Cell]]:
    for row in result.rows:
        for one in row.ratios:
            ours = one.ours
            yield [
                row.row.case,
                row.row.reading,
                one.metric,
                one.published.centre,
                ours.centre,
                ours.low,
                ours.high,
                _pairs(ours),
                ours.why,
                one.network,
            ]


def _claims(result: PaperResult) -> Iterable[Sequence[Cell]]:
    for claim in result.claims:
        theirs = "; ".join(f"{name}: {found.verdict}" for name, found in claim.published.items())
        for one, go in zip(claim.ours.outcomes, claim.from_go.outcomes, strict=True):
            counted = go if go.alike else replace(go, centre=None, low=None, high=None, sign="")
            yield [claim.ours.claim.id, claim.ours.claim.section, claim.ours.verdict,
                   claim.from_go.verdict if claim.from_go.judged else None, theirs,
                   wording.subject(one.comparison), wording.asked(one.comparison), one.centre, one.low, one.high,
                   _pairs(one), one.answer, one.why, counted.centre, counted.low, counted.high,
                   counted.answer, one.sign, counted.sign]  # fmt: skip


def _computed(result: PaperResult) -> Iterable[Sequence[Cell]]:
    for (case, metric), found in result.evidence.computed.items():
        for seed, value in found.values.items():
            yield [case, metric, None if found.exact else seed, value, found.command]
