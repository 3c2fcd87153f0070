"""An invented study as somebody would write it: three networks, numeric axes, values that are about, at least, at most.

Throughput over 1 to 32 nodes grows by 1000 messages per second for each node up to 8, and by 20 beyond.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from analysis.claims.comparisons import Quantity
from analysis.findings import CellFinding, Findings, Standing, TrialFinding
from analysis.papers import Paper
from records import campaign as records

RECORD = """\
name: small
title: How an invented overlay grows
authors: Nobody, 2026
networks: {lan: wireline-100m, wifi: 80211n-poor, satellite: geo-satellite}
about_within_percent: 10
figures:
  - figure: 5.1
    title: Throughput by nodes
    x: {label: nodes, scale: log}
    y: {scale: log}
  - figure: 5.2
    title: Latency by distance
    x: {label: distance in km, scale: linear}
  - figure: 6
    title: Ways to send
    x: {label: way}
"""
_PUBLISHED = """\
# Nobody, How an invented overlay grows, 2026.  Read off figures 5.1 and 5.2; figure 6 is printed.
figure,series,x,metric,unit,value,how_exact,network,case
5.1,64 B,1,delivered_per_s,1/s,1000,printed,lan,n1
5.1,64 B,2,delivered_per_s,1/s,2000,about,lan,n2
5.1,64 B,4,delivered_per_s,1/s,4000,printed,lan,n4
5.1,64 B,8,delivered_per_s,1/s,8000,printed,lan,n8
5.1,64 B,16,delivered_per_s,1/s,8160,printed,lan,n16
5.1,64 B,32,delivered_per_s,1/s,8480,at_least,lan,n32
5.1,64 B,1,delivered_per_s,1/s,100,about,wifi,n1
5.1,64 B,8,delivered_per_s,1/s,800,about,wifi,n8
5.1,64 B,1,delivered_per_s,1/s,10,about,satellite,n1
5.1,64 B,8,delivered_per_s,1/s,80,at_most,satellite,n8
5.1,no copies,1,delivered_per_s,1/s,900,derived,lan,plain1
5.1,no copies,8,delivered_per_s,1/s,5000,printed,lan,plain8
5.2,near,0,latency_p50_s,ms,0.5,printed,lan,near0
5.2,near,100,latency_p50_s,ms,1.5,printed,lan,near100
5.2,far,100,latency_p50_s,ms,40,about,wifi,far100
6,broadcast,one by one,delivered_per_s,1/s,500,printed,lan,single
6,broadcast,all at once,delivered_per_s,1/s,1500,printed,lan,together
"""
CLAIMS = """\
words:
  about: {above: 0.8, below: 1.25, of: number}
claims:
  - id: grows
    section: "5.1"
    finding: Up to eight nodes each adds about a thousand messages per second.
    tests:
      - {test: slope, metric: delivered_per_s, network: lan, series: [n1, n2, n4, n8], at: [1, 2, 4, 8],
         word: about, number: 1000}
  - id: saturates
    section: "5.1"
    finding: Beyond about eight nodes the cluster is full.
    tests:
      - {test: fitted_knee, series: {figure: 5.1, name: 64 B}, network: lan, above: 6, below: 12}
  - id: three-ways
    section: "6"
    finding: Sending to all at once makes as much as three times one by one.
    tests:
      - {test: sum, metric: delivered_per_s, network: lan, cases: [single, single, single], equals: together,
         within_percent: 5}
  - id: wifi-tenth
    section: "5.1"
    finding: On Wi-Fi a tenth of that is left with eight nodes, or less.
    tests:
      - {test: ratio, metric: delivered_per_s, network: wifi, cases: [n8], over: {network: wifi},
         under: {network: lan}, below: 0.2}
"""


def write_study(folder: Path, *, record: str = RECORD, published: str = _PUBLISHED, claims: str = CLAIMS) -> Path:
    """The study's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("paper.yaml", record), ("published.csv", published), ("claims.yaml", claims)):
        (folder / name).write_text(text)
    return folder


def changed(old: str, new: str, text: str = _PUBLISHED) -> str:
    """The text with one place changed."""
    assert text.count(old) == 1, old
    return text.replace(old, new)


def campaign(paper: Paper, folder: Path, *, trials: int = 4, noise: float = 0.01) -> Findings:
    """Invented results: what was published, and so for each trial, with some noise."""
    generator = np.random.default_rng(3)
    values = {quantity: point.value for quantity, point in paper.published().values.items()}
    cells = tuple(
        CellFinding(
            name=f"case={case},network={profile}", levels={"case": case, "network": profile},
            trials=tuple(
                TrialFinding(case, number, 100 + number, standing=Standing.VALID, metrics={
                    metric: values[quantity] * float(np.exp(generator.normal(0, noise)))
                    for metric in paper.metrics
                    if (quantity := Quantity(case, network, metric)) in values
                })
                for number in range(1, trials + 1)
            ),
        )
        for case, network in dict.fromkeys((quantity.case, quantity.network) for quantity in values)
        for profile in [paper.networks[network]]
    )  # fmt: skip
    planned = records.Campaign(
        scenario="small", digest="d" * 64, created="2026-11-23T12:00:00Z", seed=1,
        factors={"network": tuple(paper.networks.values())}, baseline=None,
        cells=tuple(records.Cell(name=one.name, levels=one.levels, settings={"settings": {}}) for one in cells),
        order=(),
    )  # fmt: skip
    return Findings(campaign=planned, folder=folder, cells=cells)
