"""What a delivery's latency is split into, and which deliveries of a trial are told of."""

from __future__ import annotations

LATENCY = "latency"
PARTS = (
    "client", "uplink_recovery", "uplink_air", "wire", "broker", "downlink_recovery", "downlink_air", "receiver",
)  # fmt: skip
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
MEAN = "mean"
KEYS = (MEAN, *PERCENTILES)
