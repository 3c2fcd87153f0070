"""What a trial that came out of a pack says of itself (packed.json): what stands elsewhere, and who reduced it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from records.manifest import Git
from records.record import Record

PACKED, REDUCED, LATENCIES = "packed.json", "reduced.parquet", "latencies.parquet"
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
FOLDER_NAME = r"[^./\x00-\x1f\x7f-\x9f][^/\x00-\x1f\x7f-\x9f]{0,199}"


def _is_no_link(name: str) -> str:
    if name == "latest":
        raise ValueError("'latest' is no name for a campaign: a link beside the campaigns has it")
    return name


# Folders of these names are made for what comes from elsewhere.
ScenarioName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")]
CampaignName = Annotated[str, Field(pattern=rf"^{FOLDER_NAME}$"), AfterValidator(_is_no_link)]


def _stays_inside(name: str) -> str:
    if "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        raise ValueError(f"{name!r} is not the name of a file inside its folder")
    return name


class Listed(Record):
    """A file and its content.  file: its name inside the folder that is spoken of."""

    file: Annotated[str, AfterValidator(_stays_inside)]
    bytes: int = Field(ge=0)
    sha256: Digest


class Elsewhere(Listed):
    """A file of a trial's folder that a pack left out."""


class Packed(Record):
    """reduced_by: revision of the code that made reduced.parquet from all of the trial's files."""

    version: Literal[1] = 1
    reduced_by: Git
    reduced_sha256: Digest
    elsewhere: tuple[Elsewhere, ...]


def size(count: int) -> str:
    """Bytes as people say them: 78 kB, 16.2 MB."""
    for factor, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= 0.9995 * factor:  # with three digits that is 1
            return f"{count / factor:.3g} {unit}"
    return f"{count} B"


def in_all(files: Sequence[Listed]) -> str:
    """How many files, and how large together."""
    return f"{len(files)} files, {size(sum(one.bytes for one in files))}"
