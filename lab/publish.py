"""`lab publish`: a campaign copied to a URI."""

from __future__ import annotations

from pathlib import Path

from experiments.campaign.campaign import CampaignError, missing, owned
from lab.common import Status, command, fail, out, shown, told
from lab.start import find, tidy
from lab.tally import tally
from records.campaign import read_campaign
from records.counts import several
from records.location import Remote, locate, remote
from records.packed import in_all
from records.publishing import publish as copy
from records.store import trials


def publish(*, campaign: str, uri: str, results: Path) -> None:
    """Copy the campaign and say what was done."""
    with told():
        tidy(results)
        folder, target = find(results, campaign), remote(locate(uri))
        _must_be_apart(folder, target)
        with owned(folder):
            if left := missing(folder, read_campaign(folder)):
                raise CampaignError(
                    f"{folder}: {several(len(left))} left to run; `{command('resume', folder)}` goes on"
                )
            done = copy(folder, target, tally=tally(folder))
        for what, files in (("copied", done.copied), ("there already", done.kept)):
            if files:
                out.print(f"{what}: {in_all(files)}")
        if done.removed:
            out.print(f"removed, because the campaign no longer has them: {len(done.removed)} files")
        out.print(f"published: {target}, {several(len(trials(folder)))}")


def _must_be_apart(folder: Path, target: Remote) -> None:
    """End where the copy would be a part of what is copied."""
    if target.scheme == "file" and Path(target.path).resolve().is_relative_to(folder):
        fail(f"{target.path}: it is in the campaign's own folder, {shown(folder)}: name another place", Status.USAGE)
