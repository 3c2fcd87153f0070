"""A pcapng file of very many sections: each is looked at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pcap_files import Segment, frame, pcapng

from analysis.capture import scan
from analysis.capture.framing import Framing, Scan
from analysis.capture.lockstep import lockstep
from analysis.capture.ranges import index
from analysis.capture.reader import read_capture

_SECTIONS, _PACKETS = 600, 8


def test_a_file_of_small_sections_needs_no_chains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What chains find beyond a section's end is thrown away: for a file of n sections that is n times a window."""
    one = pcapng([(0, 10**18 + k, frame(Segment(t_ns=0, seq=k, payload=1000))) for k in range(_PACKETS)], interfaces=1)
    path = tmp_path / "a.pcapng"
    path.write_bytes(one * _SECTIONS)
    assert len(one) * _SECTIONS > 2 * scan.LARGE
    chained: list[int] = []

    def counted(data: np.ndarray, *, start: int, end: int, framing: Framing) -> Scan:
        chained.append(end - start)
        return lockstep(data, start=start, end=end, framing=framing)

    monkeypatch.setattr(scan, "lockstep", counted)
    assert read_capture(path).records == _SECTIONS * _PACKETS
    assert index(path).records == _SECTIONS * _PACKETS
    assert chained == []


def test_a_long_section_is_still_walked_by_chains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packets = 8000
    data = frame(Segment(t_ns=0, payload=1000))
    path = tmp_path / "a.pcapng"
    path.write_bytes(pcapng(((0, 10**18 + k, data) for k in range(packets)), interfaces=1))
    chained: list[int] = []

    def counted(data: np.ndarray, *, start: int, end: int, framing: Framing) -> Scan:
        chained.append(end - start)
        return lockstep(data, start=start, end=end, framing=framing)

    monkeypatch.setattr(scan, "lockstep", counted)
    assert read_capture(path).records == packets
    assert sum(chained) > path.stat().st_size // 2
