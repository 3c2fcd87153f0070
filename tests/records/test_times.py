from __future__ import annotations

from pathlib import Path

import pytest

from records.times import REPORT, TRIALS, ReportTime, TrialTime, note_report, note_trial, report_time, trial_times

ONE = TrialTime(cell="a", trial=1, kernel="host", seconds=12.5, overhead_s=8)
REPORTED = ReportTime(seconds=20, trials=3, capture_bytes=1000, study=False)


def test_times_are_read_back_as_they_were_noted(tmp_path: Path) -> None:
    assert trial_times(tmp_path) == []
    assert report_time(tmp_path) is None
    two = ONE.model_copy(update={"trial": 2})
    note_trial(tmp_path, ONE)
    note_trial(tmp_path, two)
    note_report(tmp_path, REPORTED)
    note_report(tmp_path, REPORTED.model_copy(update={"seconds": 30.0}))
    assert trial_times(tmp_path) == [ONE, two]
    assert report_time(tmp_path) == REPORTED.model_copy(update={"seconds": 30.0})
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([TRIALS, REPORT])


NOT_A_TIME = b'{"cell": "a", "trial": 1, "kernel": "host", "seconds": NaN, "overhead_s": 0}'


@pytest.mark.parametrize("line", [b'{"cell": "a", "tri', b"\xff\xfe", b"[]", NOT_A_TIME])
def test_a_damaged_line_is_passed_over(tmp_path: Path, line: bytes) -> None:
    note_trial(tmp_path, ONE)
    with (tmp_path / TRIALS).open("ab") as file:
        file.write(line + b"\n")
    note_trial(tmp_path, ONE)
    assert trial_times(tmp_path) == [ONE, ONE]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b'{"seconds": -1}'])
def test_a_damaged_report_time_is_unknown(tmp_path: Path, content: bytes) -> None:
    (tmp_path / REPORT).write_bytes(content)
    assert report_time(tmp_path) is None
