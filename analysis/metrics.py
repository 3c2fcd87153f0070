"""The closed list of metrics: those of the modules in analysis/measures, and these.

Words in braces are those of a pattern (records.words).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from analysis.measure import known
from analysis.metric import Metric
from records.commands import DURATION, FAILED
from records.latency import LATENCIES, of_arrivals
from records.words import Words
from records.workload import words_of

_ALL = (
    Metric(
        name="delivered_per_s", label="{Received}", unit="1/s", better="higher",
        about="{messages} that reached a {receiver} for the first time inside the window, all {receivers} together",
    ),
    Metric(
        name="published_per_s", label="{Sent}", unit="1/s", better="higher",
        about="sends that {answerer} answered inside the window, all {senders} together",
    ),
    Metric(
        name="goodput_bit_s", label="Goodput", unit="bit/s", better="higher",
        about="message bodies delivered inside the window",
    ),
    Metric(
        name="latency_mean_s", label="Mean {latency}", unit="s", better="lower",
        about="from the scheduled send to the first arrival, until the drain's end, of {messages} due to be sent in "
        "the window; what never came took at least until then, and makes it a lower bound (≥)",
    ),
    Metric(name="latency_p50_s", label="Median {latency}", unit="s", better="lower", about="as the mean"),
    Metric(name="latency_p95_s", label="95th percentile of {latency}", unit="s", better="lower", about="as the mean"),
    Metric(name="latency_p99_s", label="99th percentile of {latency}", unit="s", better="lower", about="as the mean"),
    Metric(
        name="publish_latency_mean_s", label="Mean {answer}", unit="s", better="lower",
        about="from the scheduled send to {answerer}'s answer, until the drain's end, of sends due inside the window",
    ),
    Metric(
        name="response_p50_s", label="Median response time", unit="s", better="lower",
        about="from the scheduled request to its reply at the caller, until the drain's end, of requests due to be "
        "sent in the window; what was never answered took at least until then, and makes it a lower bound (≥)",
    ),
    Metric(
        name="response_p95_s", label="95th percentile of response time", unit="s", better="lower",
        about="as the median",
    ),
    Metric(
        name="response_p99_s", label="99th percentile of response time", unit="s", better="lower",
        about="as the median",
    ),
    Metric(
        name="loss_share", label="{Messages} lost", unit="share", better="lower",
        about="of the {messages} that {receivers} should have had, whole trial: answered, overtaken, never arrived",
    ),
    Metric(
        name="in_doubt_share", label="{Messages} in doubt", unit="share", better="lower",
        about="of the {messages} that {receivers} should have had, whole trial: missing, nothing later arrived either",
    ),
    Metric(
        name="duplicate_share", label="Duplicates", unit="share", better="lower",
        about="deliveries beyond the first, per message delivered, whole trial",
    ),
    Metric(
        name="reordered_share", label="Reordered", unit="share", better="lower",
        about="{messages} that arrived after a later one of their {sender}, whole trial",
    ),
    Metric(name="refused", label="Sends refused", unit="count", better="lower", about="whole trial"),
    Metric(
        name="longest_silence_s", label="Longest silence", unit="s", better="lower",
        about="longest time inside the window in which no {receiver} received anything",
    ),
    Metric(
        name="lost", label="{Messages} lost, number", unit="count", better="lower",
        about="answered, overtaken, never arrived; whole trial, all {receivers} together",
    ),
    Metric(
        name="interruptions", label="Interruptions", unit="count", better=None,
        about="outages and handovers of the link, and times when a {receiver} was away, over before the window's end; "
        "each counts once for each {receiver}, those that touch as one",
    ),
    Metric(
        name="back_after_s", label="First {message} after an interruption", unit="s", better="lower",
        about="from the end of an interruption to the {receiver}'s first {message}, mean over interruptions",
    ),
    Metric(
        name="caught_up_after_s", label="Caught up after an interruption", unit="s", better="lower",
        about="from the end of an interruption to the last {message} that it held up, or the first after it, mean",
    ),
    Metric(
        name="held_up", label="{Messages} held up", unit="count", better="lower",
        about="due before the end of an interruption, arrived after it",
    ),
    Metric(
        name="held_up_worst_s", label="Worst latency of those held up", unit="s", better="lower",
        about="longest latency of a {message} that an interruption held up",
    ),
    Metric(
        name="not_back", label="{Receivers} that heard nothing more", unit="count", better="lower",
        about="interruptions after which the {receiver} had no {message} before the next one, or at all",
    ),
    Metric(
        name="air_utilisation", label="Link utilisation", unit="share", better=None,
        about="bytes at layer 2 through the busiest queue of the link, of its rate, inside the window",
    ),
    Metric(
        name="air_bytes_per_delivery", label="Link bytes per delivery", unit="B", better="lower",
        about="bytes at layer 2 through all queues of the link, per delivered message, inside the window",
    ),
    Metric(
        name="retr_share_uplink", label="Retransmitted or overtaken, uplink", unit="share", better="lower",
        about="of the packets with payload, captured before the link, inside the window",
    ),
    Metric(
        name="retr_share_downlink", label="Retransmitted or overtaken, downlink", unit="share", better="lower",
        about="of the packets with payload, captured before the link, inside the window",
    ),
    Metric(
        name="recovery_share_uplink", label="Time in loss recovery, uplink", unit="share", better="lower",
        about="of the window, mean over the flows, each weighing as many as it sent packets with payload",
    ),
    Metric(
        name="recovery_share_downlink", label="Time in loss recovery, downlink", unit="share", better="lower",
        about="of the window, mean over the flows, each weighing as many as it sent packets with payload",
    ),
    Metric(
        name="rtt_mean_uplink_s", label="Mean TCP round trip, uplink", unit="s", better="lower",
        about="station to server and back, seen at the link's near end, unambiguous samples only (Karn)",
    ),
    Metric(
        name="rtt_mean_downlink_s", label="Mean TCP round trip, downlink", unit="s", better="lower",
        about="server to station and back, seen at the link's near end, unambiguous samples only (Karn)",
    ),
    Metric(
        name="copies_uplink", label="Transmissions, uplink", unit="count", better="lower",
        about="how often each byte of a message entered the link, mean over attributed messages",
    ),
    Metric(
        name="copies_downlink", label="Transmissions, downlink", unit="count", better="lower",
        about="how often each byte of a message entered the link, mean over attributed deliveries",
    ),
    Metric(
        name="hops_mean", label="Hops between nodes", unit="count", better="lower",
        about="of the attributed, each way that a message or a reply took, mean, as the stack's own nodes stamped it",
    ),
    Metric(
        name="journey_share", label="{Followed} attributed", unit="share", better=None,
        about="of the {followed} of what was sent inside the window, those whose time captures or stamps split into "
        "parts",
    ),
    Metric(
        name="published_from_go_per_s", label="{Sent}, from go", unit="1/s", better=None,
        about="sends begun between go and the window's end and answered whenever, by that time",
    ),
    Metric(
        name="delivered_from_go_per_s", label="{Received}, from go", unit="1/s", better=None,
        about="first deliveries, until the drain's end, of {messages} sent between go and the window's end, by that "
        "time",
    ),
    Metric(
        name="latency_from_go_mean_s", label="Mean {latency}, from go", unit="s", better=None,
        about="as the mean, of all that was due to be sent between go and the window's end",
    ),
    Metric(
        name="backlog_growth_share", label="Backlog growth", unit="share", better="lower",
        about="how many more {messages} were under way at the window's end than at its start, of those sent inside it",
    ),
    Metric(
        name=DURATION, label="Duration", unit="s", better="lower",
        about="from the start of a client's program to its end, mean over the stations, failed ones included; one that "
        "was killed at the drain's end makes it a lower bound (≥)",
    ),
    Metric(
        name=FAILED, label="Programs that failed", unit="count", better="lower",
        about="clients' programs that ended with another status than 0, or were killed since they did not end",
    ),
    Metric(
        name="tcp_payload_uplink_bit_s", label="TCP payload into the link, uplink", unit="bit/s", better="higher",
        about="payload that entered the link for the first time inside the window, by its length, all flows together",
    ),
    Metric(
        name="tcp_payload_downlink_bit_s", label="TCP payload into the link, downlink", unit="bit/s", better="higher",
        about="payload that entered the link for the first time inside the window, by its length, all flows together",
    ),
    Metric(
        name="deliveries", label="Deliveries counted", unit="count", better=None,
        about="first deliveries inside the window: the sample behind throughput",
    ),
)  # fmt: skip

_LATENCIES = {metric.name: metric for metric in _ALL if metric.name in LATENCIES}
_OF_ARRIVALS = tuple(
    replace(
        metric, name=of_arrivals(name), label=f"{metric.label}, of arrivals",
        about="the older definition: of what arrived (or was answered) inside the window, or from go arrived at all, "
        "whenever it was sent; where a backlog grows it depends on the window's length",
    )
    for name, metric in _LATENCIES.items()
)  # fmt: skip

# Of cases that a study computes or simulates (docs/adding-a-study.md), which say what it is.  No trial has them.
COMPUTED = (
    Metric(name="computed_number", label="Number", unit="count", better=None, about="computed or simulated"),
    Metric(name="computed_share", label="Share", unit="share", better=None, about="computed or simulated"),
)

OWN = (*_ALL, *_OF_ARRIVALS, *COMPUTED)
# By name: the modules of analysis/measures, and why each other one there cannot be used.
MODULES, BROKEN = known({metric.name: "analysis/metrics.py" for metric in OWN})
_OF_MODULES = tuple(metric for module in MODULES.values() for metric in module.METRICS)

_DECLARED = {metric.name: metric for metric in (*OWN, *_OF_MODULES)}


@cache
def worded(words: Words) -> Mapping[str, Metric]:
    """All metrics by name, with labels in these words."""
    return {
        name: replace(one, label=words.fill(one.label), about=words.fill(one.about), each=one.each or words.short)
        for name, one in _DECLARED.items()
    }


METRICS = worded(words_of(()))
COMPARED = (
    "delivered_per_s", "published_per_s", "goodput_bit_s", "latency_p50_s", "latency_p95_s", "latency_p99_s",
    "publish_latency_mean_s", "response_p50_s", "response_p95_s", "response_p99_s",
    "loss_share", "in_doubt_share", "longest_silence_s", "air_utilisation",
    "air_bytes_per_delivery",
    "retr_share_uplink", "retr_share_downlink", "recovery_share_uplink", "recovery_share_downlink",
    "rtt_mean_uplink_s", "rtt_mean_downlink_s", *(metric.name for metric in _OF_MODULES if metric.compared),
)  # fmt: skip
LEADS = tuple(metric.name for metric in _OF_MODULES if metric.leads)
# Of what programs' packets say, and of the link: what a reader of messages looks for has these as well.
OF_PACKETS = (
    "air_utilisation", "retr_share_uplink", "retr_share_downlink", "recovery_share_uplink", "recovery_share_downlink",
    "rtt_mean_uplink_s", "rtt_mean_downlink_s",
)  # fmt: skip
PAYLOADS = ("tcp_payload_uplink_bit_s", "tcp_payload_downlink_bit_s")
CHIEF = ("delivered_per_s", "published_per_s", "latency_p50_s", "latency_p99_s", "loss_share")  # of lab compare
INTERRUPTED = (
    "interruptions", "back_after_s", "caught_up_after_s", "held_up", "held_up_worst_s", "lost", "not_back",
)  # fmt: skip
KEY = ("delivered_per_s", "published_per_s", "latency_p50_s", "response_p50_s", "loss_share", "air_utilisation")
