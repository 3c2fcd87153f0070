"""Where the numbers come from: machine, software, kernel state, captures, and what the link delivered."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from analysis.findings import CellFinding, Findings, folder_of
from analysis.metric import Metric, Unit
from analysis.report import timeline
from analysis.report.connecting import connected, known_at_start
from analysis.report.places import place
from analysis.units import quantity
from records.counts import out_of
from records.link import LinkCheck, LinkProof
from records.manifest import Manifest
from records.packed import Elsewhere, Packed, in_all, size
from records.store import DamagedTrial, Trial
from records.verdict import Verdict

R = TypeVar("R")
_UNITS: dict[str, Unit] = {
    "rate": "bit/s", "delay": "s", "jitter": "s", "loss": "share", "losses": "count", "duplicates": "count",
    "damage": "count", "reordered": "count", "fates": "s", "bypass": "count", "change": "s",
    "group": "count", "group_air": "count",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What one trial's files say of its origin; None where they cannot be read.

    packed: of a trial that came out of a pack.  elsewhere: files that the pack left out and that are not here.
    """

    cell: CellFinding
    number: int
    manifest: Manifest | None
    link: LinkProof | None
    verdict: Verdict | None
    packed: Packed | None = None
    elsewhere: tuple[Elsewhere, ...] = ()


def sources(findings: Findings) -> list[Source]:
    """What every trial that was run says of itself."""
    return [
        _source(cell, finding.number, Trial(finding.path))
        for cell in findings.cells
        for finding in cell.trials
        if finding.path is not None
    ]


def _source(cell: CellFinding, number: int, trial: Trial) -> Source:
    manifest = _read(trial.manifest)
    return Source(
        cell=cell, number=number, manifest=manifest, link=_read(lambda: trial.link(manifest)),
        verdict=_read(trial.verdict), packed=_read(trial.packed), elsewhere=_read(trial.elsewhere) or (),
    )  # fmt: skip


def _read(record: Callable[[], R]) -> R | None:
    try:
        return record()
    except DamagedTrial:
        return None


def facts(found: Sequence[Source]) -> list[tuple[str, str]]:
    """What all trials share, one line each; where trials differ, every value is listed."""
    manifests = [source.manifest for source in found if source.manifest]
    of_messages = [m for m in manifests if not m.programs]
    lines: dict[str, list[str]] = {
        "Stack": [f"{m.stack}, guarantee class {m.guarantee_class}" for m in of_messages],
        "Programs": [shlex.join(one.command) for m in manifests for one in m.programs[:1]],
        "Git revision": [m.git.text for m in manifests],
        "Kernel": [f"{m.kernel.release} ({m.kernel.chosen} kernel)" for m in manifests],
        "Link made by": [place(m) for m in manifests],
        "Machine": [
            f"{m.machine.cpu_model}, {m.machine.cores} cores, {m.machine.memory_bytes / 2**30:.1f} GiB"
            for m in manifests
        ],
        "Side by side": [_beside(manifests)],
        "Shared machine": [_shared(manifests)],
        "Captures": [_captures(manifests)],
        "Clients connected": connected(of_messages),
        "Known to TCP at the window's start": known_at_start(manifests),
        "Load before a trial": _range([m.machine.load_1m_before for m in manifests]),
        "Measurement window": [f"{m.window.seconds:g} s" for m in manifests],
        "First window": [min((m.window.started_at for m in manifests), default="")],
        "Last window": [max((m.window.started_at for m in manifests), default="")],
        "Out of a pack": [_out_of_a_pack(found)],
        "Versions": [", ".join(f"{name} {version}" for name, version in m.versions.items()) for m in manifests],
    }
    return [(name, " / ".join(dict.fromkeys(values))) for name, values in lines.items() if any(values)]


def _out_of_a_pack(found: Sequence[Source]) -> str:
    packed = [source.packed for source in found if source.packed and source.elsewhere]
    if not packed:
        return ""
    revisions = dict.fromkeys(one.reduced_by.text for one in packed)
    away = [one for source in found for one in source.elsewhere]
    return (
        f"{out_of(len(packed), len(found))}, reduced at revision {', '.join(revisions)}; "
        f"captures, ledgers and logs that are not here stand where they were packed: {in_all(away)}"
    )


def elsewhere_lines(found: Iterable[Source]) -> list[tuple[str, str, str]]:
    """Every file that is not here: name, size, sha256."""
    return [
        (f"{folder_of(source.cell.name, source.number)}/{one.file}", size(one.bytes), one.sha256)
        for source in found for one in source.elsewhere
    ]  # fmt: skip


