"""What the study's page shows, as plain values."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from typing import Any

from analysis.claims import wording
from analysis.claims.judge import ClaimResult, Verdict
from analysis.headlines import verdict_line
from analysis.metrics import METRICS
from analysis.papers.result import METRICS as COMPARED
from analysis.papers.result import WIDER, BoundRow, ClaimRow, Figures, NetworkRatio, PaperResult, Row
from analysis.plots.style import Plot
from analysis.report.shown import Shown, amount, estimated, number
from analysis.units import digits, interval

_TONE = {Verdict.HOLDS: "valid", Verdict.FAILS: "invalid", Verdict.INCONCLUSIVE: "inconclusive"}
_RATE = " msg/s"  # said once, above the table
_SUPPORT = {Verdict.HOLDS: "supports it", Verdict.FAILS: "does not", Verdict.INCONCLUSIVE: "cannot tell"}


def view(
    result: PaperResult, figures: Sequence[Plot], scatter: Plot | None, origins: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Everything the template needs.  origins: see analysis.papers.build.origin."""
    record = result.paper.record
    measured = [row for row in result.bound if row.near is not None]
    return {
        "paper": record,
        "networks": list(record.networks),
        "profiles": record.networks,
        "campaigns": [(one.folder.name, one.campaign.scenario, verdict_line(one)) for one in result.campaigns],
        "verdict": verdict_text(result),
        "tone": "good" if result.claims and all(c.ours.verdict is Verdict.HOLDS for c in result.claims) else "mixed",
        "unsupported": sum(
            all(one.verdict is Verdict.FAILS for one in claim.published.values()) for claim in result.claims
        ),
        "claims": [_claim(claim) for claim in result.claims],
        "metrics": [METRICS[name].label for name in COMPARED],
        "units": ["messages per second" if METRICS[name].unit == "1/s" else "" for name in COMPARED],
        "wider": ["Begun", "Arrived of those begun", ""],
        "rows": [_row(row) for row in result.rows],
        "bound": [_bound(row) for row in result.bound],
        "bound_line": bound_text(result),
        "near_wider": sum(row.wider_near is True for row in result.bound),
        "measured_bound": len(measured),
        "within": f"{record.link_bound.within_percent:g} %",
        "figures": [_picture(plot) for plot in figures],
        "scatter": _picture(scatter) if scatter else None,
        "origins": list(origins),
    }


def verdict_text(result: PaperResult) -> str:
    """How many claims hold, in one sentence."""
    counts = Counter(claim.ours.verdict for claim in result.claims)
    told = ", ".join(f"{counts[verdict]} {_many(verdict, counts[verdict])}" for verdict in Verdict if counts[verdict])
    unseen = sum(not claim.ours.looked_at for claim in result.claims)
    rest = f" {unseen} of them speak of cases without a valid trial or a value." if unseen else ""
    return f"Of {len(result.claims)} claims {told}.{rest}"


def leaning_text(claim: ClaimRow) -> str:
    """Which way an open claim leans; empty when it is decided, or when its means leave it open too."""
    if claim.ours.verdict is not Verdict.INCONCLUSIVE or claim.ours.leaning is Verdict.INCONCLUSIVE:
        return ""
    return f"by the means alone: {claim.ours.leaning}"


def _many(verdict: Verdict, count: int) -> str:
    words = {
        Verdict.HOLDS: ("holds", "hold"),
        Verdict.FAILS: ("does not hold", "do not hold"),
        Verdict.INCONCLUSIVE: ("is inconclusive", "are inconclusive"),
    }
    return words[verdict][count != 1]


def bound_text(result: PaperResult) -> str:
    """How many link-bound rows are near the published value."""
    measured = sum(row.near is not None for row in result.bound)
    within = f"{result.paper.record.link_bound.within_percent:g} %"
    return f"{result.near} of {measured} measured link-bound rows are within {within} of the published value."


def support_text(claim: ClaimRow) -> str:
    """Whether the study's own tables support the claim; both readings where they differ."""
    answers = {name: _SUPPORT[found.verdict] for name, found in claim.published.items()}
    if len(set(answers.values())) == 1:
        return next(iter(answers.values()))
    return "; ".join(f"{name}: {answer}" for name, answer in answers.items())


def deciding(result: ClaimResult) -> list[dict[str, str]]:
    """Each comparison of a claim: what, asked, found, answer."""
    return [
        {
            "subject": wording.subject(one.comparison),
            "asked": wording.asked(one.comparison),
            "effect": wording.effect(one),
            "answer": one.answer.value,
            "why": one.why if one.centre is not None else "",
        }
        for one in result.outcomes
    ]


def _claim(claim: ClaimRow) -> dict[str, Any]:
    ours = claim.ours
    printed = next(iter(claim.published.values()))
    theirs = [wording.effect(one) for one in printed.outcomes]
    return {
        "id": ours.claim.id,
        "section": ours.claim.section,
        "finding": ours.claim.finding,
        "note": ours.claim.note,
        "verdict": ours.verdict.value,
        "leaning": leaning_text(claim),
        "tone": _TONE[ours.verdict],
        "counts": [wording.counts([one.answer for one in test.outcomes], test.test.for_) for test in ours.tests],
        "support": support_text(claim),
        "support_tone": _TONE[printed.verdict],
        "deciding": [one | {"theirs": text} for one, text in zip(deciding(ours), theirs, strict=True)],
    }


def _row(row: Row) -> dict[str, Any]:
    case = row.row
    factors = case.factors
    clients = "/".join(factors[name] for name in ("publishers", "subscribers", "topics") if name in factors)
    rest = [text for name, text in factors.items() if name not in ("publishers", "subscribers", "topics", "selector")]
    selector = ["selector"] if factors.get("selector") == "yes" else []
    return {
        "case": case.case,
        "reading": "" if case.reading == "printed" else case.reading,
        "note": case.note,
        "factors": ", ".join(filter(None, [clients, *rest, *selector])),
        "figures": [cell for one in row.figures for cell in _figures(one)],
        "ratios": [cell for one in row.ratios for cell in _ratio(one)],
    }


def _figures(one: Figures) -> tuple[Shown, ...]:
    metric = METRICS[one.quantity.metric]
    wider = (estimated(metric, one.wider),) if one.quantity.metric in WIDER else ()
    cells = amount(metric, one.published), estimated(metric, one.ours), *wider
    return tuple(Shown(cell.text.removesuffix(_RATE), cell.value) for cell in cells)


def _ratio(one: NetworkRatio) -> tuple[Shown, Shown]:
    published = number(one.published, None if one.published is None else digits(one.published))
    ours = Shown("–") if one.ours.centre is None else number(one.ours.centre, wording.effect(one.ours))
    return published, ours


def _bound(row: BoundRow) -> dict[str, Any]:
    quantity = row.figures.quantity
    metric = METRICS[quantity.metric]
    return {
        "case": quantity.case,
        "metric": metric.label,
        "published": amount(metric, row.figures.published),
        "ours": Shown(interval(metric, row.figures.ours), None if row.ratio is None else row.ratio),
        "ratio": number(row.ratio, None if row.ratio is None else digits(row.ratio)),
        "near": row.near,
        "wider": Shown(interval(metric, row.figures.wider), row.wider_ratio),
        "wider_ratio": number(row.wider_ratio, None if row.wider_ratio is None else digits(row.wider_ratio)),
        "wider_near": row.wider_near,
    }


def _picture(plot: Plot) -> dict[str, str]:
    data = "data:image/svg+xml;base64," + base64.b64encode(plot.svg).decode()
    return {"title": plot.title, "about": plot.about, "data": data}
