from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_rows import delivered, published
from synthetic_campaign import DRAINED, END, GO, SECOND, START, WINDOW, Load, link, resources, tables

from analysis.ledger import account_metrics, latency_ecdf
from analysis.medium import medium_metrics, part_of
from analysis.series import edges, ledger_series, queue_series
from records.audience import Audience
from records.latency import latencies, sent_in_window
from records.schema import PUBLISHED, Outcome
from records.waits import Lengths, read_sent
from records.window_metrics import longest_silence, read_ledger, window_metrics

THEM = (Audience(consumers=(10,), topic=0),)


def test_throughputs_and_latencies_are_those_worked_out_by_hand() -> None:
    sends = published([
        (0, -0.5, -0.1, Outcome.ACKED),  # answered before the window
        (1, 0.0, 0.2, Outcome.ACKED),
        (2, 1.0, 1.6, Outcome.ACKED),
        (3, 7.9, 8.1, Outcome.ACKED),  # answered after it
        (4, 3.0, None, Outcome.IN_DOUBT),
        (5, 4.0, 4.1, Outcome.FAILED),
    ])  # fmt: skip
    arrivals = delivered([(0, 0.5), (1, 1.0), (2, 5.0), (2, 6.0), (3, 8.5)])
    metrics = window_metrics(read_ledger(sends, arrivals, THEM), WINDOW)
    assert metrics["published_per_s"] == 2 / 8
    assert metrics["delivered_per_s"] == 3 / 8  # 0, 1 and 2; the second 2 is a duplicate, 3 came too late
    from_go = (END - GO) / SECOND
    assert metrics["published_from_go_per_s"] == 4 / from_go  # 0 to 3: 4 was never answered, 5 refused
    assert metrics["delivered_from_go_per_s"] == 4 / from_go  # 0 to 3, which came too late for the window
    assert metrics["deliveries"] == 3
    assert metrics["goodput_bit_s"] == 3 * 8000 / 8
    assert metrics["longest_silence_s"] == pytest.approx(4.0)
    # The older definition: what arrived in the window, whenever it was sent.
    assert metrics["arrived_latency_from_go_mean_s"] == pytest.approx((1.0 + 1.0 + 4.0 + 0.6) / 4)
    assert metrics["arrived_latency_mean_s"] == pytest.approx((1.0 + 1.0 + 4.0) / 3)
    assert metrics["arrived_latency_p50_s"] == pytest.approx(1.0)
    assert metrics["arrived_latency_p95_s"] == pytest.approx(1.0 + 0.9 * 3.0)  # linear between ranks 1 and 2
    assert metrics["arrived_latency_p99_s"] == pytest.approx(1.0 + 0.98 * 3.0)
    assert metrics["arrived_publish_latency_mean_s"] == pytest.approx((0.2 + 0.6) / 2)
    # What was sent in it: 1 and 2, 3 with 0.6 s although it came too late for the throughput, 4 at least until the
    # drain's end, 9 s after the window's start.  5 was refused.
    found = latencies(read_sent(sends, arrivals, THEM), WINDOW)
    assert found["latency_mean_s"] == (pytest.approx((1.0 + 4.0 + 0.6 + 6.0) / 4), True)
    assert found["latency_p50_s"] == (pytest.approx((1.0 + 4.0) / 2), False)
    assert found["latency_p95_s"] == (pytest.approx(4.0 + 0.85 * 2.0), True)
    assert found["publish_latency_mean_s"] == (pytest.approx((0.2 + 0.6 + 0.2 + 6.0) / 4), True)
    assert found["latency_from_go_mean_s"] == (pytest.approx((1.0 + 1.0 + 4.0 + 0.6 + 6.0) / 5), True)


