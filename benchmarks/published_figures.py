"""What the emulated channel of the 2005 pub/sub study carries, against what the study published.

    python benchmarks/published_figures.py [CAMPAIGN]

CAMPAIGN: a finished campaign of experiments/scenarios/fan-out-5k.yaml with its report; without one, the scenario is run
first (10 minutes).  Exit status 1 when a figure is outside its band.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from analysis.report import summary

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = ROOT / "experiments" / "scenarios" / "fan-out-5k.yaml"
# Publishers-subscribers-topics: metric, published value (messages/s), and the band that counts as the same channel.
PUBLISHED = {
    "1-50-1": {"delivered_per_s": (19.3, 17.0, 21.0)},
    "1-1-1": {"published_per_s": (7.6, 7.0, 9.5), "delivered_per_s": (7.6, 7.0, 9.5)},
}


def main() -> int:
    """Print a row per figure; 1 when one is outside its band."""
    if len(sys.argv) > 1:
        campaign = Path(sys.argv[1])
    else:
        subprocess.run([sys.executable, "-m", "lab", "run", str(SCENARIO), "--new"], cwd=ROOT, check=True)
        campaign = ROOT / "results" / "fan-out-5k" / "latest"
    outside = 0
    print(f"{'clients':<8} {'metric':<18} {'published':>10} {'measured':>18} {'band':>13}")
    for cell in summary(campaign).cells:
        for metric, (published, low, high) in PUBLISHED[cell.levels["clients"]].items():
            found = cell.metrics[metric]
            inside = low <= found.mean <= high
            outside += not inside
            band = f"{low:g} to {high:g}"
            row = f"{cell.levels['clients']:<8} {metric:<18} {published:>10} {found.text:>18} {band:>13}"
            print(f"{row}  {'inside' if inside else 'OUTSIDE'}")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
