"""What a trial's ledger says of its window: one definition for those who run trials and those who analyse them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from records.audience import Audience, of_messages
from records.latency import QUANTILES, latencies, of_arrivals
from records.ledger import first_deliveries, message_keys
from records.manifest import Window
from records.schema import Outcome
from records.waits import read_sent

# What trials may be repeated for until it is precise, see records.stopping.
FIGURES = (
    "delivered_per_s", "published_per_s", "goodput_bit_s", "latency_mean_s", "publish_latency_mean_s",
    *QUANTILES,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """A trial's ledger as the metrics need it; times in CLOCK_MONOTONIC nanoseconds.

    t_ack, publish_latency: of sends that were answered and accepted.  consumer, t_recv, latency, body_bytes: one per
    first delivery of a message that the ledger knows to an audience; replies are in `t_ack` alone.
    """

    t_ack: np.ndarray
    publish_latency: np.ndarray
    consumer: np.ndarray
    t_recv: np.ndarray
    latency: np.ndarray
    body_bytes: np.ndarray


def read_ledger(published: pa.Table, delivered: pa.Table, them: Sequence[Audience]) -> Ledger:
    """Match first deliveries with their publications.  Tables have the shapes of records.schema."""
    sent = {name: published.column(name).to_numpy() for name in ("producer", "seq", "t_sched_ns", "body_bytes")}
    ack = published.column("t_ack_ns")
    outcome = published.column("outcome").to_numpy()
    acked = ack.is_valid().to_numpy() & (outcome == Outcome.ACKED)
    t_ack = ack.fill_null(0).to_numpy()[acked]
    first = first_deliveries(delivered, of_messages(them))
    got = {name: delivered.column(name).to_numpy()[first] for name in ("consumer", "producer", "seq", "t_recv_ns")}
    sent_keys = message_keys(sent["producer"], sent["seq"])
    order = np.argsort(sent_keys, kind="stable")
    got_keys = message_keys(got["producer"], got["seq"])
    at = np.searchsorted(sent_keys[order], got_keys)
    at[at == len(order)] = 0
    known = sent_keys[order][at] == got_keys if len(order) else np.zeros(len(got_keys), dtype=bool)
    row = order[at[known]]
    t_recv = got["t_recv_ns"][known]
    return Ledger(
        t_ack=t_ack,
        publish_latency=t_ack - sent["t_sched_ns"][acked],
        consumer=got["consumer"][known],
        t_recv=t_recv,
        latency=t_recv - sent["t_sched_ns"][row],
        body_bytes=sent["body_bytes"][row],
    )


def window_metrics(ledger: Ledger, window: Window) -> dict[str, float | None]:
    """Throughputs and goodput inside the window, and latencies by the older definition; None without a sample."""
    answered = inside(ledger.t_ack, window)
    arrived = inside(ledger.t_recv, window)
    latency = ledger.latency[arrived] / 1e9
    publish = ledger.publish_latency[answered] / 1e9
    metrics: dict[str, float | None] = {
        **_from_go(ledger, window),
        "published_per_s": np.count_nonzero(answered) / window.seconds,
        "delivered_per_s": np.count_nonzero(arrived) / window.seconds,
        "deliveries": float(np.count_nonzero(arrived)),
        "goodput_bit_s": 8 * float(ledger.body_bytes[arrived].sum()) / window.seconds,
        of_arrivals("latency_mean_s"): float(latency.mean()) if len(latency) else None,
        of_arrivals("publish_latency_mean_s"): float(publish.mean()) if len(publish) else None,
        "longest_silence_s": longest_silence(ledger.t_recv[arrived], window),
    }
    quantiles = np.quantile(latency, list(QUANTILES.values())).tolist() if len(latency) else [None] * 3
    return metrics | dict(zip(map(of_arrivals, QUANTILES), quantiles, strict=True))


def _from_go(ledger: Ledger, window: Window) -> dict[str, float | None]:
    """All that was sent between go and the window's end, whenever it was answered or arrived, by that time.

    In a closed loop each publisher has one message under way when the time is up: it is in this count, and its like at
    the beginning is not taken off, so N publishers and T seconds make it N / T per second larger.
    """
    seconds = (window.end_ns - window.go_ns) / 1e9
    latency = ledger.latency[ledger.t_recv - ledger.latency < window.end_ns] / 1e9
    return {
        "published_from_go_per_s": np.count_nonzero(ledger.t_ack - ledger.publish_latency < window.end_ns) / seconds,
        "delivered_from_go_per_s": len(latency) / seconds,
        of_arrivals("latency_from_go_mean_s"): float(latency.mean()) if len(latency) else None,
    }


def longest_silence(t_recv: np.ndarray, window: Window) -> float:
    """Seconds of the longest gap between neighbouring arrivals; the window's edges count as arrivals."""
    edges = np.concatenate([[window.start_ns], np.sort(t_recv), [window.end_ns]])
    return float(np.diff(edges).max()) / 1e9


def figures(published: pa.Table, delivered: pa.Table, window: Window, them: Sequence[Audience]) -> dict[str, float]:
    """The FIGURES that a trial has, in SI units.

    A latency without a sample is left out, and so is one that is a lower bound: bounds never end a repetition.
    """
    rates = window_metrics(read_ledger(published, delivered, them), window)
    found = rates | {
        name: None if figure.at_least else figure.value
        for name, figure in latencies(read_sent(published, delivered, them), window).items()
    }
    return {name: value for name in FIGURES if (value := found.get(name)) is not None}


def inside(t_ns: np.ndarray, window: Window) -> np.ndarray:
    """Mask: which moments are inside the window."""
    found: np.ndarray = (t_ns >= window.start_ns) & (t_ns < window.end_ns)
    return found