def test_what_is_sent_after_the_window_is_not_counted_from_go() -> None:
    sends = published([(0, 7.9, 8.1, Outcome.ACKED), (1, 8.1, 8.2, Outcome.ACKED)])
    metrics = window_metrics(read_ledger(sends, delivered([(0, 8.5), (1, 8.5)]), THEM), WINDOW)
    from_go = (END - GO) / SECOND
    assert metrics["published_from_go_per_s"] == metrics["delivered_from_go_per_s"] == 1 / from_go
    assert metrics["arrived_latency_from_go_mean_s"] == pytest.approx(0.6)


def test_latency_counts_from_the_schedule_not_from_the_send() -> None:
    sends = published([(0, 1.0, 3.0, Outcome.ACKED)])
    late = sends.set_column(6, PUBLISHED.field("t_send_ns"), pa.array([START + 2 * SECOND]))
    metrics = latencies(read_sent(late, delivered([(0, 4.0)]), THEM), WINDOW)
    assert (metrics["latency_mean_s"], metrics["publish_latency_mean_s"]) == ((3.0, False), (2.0, False))


def test_without_a_sample_there_is_no_latency() -> None:
    metrics = window_metrics(read_ledger(published([]), delivered([]), THEM), WINDOW)
    names = ("latency_mean_s", "latency_p50_s", "latency_p95_s", "latency_p99_s", "publish_latency_mean_s")
    assert [metrics[f"arrived_{name}"] for name in names] == [None] * 5
    assert latencies(read_sent(published([]), delivered([]), THEM), WINDOW) == {}
    assert (metrics["delivered_per_s"], metrics["published_per_s"], metrics["longest_silence_s"]) == (0, 0, 8.0)


def test_a_delivery_of_an_unknown_message_counts_nowhere() -> None:
    ledger = read_ledger(published([(0, 0.0, 0.1, Outcome.ACKED)]), delivered([(0, 1.0), (77, 2.0)]), THEM)
    assert window_metrics(ledger, WINDOW)["deliveries"] == 1


def test_a_stall_at_the_end_of_the_window_is_the_longest_silence() -> None:
    assert longest_silence(np.array([START + SECOND, START + 2 * SECOND]), WINDOW) == 6.0


def test_shares_of_lost_duplicate_and_reordered_messages() -> None:
    sends = published([(k, k / 2, k / 2 + 0.1, Outcome.ACKED) for k in range(10)])
    order = [0, 2, 1, 3, 3, 5, 6, 7, 8]  # 4 is lost, 9 in doubt, 3 came twice, 1 late
    metrics = account_metrics(sends, delivered([(seq, 1 + k / 10) for k, seq in enumerate(order)]), THEM)
    assert (metrics["loss_share"], metrics["in_doubt_share"]) == (0.1, 0.1)
    assert (metrics["duplicate_share"], metrics["reordered_share"]) == (1 / 8, 1 / 8)


def test_the_ecdf_runs_from_the_shortest_to_the_longest_latency_in_at_most_200_points() -> None:
    made = tables(Load(rate=100.0, latency=0.1, consumers=3))
    them = tuple(Audience(consumers=(10 + number,), topic=0) for number in range(3))
    sent = read_sent(made["published"], made["delivered"], them)
    shares, latency = latency_ecdf(sent_in_window(sent.deliveries, WINDOW))
    assert len(shares) == len(latency) == 200
    assert (shares[0], shares[-1]) == (0, 1)
    assert (latency[0], latency[-1]) == pytest.approx((0.1, 0.4))
    assert (np.diff(latency) >= 0).all()


def test_one_message_that_has_come_is_all_of_them() -> None:
    one = Lengths(seconds=np.array([0.5]), absent=np.array([False]))
    shares, latency = latency_ecdf(one)
    assert (shares.tolist(), latency.tolist()) == ([1.0], [0.5])


def test_each_second_counts_what_happened_in_it() -> None:
    sends = published([(k, k / 4, k / 4 + 0.01, Outcome.ACKED) for k in range(-2, 34)])
    arrivals = delivered([(0, 0.5), (1, 0.6), (2, 3.5)])
    series = ledger_series(read_ledger(sends, arrivals, THEM), WINDOW)
    rate = dict(series["delivered_per_s"])
    assert (rate[0.5], rate[1.5], rate[3.5]) == (2, 0, 1)
    assert dict(series["published_per_s"])[2.5] == 4
    assert (min(rate), max(rate)) == (-0.5, 8.5)