def _captures(manifests: Sequence[Manifest]) -> str:
    """Of how many trials the packets were recorded and stayed; empty when of all."""
    off = sum(not m.captures for m in manifests)
    gone = sum(bool(m.captures) and not any(one.kept for one in m.captures) for m in manifests)
    said = ((off, "without captures"), (gone, "whose captures were counted and not kept"))
    told = ", ".join(f"{count} trial{'s' * (count > 1)} {what}" for count, what in said if count)
    stamped = all("stamps" in m.rows for m in manifests)  # then journeys are told by the stack's own nodes
    lacks = "no TCP figures" if stamped else "no TCP figures and no journeys"
    return f"{told}, of {len(manifests)}: without them there are {lacks}" if told else ""


def _beside(manifests: Sequence[Manifest]) -> str:
    beside = sum(bool(m.beside) for m in manifests)
    return f"{out_of(beside, len(manifests))} ran at the same time as others of the campaign" if beside else ""


def _shared(manifests: Sequence[Manifest]) -> str:
    shared = sum(bool(m.shared_machine) for m in manifests)
    return f"in {out_of(shared, len(manifests))} what others used of it was told, not judged" if shared else ""


def _range(values: list[float]) -> list[str]:
    return [f"{min(values):.2f} to {max(values):.2f} (1 minute average)"] if values else []


def link_rows(found: Iterable[Source]) -> list[dict[str, Any]]:
    """Asked against delivered: one row per link profile, quantity, direction, way of measuring it (which path, which
    state) and what was asked, over all its trials."""
    grouped: dict[tuple[str, str, str, str, float], list[LinkCheck]] = {}
    for source in found:
        for segment, check in _checks(source):
            whole = segment is source.link
            profile = segment.profile if whole else f"{segment.profile} ({segment.segment})"
            key = (profile, check.quantity, check.direction, _measured(check), check.asked)
            grouped.setdefault(key, []).append(check)
    return [_link_row(key, checks) for key, checks in grouped.items()]


def _measured(check: LinkCheck) -> str:
    """How, on which path and in which state of the link."""
    how = "probe before the cell" if check.source == "probe" else "counters of the trial"
    return ", ".join(filter(None, (how, check.path, check.state and f"after {check.state}")))


def _checks(source: Source) -> Iterator[tuple[LinkProof, LinkCheck]]:
    """Those of every segment of a trial's network, with its proof."""
    for segment in source.link.segments if source.link else ():
        for check in segment.checks:
            yield segment, check


def _link_row(key: tuple[str, str, str, str, float], checks: list[LinkCheck]) -> dict[str, Any]:
    profile, name, direction, measured, asked = key
    metric = Metric(name=name, label=name, unit=_UNITS[name], better=None, about="")

    def span(values: Iterable[float]) -> str:
        ends = sorted(values)
        low, high = quantity(metric, ends[0]), quantity(metric, ends[-1])
        return low if low == high else f"{low} to {high}"

    held = sum(check.holds for check in checks)
    row = {
        "profile": profile, "quantity": name, "direction": direction,
        "source": measured,
        "asked": quantity(metric, asked), "delivered": span(check.delivered for check in checks),
        "tolerance": f"{span(check.low for check in checks)} … {span(check.high for check in checks)}",
        "held": f"{held} of {len(checks)}", "holds": held == len(checks),
    }  # fmt: skip
    return row | timeline.worst(checks) if name == "change" else row


def dumps(found: Iterable[Source]) -> list[tuple[str, str]]:
    """Kernel state and sysctls of the first readable trial of each link profile: title and text."""
    texts: list[tuple[str, str]] = []
    seen: set[str] = set()
    for source in found:
        if source.manifest is None or (profile := source.manifest.profile.get("name", "")) in seen:
            continue
        seen.add(profile)
        where = f"{folder_of(source.cell.name, source.number)}"
        texts += [(f"{command} — {where}", text) for command, text in source.manifest.kernel_state.items()]
        sysctls = "\n".join(
            f"{node}: {name} = {value}"
            for node, values in source.manifest.sysctls.items()
            for name, value in values.items()
        )
        if sysctls:
            texts.append((f"sysctls — {where}", sysctls))
    return texts


def capture_lines(found: Iterable[Source]) -> list[tuple[str, int, int, str]]:
    """Every capture: file, packets, drops, sha256 (empty: not kept)."""
    return [
        (f"{folder_of(source.cell.name, source.number)}/{capture.file}", capture.packets, capture.dropped,
         capture.sha256)
        for source in found if source.manifest for capture in source.manifest.captures
    ]  # fmt: skip


def loss_lines(found: Iterable[Source]) -> list[tuple[str, str]]:
    """Every loss list: which trial and direction, and what was listed."""
    return [
        (f"{folder_of(source.cell.name, source.number)} {one.direction}",
         f"{one.model}, seed {one.seed}: {one.listed} of every {one.modulus} packets, sha256 {one.sha256[:16]}…")
        for source in found if source.link for one in source.link.loss_lists
    ]  # fmt: skip
