"""Which cells of campaigns a study is held against: their levels, and the links that stand for the study's own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from analysis.claims.evidence import profile_of
from analysis.findings import Findings
from analysis.papers.paper import Paper, PaperError
from records.campaign import Campaign

Levels = Mapping[str, Collection[str]]
"""Factor to its levels that count, any of them; of a factor that is not named, all."""

EVERY: Levels = MappingProxyType({})


def on_other_links(paper: Paper, links: Mapping[str, str]) -> Paper:
    """The study with other link profiles for some of its networks: what would it have found there?

    PaperError for a network that the study does not have, and when two networks would be the same link.
    """
    for network in links:
        if network not in paper.record.networks:
            raise PaperError(f"{network!r} is no network of {paper.record.name}: {', '.join(paper.record.networks)}")
    chosen = replace(paper, links=dict(links))
    if len(set(chosen.networks.values())) < len(chosen.networks):
        told = ", ".join(f"{word} is {profile}" for word, profile in chosen.networks.items())
        raise PaperError(f"{told}: there is nothing to compare; choose another link")
    return chosen


def check(paper: Paper, campaigns: Sequence[Campaign], levels: Levels) -> None:
    """PaperError for levels and links that no cell of these campaigns has, each with what there is."""
    cells = [cell for one in campaigns for cell in one.cells]
    for factor, wanted in levels.items():
        known = sorted({cell.levels[factor] for cell in cells if factor in cell.levels})
        for level in wanted:
            if level not in known:
                told = f"has the levels {', '.join(known)}" if known else "is no factor of these campaigns"
                raise PaperError(f"--only {factor}={level}: {factor} {told}")
    run_on = sorted({profile_of(cell.levels, cell.settings.get("settings", {})) for cell in cells})
    for network, profile in paper.links.items():
        if profile not in run_on:
            raise PaperError(f"{network} as {profile}: these campaigns ran on {', '.join(run_on)}")


def with_levels(campaign: Findings, levels: Levels) -> Findings:
    """A campaign with only those cells that have these levels, of factors that it has."""
    return replace(
        campaign,
        cells=tuple(
            cell
            for cell in campaign.cells
            if all(factor not in cell.levels or cell.levels[factor] in some for factor, some in levels.items())
        ),
    )
