"""Which cells of two campaigns are the same experiment, and what differs between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.compare import describe
from analysis.findings import CellFinding, Findings
from analysis.report.places import place
from analysis.report.provenance import Source
from records.counts import out_of

# Settings that do not change what a trial measures.
_APART = frozenset({"scenario", "question", "compare", "baseline", "trials", "seed", "checks", "capture",
                    "repeat_spoiled"})  # fmt: skip
_MOST_SAID = 4
_TIMED = {True: "yes", False: "no", None: "(not recorded)"}


class NothingToCompare(Exception):
    """The two campaigns are not the same experiment; the message says where they part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """margin: of the mean; share_margin: of metrics that are shares, in shares.  across: settings that may differ."""

    margin: float = 0.05
    share_margin: float = 0.005
    across: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """cells: (of A, of B), in A's order.  warnings: what is left out and which settings differ."""

    cells: tuple[tuple[CellFinding, CellFinding], ...]
    warnings: tuple[str, ...]


def _planned(side: Findings) -> list[CellFinding]:
    """The cells of the campaign's plan; others lack their levels."""
    names = {cell.name for cell in side.campaign.cells}
    return [cell for cell in side.cells if cell.levels or cell.name in names]


def match(a: Findings, b: Findings, across: frozenset[str] = frozenset()) -> Matching:
    """Cells of equal levels.  Raises NothingToCompare when there is none, or settings differ that are not `across`."""
    theirs = {_key(cell): cell for cell in _planned(b)}
    cells = tuple((cell, theirs[_key(cell)]) for cell in _planned(a) if _key(cell) in theirs)
    if not cells:
        raise NothingToCompare(
            f"no cell of {a.folder.name} has the levels of one of {b.folder.name}: "
            f"{_factors(a)} against {_factors(b)}; compare campaigns of one scenario"
        )
    settings = {side.folder: {cell.name: cell.settings for cell in side.campaign.cells} for side in (a, b)}
    parted: list[str] = []
    warnings = [*_left_out(a, b, {one.name for one, _ in cells}, "A"),
                *_left_out(b, a, {other.name for _, other in cells}, "B")]  # fmt: skip
    for one, other in cells:
        first, second = settings[a.folder].get(one.name, {}), settings[b.folder].get(other.name, {})
        for name, left, right in _differences(first.get("settings", {}), second.get("settings", {})):
            said = f"{name}: {left} in A, {right} in B"
            (warnings if _allowed(name, across) else parted).append(said)
        warnings += _profiles_apart(first, second)
    if parted:
        unique = list(dict.fromkeys(parted))
        names = " ".join(dict.fromkeys(f"--across {said.split(':')[0]}" for said in unique))
        raise NothingToCompare(
            f"the campaigns differ in more than what their levels say ({'; '.join(unique[:_MOST_SAID])}); "
            f"if that is what you compare: {names}"
        )
    return Matching(cells=cells, warnings=tuple(dict.fromkeys(warnings)))


def machine_warnings(a: Sequence[Source], b: Sequence[Source]) -> list[str]:
    """Where machine, kernel or software of the two differ, and which ran with uncommitted changes."""
    first, second = _origins(a), _origins(b)
    warnings = [
        f"{name}: {_all(first.get(name))} in A, {_all(second.get(name))} in B"
        for name in dict.fromkeys((*first, *second))
        if first.get(name) != second.get(name)
    ]
    for name, found in (("A", a), ("B", b)):
        changed = sum(source.manifest.git.dirty for source in found if source.manifest)
        if changed:
            warnings.append(f"{name}: {out_of(changed, len(found))} ran with uncommitted changes")
    return warnings


def _all(texts: Sequence[str] | None) -> str:
    return " / ".join(texts) if texts else "unknown"


def _origins(found: Sequence[Source]) -> dict[str, list[str]]:
    """Every value of each fact that one of the trials has, sorted."""
    lines: dict[str, set[str]] = {}
    for manifest in (source.manifest for source in found if source.manifest):
        facts = {
            "machine": f"{manifest.machine.cpu_model}, {manifest.machine.cores} cores",
            "kernel": f"{manifest.kernel.release} ({manifest.kernel.chosen} kernel)",
            "link made by": place(manifest),
            "frames take their transmission time": _TIMED[manifest.transmission_time],
            "stack": manifest.stack,
            "guarantee class": manifest.guarantee_class,
            "clients connected over": manifest.connecting.over if manifest.connecting else "(not recorded)",
        } | {f"version of {name}": text for name, text in manifest.versions.items()}
        for name, text in facts.items():
            lines.setdefault(name, set()).add(text)
    return {name: sorted(texts) for name, texts in lines.items()}


def _key(cell: CellFinding) -> frozenset[tuple[str, str]]:
    return frozenset(cell.levels.items())


def _factors(side: Findings) -> str:
    return " × ".join(f"{name} ({', '.join(levels)})" for name, levels in side.campaign.factors.items()) or "no factor"


def _left_out(side: Findings, other: Findings, kept: set[str], name: str) -> list[str]:
    missing = [describe(cell.levels) or cell.name for cell in side.cells if cell.name not in kept]
    if not missing:
        return []
    more = f" and {len(missing) - _MOST_SAID} more" if len(missing) > _MOST_SAID else ""
    return [f"only in {name}, not compared: {'; '.join(missing[:_MOST_SAID])}{more} ({other.folder.name} lacks them)"]


def _allowed(name: str, across: frozenset[str]) -> bool:
    """`stack` allows stack, `workload` all of its settings."""
    parts = name.split(".")
    return any(".".join(parts[:length]) in across for length in range(1, len(parts) + 1))


def _profiles_apart(first: Mapping[str, Any], second: Mapping[str, Any]) -> Iterator[str]:
    """What differs between the link profiles of a cell in two campaigns: the medium's, and the topology's links'."""
    one, other = ({"": side.get("profile", {}), **side.get("links", {})} for side in (first, second))
    for link in dict.fromkeys((*one, *other)):
        mine, theirs = one.get(link, {}), other.get(link, {})
        found = list(_differences(mine, theirs))
        told = "; ".join(f"{name} {left} in A, {right} in B" for name, left, right in found[:_MOST_SAID])
        if found:
            yield f"link profile {mine.get('name') or theirs.get('name', '')}{link and f' ({link})'}: {told}"


def _differences(
    first: Mapping[str, Any], second: Mapping[str, Any], path: Sequence[str] = ()
) -> Iterator[tuple[str, Any, Any]]:
    """Dotted names of what differs between two records, of which each leaves out what was not chosen."""
    for name in dict.fromkeys((*first, *second)):
        if not path and (name in _APART or name in ("description", "source")):
            continue
        left, right = first.get(name), second.get(name)
        within = [one or {} for one in (left, right) if one is None or isinstance(one, Mapping)]
        if len(within) == 2 and any(within):
            yield from _differences(within[0], within[1], (*path, name))
        elif left != right and not (_not_set(left) and _not_set(right)):
            said = ["(not set)" if _not_set(one) else one for one in (left, right)]
            yield ".".join((*path, name)), said[0], said[1]


def _not_set(value: object) -> bool:
    return value is None or value is False or (isinstance(value, Mapping | Sequence) and not value)
