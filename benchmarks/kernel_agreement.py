"""Whether the lab kernel's trials agree with those of the machine's own kernel, on the same link and seeds.

    python benchmarks/kernel_agreement.py [HOST_CAMPAIGN LAB_CAMPAIGN]

Without campaigns, experiments/scenarios/kernel-agreement.yaml is run on both kernels first (about 25 minutes).
Subscriber throughput must agree within 5 % for 5120-byte bodies, where the link decides, and within 15 % for 100-byte
bodies, where the slower kernel adds to each round trip.  Exit status 1 when it does not.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from analysis.statistics import paired_ratio
from records import window_metrics
from records.store import Trial, trials
from records.verdict import State

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = ROOT / "experiments" / "scenarios" / "kernel-agreement.yaml"
BOUND = {5120: 0.05, 100: 0.15}
METRICS = ("delivered_per_s", "published_per_s", "latency_mean_s", "publish_latency_mean_s")


def campaign_on(kernel: str) -> Path:
    """Run the scenario on a kernel; the campaign's folder."""
    words = [sys.executable, "-m", "lab", "run", str(SCENARIO), "--new", "--no-report", "--kernel", kernel]
    words += ["--medium", "tc"]
    status = subprocess.run(words, cwd=ROOT, check=False).returncode
    if status not in (0, 3):  # else a campaign of another day would be taken for it
        raise SystemExit(f"{' '.join(words)}: ended with status {status}")
    return (ROOT / "results" / "kernel-agreement" / "latest").resolve()


def figures(campaign: Path, kernel: str) -> dict[tuple[int, int], dict[str, float]]:
    """Metrics of each valid trial, by body size and trial number."""
    found = {}
    for trial in trials(campaign):
        manifest = trial.manifest()
        if manifest.kernel.chosen != kernel:
            raise SystemExit(f"{trial.path}: this trial ran on kernel {manifest.kernel.chosen}, not {kernel}")
        state = trial.verdict().state
        if state is not State.VALID:
            print(f"left out: {trial.path} is {state}: {'; '.join(trial.verdict().reasons())}")
            continue
        found[manifest.workload.asked.mean_body_bytes, trial.number] = _metrics(trial)
    return found


def _metrics(trial: Trial) -> dict[str, float]:
    manifest = trial.manifest()
    tables = trial.table("published"), trial.table("delivered")
    return window_metrics.figures(*tables, manifest.window, manifest.workload.audiences)


def _row(body: int, metric: str, pairs: list[tuple[float, float]]) -> tuple[str, float]:
    """A printed line, and the ratio (nan where there is none)."""
    found = paired_ratio(pairs)
    host, inside = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
    interval = f"({found.low:.3f} to {found.high:.3f})" if found.low is not None and found.high is not None else ""
    ratio = float("nan") if found.ratio is None else found.ratio
    return f"{body:>6} {metric:<22} {host:>10.4g} {inside:>10.4g}   {ratio:.3f} {interval}", ratio


def main() -> int:
    """Print the ratios; 1 when a throughput differs by more than its bound."""
    folders = [Path(word) for word in sys.argv[1:3]] or [campaign_on("host"), campaign_on("lab")]
    host, inside = figures(folders[0], "host"), figures(folders[1], "lab")
    outside = 0
    print(f"{'body':>6} {'metric':<22} {'host':>10} {'lab':>10}   lab / host (95 % interval, paired by seed)")
    for body, bound in BOUND.items():
        both = [key for key in host if key in inside and key[0] == body]
        if not both:
            print(f"{body:>6} no seed with a valid trial on both kernels")
            outside += 1
            continue
        for metric in METRICS:
            pairs = [(host[key][metric], inside[key][metric]) for key in both]
            row, ratio = _row(body, metric, pairs)
            if metric == "delivered_per_s":
                agrees = abs(ratio - 1) <= bound
                outside += not agrees
                row += f"  {'agrees' if agrees else 'DIFFERS'} (bound {bound:.0%}, {len(pairs)} pairs)"
            print(row)
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
