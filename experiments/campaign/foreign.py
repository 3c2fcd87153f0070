"""Campaigns out of packs whose trials are programs: somebody else's, which run here only when a user has said so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from experiments.campaign.campaign import CampaignError
from records.campaign import Campaign
from records.store import FOREIGN
from records.workload import Pattern


def mark(folder: Path, campaign: Campaign) -> None:
    """Remember that a campaign with programs came out of a pack."""
    if any(_programs(campaign)):
        (folder / FOREIGN).write_text("The programs of this campaign came out of a pack.\n")


def check(folder: Path, campaign: Campaign) -> None:
    """CampaignError for such a campaign, with one of its programs."""
    if (folder / FOREIGN).exists():
        program = next(_programs(campaign), "none any more")
        raise CampaignError(
            f"{folder}: it came out of a pack, and its trials run programs of whoever made that, with all rights that "
            f"you have ({program}): read them all in campaign.json, and remove {folder / FOREIGN} to let them run"
        )


def _programs(campaign: Campaign) -> Iterator[str]:
    """The programs of a campaign's cells, as they are written there: whatever they are, such a cell would run them."""
    for cell in campaign.cells:
        settings = cell.settings.get("settings")
        work = settings.get("workload") if isinstance(settings, Mapping) else None
        if isinstance(work, Mapping) and work.get("pattern") == Pattern.COMMAND:
            yield ", ".join(str(work[end]) for end in ("client", "server") if work.get(end))
