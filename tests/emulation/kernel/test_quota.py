"""Where the quota of a control group is read, and what is said where it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.kernel.quota import Throttled, groups, is_set, throttled

V2 = "31 23 0:28 / {at} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "32 31 0:29 {root} {at} rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /m rw - cgroup cgroup rw,memory\n"
)


def proc(folder: Path, cgroup: str | None, mountinfo: str) -> Path:
    own = folder / "proc" / "self"
    own.mkdir(parents=True)
    if cgroup is not None:
        (own / "cgroup").write_text(cgroup)
    (own / "mountinfo").write_text(mountinfo)
    return folder / "proc"


def test_a_group_and_all_above_it_can_be_stopped(tmp_path: Path) -> None:
    mounted = tmp_path / "cgroup"
    (mounted / "user" / "run").mkdir(parents=True)
    (mounted / "cpu.stat").write_text("usage_usec 5\n")
    (mounted / "user" / "cpu.stat").write_text("nr_periods 9\nnr_throttled 4\nthrottled_usec 250000\n")
    (mounted / "user" / "run" / "cpu.stat").write_text("nr_periods 2\nnr_throttled 1\nthrottled_usec 50000\n")
    found = throttled(proc(tmp_path, "0::/user/run\n", V2.format(at=mounted)))
    assert found == Throttled(periods=5, seconds=pytest.approx(0.3))


def test_version_1_counts_nanoseconds(tmp_path: Path) -> None:
    mounted = tmp_path / "cpu"
    (mounted / "box").mkdir(parents=True)
    (mounted / "cpu.stat").write_text("nr_periods 0\nnr_throttled 0\nthrottled_time 0\n")
    (mounted / "box" / "cpu.stat").write_text("nr_periods 7\nnr_throttled 2\nthrottled_time 150000000\n")
    cgroup = "4:memory:/other\n1:cpu,cpuacct:/box\n0::/\n"
    assert throttled(proc(tmp_path, cgroup, V1.format(root="/", at=mounted))) == Throttled(2, pytest.approx(0.15))


def test_a_container_sees_its_own_group_as_the_mounts_root() -> None:
    mount = V1.format(root="/docker/ab", at="/sys/fs/cgroup/cpu")
    assert groups("1:cpu:/docker/ab\n", mount) == [Path("/sys/fs/cgroup/cpu")]
    assert groups("0::/../..\n", V2.format(at="/sys/fs/cgroup")) == [Path("/sys/fs/cgroup")]
    assert groups("0::/a/b\n", V2.format(at="/sys/fs/cgroup")) == [
        Path("/sys/fs/cgroup/a/b"),
        Path("/sys/fs/cgroup/a"),
        Path("/sys/fs/cgroup"),
    ]


def test_a_kernel_without_control_groups_has_no_quota(tmp_path: Path) -> None:
    assert throttled(proc(tmp_path / "none", None, "")) == Throttled(0, 0.0)
    assert throttled(proc(tmp_path / "other", "4:memory:/box\n", "")) == Throttled(0, 0.0)


def test_what_cannot_be_read_is_told_and_is_no_zero(tmp_path: Path) -> None:
    assert "not mounted" in str(throttled(proc(tmp_path / "hidden", "0::/box\n", "")))
    missing = throttled(proc(tmp_path / "masked", "0::/box\n", V2.format(at=tmp_path / "nowhere")))
    assert isinstance(missing, str)
    assert "nowhere/box/cpu.stat" in missing


def test_this_machines_own_group_can_be_read_or_says_why_not() -> None:
    found = throttled()
    assert isinstance(found, str) or found.periods >= 0


@pytest.mark.parametrize(
    ("file", "says", "set_"),
    [
        ("cpu.max", "max 100000\n", False),
        ("cpu.max", "150000 100000\n", True),
        ("cpu.cfs_quota_us", "-1\n", False),
        ("cpu.cfs_quota_us", "150000\n", True),
    ],
)
def test_a_quota_of_any_group_above_is_seen(tmp_path: Path, file: str, says: str, set_: bool) -> None:
    mounted = tmp_path / "cgroup"
    (mounted / "user" / "run").mkdir(parents=True)
    (mounted / "user" / file).write_text(says)
    v1 = file == "cpu.cfs_quota_us"
    cgroup, mount = (
        ("1:cpu:/user/run\n", V1.format(root="/", at=mounted)) if v1 else ("0::/user/run\n", V2.format(at=mounted))
    )
    assert is_set(proc(tmp_path, cgroup, mount)) is set_


def test_no_quota_is_known_where_no_group_can_be_seen(tmp_path: Path) -> None:
    assert not is_set(proc(tmp_path / "none", None, ""))
    assert not is_set(proc(tmp_path / "hidden", "0::/box\n", ""))