@given(
    go=st.integers(0, 5 * 10**9), length=st.integers(10**8, 10**10), drain=st.integers(0, 5 * 10**9)
)  # fmt: skip
def test_seconds_cover_go_to_drained_without_a_sliver(go: int, length: int, drain: int) -> None:
    window = WINDOW.model_copy(
        update={"go_ns": START - go, "start_ns": START, "end_ns": START + length, "drained_ns": START + length + drain}
    )
    bins = edges(window)
    assert bins[0] == -go / 1e9
    assert bins[-1] == pytest.approx((length + drain) / 1e9)
    widths = np.diff(bins)
    assert (widths > 0).all()
    assert len(bins) == 2 or widths.min() >= 0.19
    assert widths.max() < 1.41


def test_utilisation_is_what_the_queue_sent_of_its_rate() -> None:
    proof = link("nistnet-80211", air_bytes=900_000)
    metrics = medium_metrics(proof, deliveries=300)
    assert metrics["air_utilisation"] == pytest.approx(900_000 * 8 / 8 / 1e6)
    assert metrics["air_bytes_per_delivery"] == 3000
    series = queue_series(resources(queues={"air": 112_500.0}), proof, WINDOW)
    assert {round(share, 6) for _, share in series["utilisation_air"]} == {0.9}
    assert {value for _, value in series["backlog_bytes"]} == {500.0}


def test_the_time_that_frames_take_beside_their_bits_is_use_of_the_link() -> None:
    proof = link("nistnet-80211", air_bytes=450_000)
    slow = proof.model_copy(update={"overhead_uplink": 0.02, "overhead_downlink": 0.01})
    # 450,000 bytes in 8 s at 1 Mbit/s are 0.45; 100 frames of 20 ms are 2 of the 8 s.
    assert medium_metrics(proof, deliveries=1)["air_utilisation"] == pytest.approx(0.45)
    assert medium_metrics(slow, deliveries=1)["air_utilisation"] == pytest.approx(0.45 + 0.25)
    assert medium_metrics(slow, deliveries=1)["air_bytes_per_delivery"] == 450_000


def test_each_direction_has_its_own_overhead() -> None:
    proof = link("wireline-100m", air_bytes=10_000_000)
    slow = proof.model_copy(update={"overhead_uplink": 0.02, "overhead_downlink": 0.01})
    metrics = medium_metrics(slow, deliveries=1)
    assert metrics["utilisation_uplink"] == pytest.approx(0.05 + 0.25)
    assert metrics["utilisation_downlink"] == pytest.approx(0.05 + 0.125)


def test_a_duplex_link_shows_the_busiest_queue_of_each_direction() -> None:
    proof = link("wireline-100m", air_bytes=10_000_000)
    queues = {"uplink-0": 1_250_000.0, "uplink-1": 2_500_000.0, "downlink-0": 6_250_000.0}
    series = queue_series(resources(queues=queues), proof, WINDOW)
    assert {round(share, 6) for _, share in series["utilisation_uplink"]} == {0.2}
    assert {round(share, 6) for _, share in series["utilisation_downlink"]} == {0.5}
    assert {value for _, value in series["backlog_bytes"]} == {1500.0}
    metrics = medium_metrics(proof, deliveries=0)
    assert metrics["air_bytes_per_delivery"] is None
    assert metrics["utilisation_uplink"] == metrics["utilisation_downlink"] == pytest.approx(0.05)


def test_queue_names_tell_their_part_of_the_medium() -> None:
    assert [part_of(name) for name in ("air", "uplink-3", "downlink-0")] == ["air", "uplink", "downlink"]


def test_the_window_of_the_synthetic_trials_is_the_one_the_numbers_above_assume() -> None:
    assert (GO, END - START, DRAINED - END) == (START - SECOND, 8 * SECOND, SECOND)
