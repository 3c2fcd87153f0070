"""A capture that is cut into ranges gives what it gives as a whole."""

from __future__ import annotations

from pathlib import Path

from common.capture import write_capture
from piecewise import in_ranges

from analysis.capture.buckets import bucket_of
from analysis.capture.reader import read_capture
from analysis.spark.captures import reduce_captures


def test_every_number_of_ranges_and_buckets_gives_one_result(tmp_path: Path) -> None:
    path = write_capture(tmp_path / "a.pcap", packets=3000, connections=37)
    whole = reduce_captures([path])
    for range_bytes, buckets in ((1 << 30, 1), (100_000, 1), (100_000, 16), (1500, 5)):
        assert in_ranges(path, range_bytes, buckets=buckets).equals(whole), (range_bytes, buckets)


def test_both_directions_of_a_connection_share_a_bucket_and_buckets_are_even(tmp_path: Path) -> None:
    packets = read_capture(write_capture(tmp_path / "a.pcap", packets=6000, connections=600)).packets
    bucket = bucket_of(packets, 8)
    seen: dict[frozenset[tuple[int, int]], set[int]] = {}
    for row in range(len(packets)):
        ends = frozenset([(int(packets.src[row]), int(packets.sport[row])),
                          (int(packets.dst[row]), int(packets.dport[row]))])  # fmt: skip
        seen.setdefault(ends, set()).add(int(bucket[row]))
    assert all(len(buckets) == 1 for buckets in seen.values())
    sizes = [sum(buckets == {number} for buckets in seen.values()) for number in range(8)]
    assert min(sizes) > 600 / 8 / 3
