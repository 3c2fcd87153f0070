"""What tests look for in a report: its cells, the rows of its tables, everything that a page refers to."""

from __future__ import annotations

import csv
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from analysis.findings import Findings

WIRED, AIR = "wireline-100m_100_ndnp", "nistnet-80211_100_ndnp"


def pair(findings: Findings) -> Findings:
    """Its cells of small messages without guarantees only: a report of few plots is written soon."""
    return replace(findings, cells=tuple(cell for cell in findings.cells if cell.name in (WIRED, AIR)))


def rows(report: Path, table: str) -> list[dict[str, str]]:
    """Of one of a report's tables."""
    with (report.parent / "tables" / f"{table}.csv").open() as file:
        return list(csv.DictReader(file))


class References(HTMLParser):
    """Everything a page would fetch, the anchors it points to and has, and the other pages it points to."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.targets: set[str] = set()
        self.pages: set[str] = set()
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if "id" in values:
            assert values["id"] not in self.ids
            self.ids.add(values["id"])
        if tag == "a" and values["href"].startswith("#"):
            self.targets.add(values["href"].removeprefix("#"))
        elif tag == "a":
            self.pages.add(values["href"])
        else:
            self.fetched += [values[name] for name in ("src", "href") if name in values]
