"""What the study's page shows, as plain values."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Sequence
from typing import Any

from analysis.claims import wording
from analysis.claims.judge import ClaimResult, Verdict
from analysis.headlines import verdict_line
from analysis.papers.published import HowExact
from analysis.papers.result import ClaimRow, PaperResult
from analysis.papers.tables import bound_row, computed_rows, metric_table, ratio_table
from analysis.plots.style import Plot

_TONE = {Verdict.HOLDS: "valid", Verdict.FAILS: "invalid", Verdict.INCONCLUSIVE: "inconclusive"}
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
        "about": "" if _all_printed(result) else f"{record.about_within_percent:g} %",
        "metrics": [metric_table(result, name) for name in result.paper.metrics],
        "ratios": ratio_table(result),
        "computed": computed_rows(result),
        "bound": [bound_row(row) for row in result.bound],
        "bound_line": bound_text(result),
        "within": f"{_within(result):g} %",
        "figures": [_picture(plot) for plot in figures],
        "scatter": _picture(scatter) if scatter else None,
        "origins": list(origins),
    }


def _all_printed(result: PaperResult) -> bool:
    return all(point.how_exact is HowExact.PRINTED for point in result.paper.points)


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
    within = f"{_within(result):g} %"
    return (
        f"Of {measured} measured link-bound rows {result.near} are within {within} of the published value inside the "
        f"window, {result.near_from_go} counted from go."
    )


def _within(result: PaperResult) -> float:
    asked = result.paper.record.link_bound
    return asked.within_percent if asked else 0.0


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


def _picture(plot: Plot) -> dict[str, str]:
    data = "data:image/svg+xml;base64," + base64.b64encode(plot.svg).decode()
    return {"title": plot.title, "about": plot.about, "data": data}
