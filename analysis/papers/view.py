"""What the study's page shows, as plain values."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from analysis.claims import wording
from analysis.claims.judge import ClaimResult, Verdict
from analysis.headlines import verdict_line
from analysis.metrics import METRICS
from analysis.papers.result import METRICS as COMPARED
from analysis.papers.result import BoundRow, ClaimRow, Figures, NetworkRatio, PaperResult, Row
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
    return {
        "paper": record,
        "networks": list(result.paper.networks),
        "profiles": result.paper.networks,
        "elsewhere": [(word, record.networks[word], link) for word, link in result.paper.links.items()],
        "chosen": "; ".join(f"{factor} = {' or '.join(some)}" for factor, some in result.levels.items()),
        "apart": result.evidence.settings_apart(),
        "campaigns": [(one.folder.name, one.campaign.scenario, verdict_line(one)) for one in result.campaigns],
        "verdict": verdict_text(result),
        "from_go_line": from_go_text(result),
        "tone": "good" if result.claims and all(c.ours.verdict is Verdict.HOLDS for c in result.claims) else "mixed",
        "unsupported": sum(
            all(one.verdict is Verdict.FAILS for one in claim.published.values()) for claim in result.claims
        ),
        "claims": [_claim(claim) for claim in result.claims],
        "metrics": [METRICS[name].label for name in COMPARED],
        "units": ["messages per second" if METRICS[name].unit == "1/s" else "" for name in COMPARED],
        "rows": [_row(row) for row in result.rows],
        "bound": [_bound(row) for row in result.bound],
        "bound_line": bound_text(result),
        "within": f"{record.link_bound.within_percent:g} %",
        "figures": [_picture(plot) for plot in figures],
        "scatter": _picture(scatter) if scatter else None,
        "origins": list(origins),
    }


def verdict_text(result: PaperResult) -> str:
    """How many claims hold, in one sentence."""
    told = _counted([claim.ours for claim in result.claims])
    unseen = sum(not claim.ours.looked_at for claim in result.claims)
    rest = f" {unseen} of them speak of cases without a valid trial or a value." if unseen else ""
    return f"Of {len(result.claims)} claims {told}.{rest}"


def from_go_text(result: PaperResult) -> str:
    """The same with what was counted from go; empty when no verdict is another then."""
    judged = [claim for claim in result.claims if claim.from_go.judged]
    others = sum(claim.from_go.verdict is not claim.ours.verdict for claim in judged)
    if not others:
        return ""
    told = _counted([claim.from_go for claim in judged])
    return (
        f"Counted from go {told}, of {len(judged)} that this count can judge: {others} "
        f"verdict{'s are others' if others > 1 else ' is another'} than inside the window."
    )


def _counted(claims: Sequence[ClaimResult]) -> str:
    counts = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{counts[verdict]} {_many(verdict, counts[verdict])}" for verdict in Verdict if counts[verdict])


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
    """How many link-bound rows are near the published value; empty where another link takes their place."""
    measured = sum(row.near is not None for row in result.bound)
    if not measured:
        return ""
    within = f"{result.paper.record.link_bound.within_percent:g} %"
    return (
        f"Of {measured} measured link-bound rows {result.near} are within {within} of the published value inside the "
        f"window, {result.near_from_go} counted from go."
    )


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
            "unlike": "" if one.alike else one.why,
        }
        for one in result.outcomes
    ]


def _claim(claim: ClaimRow) -> dict[str, Any]:
    ours = claim.ours
    printed = next(iter(claim.published.values()))
    return {
        "id": ours.claim.id,
        "section": ours.claim.section,
        "finding": ours.claim.finding,
        "note": ours.claim.note,
        "verdict": ours.verdict.value,
        "leaning": leaning_text(claim),
        "tone": _TONE[ours.verdict],
        "from_go": claim.from_go.verdict.value if claim.from_go.judged else "",
        "from_go_tone": _TONE[claim.from_go.verdict],
        "counts": [
            wording.counts([one.answer for one in test.outcomes], test.test.for_, may_be_chance=test.may_be_chance)
            for test in ours.tests
        ],
        "support": support_text(claim),
        "support_tone": _TONE[printed.verdict],
        "deciding": [
            one | {"from_go": wording.effect(go) if go.alike else "–", "theirs": text}
            for one, go, text in zip(deciding(ours), claim.from_go.outcomes, _theirs(claim), strict=True)
        ],
    }


def _theirs(claim: ClaimRow) -> list[str]:
    """The published effect of each comparison, in each reading where readings differ."""
    read = {name: [wording.effect(one) for one in found.outcomes] for name, found in claim.published.items()}
    by_comparison = [dict(zip(read, texts, strict=True)) for texts in zip(*read.values(), strict=True)]
    return [
        next(iter(texts.values()))
        if len(set(texts.values())) == 1
        else "; ".join(f"{name}: {text}" for name, text in texts.items())
        for texts in by_comparison
    ]


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
    cells = amount(metric, one.published), estimated(metric, one.ours), estimated(metric, one.from_go)
    plain = [Shown(cell.text.removesuffix(_RATE), cell.value) for cell in cells]
    return plain[0], replace(plain[1], aside=one.doubts), plain[2]


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
        "from_go": Shown(interval(metric, row.figures.from_go), row.ratio_from_go),
        "ratio_from_go": number(row.ratio_from_go, None if row.ratio_from_go is None else digits(row.ratio_from_go)),
        "near_from_go": row.near_from_go,
    }


def _picture(plot: Plot) -> dict[str, str]:
    data = "data:image/svg+xml;base64," + base64.b64encode(plot.svg).decode()
    return {"title": plot.title, "about": plot.about, "data": data}
