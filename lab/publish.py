"""`lab publish`: a campaign copied to a URI."""

from __future__ import annotations

from pathlib import Path

from experiments.campaign.campaign import CampaignError, missing, owned
from lab.common import command, out, told
from lab.start import find, tidy
from lab.tally import tally
from records.campaign import read_campaign
from records.location import locate, remote
from records.packed import in_all
from records.publishing import publish as copy
from records.store import trials


def publish(*, campaign: str, uri: str, results: Path) -> None:
    """Copy the campaign and say what was done."""
    with told():
        tidy(results)
        folder, target = find(results, campaign), remote(locate(uri))
        with owned(folder):
            if left := missing(folder, read_campaign(folder)):
                raise CampaignError(
                    f"{folder}: {len(left)} trials have not been run yet; `{command('resume', folder)}` runs them"
                )
            done = copy(folder, target, tally=tally(folder))
        for what, files in (("copied", done.copied), ("there already", done.kept)):
            if files:
                out.print(f"{what}: {in_all(files)}")
        if done.removed:
            out.print(f"removed, because the campaign no longer has them: {len(done.removed)} files")
        out.print(f"published: {target}, {len(trials(folder))} trials")
