"""`lab unpack`: a packed campaign back into a results folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.campaign import campaign as campaigns
from experiments.campaign.unpack import unpack as put_back
from lab.common import Status, command, fail, out, shown, told
from lab.start import tidy
from records.campaign import read_campaign
from records.counts import several
from records.location import Place, locate
from records.pack import MOST_PACKED, BadPack
from records.packed import in_all
from records.packed import size as in_bytes
from records.scratch import scratch


def unpack(*, file: str, results: Path) -> None:
    """Put the campaign back and say what is left to run and to read."""
    with told():
        place = locate(file)
        if not place.is_file():
            fail(f"{file}: there is no such file", Status.USAGE)
        tidy(results)
        with _here(place) as pack:
            found = put_back(pack, results)
        there = f", {found.kept} were there" if found.kept else ""
        out.print(f"campaign {shown(found.folder)}: {several(found.added)} added{there}")
        if found.elsewhere:
            out.print(f"not in the pack, and so only where it was packed: {in_all(found.elsewhere)}")
        left = len(campaigns.missing(found.folder, read_campaign(found.folder)))
        if left:
            out.print(f"at most {several(left)} left to run: {command('resume', found.folder)}")
        out.print(f"report: {command('report', found.folder)}")


@contextmanager
def _here(place: Place) -> Iterator[Path]:
    """A file on this machine: of what is at a URI, a copy that is gone at the end."""
    if isinstance(place, Path):
        yield place
        return
    if (size := place.size()) > MOST_PACKED:
        raise BadPack(f"{place}: {in_bytes(size)}, more than a pack may have ({in_bytes(MOST_PACKED)})")
    with scratch("unpack") as folder, place.open() as source:
        copy = folder / place.name  # what is wrong with it is said of this name
        with copy.open("wb") as target:
            for part in source.parts():
                target.write(part)
        yield copy
