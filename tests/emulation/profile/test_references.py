from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulation.profile import library
from emulation.profile.library import ProfileError
from emulation.profile.profile import LinkProfile
from emulation.profile.references import resolved

BASE = {"name": "mine", "description": "d", "source": "s", "medium": "duplex"}


def written(folder: Path, **data: object) -> LinkProfile:
    (folder / "mine.yaml").write_text(yaml.safe_dump(BASE | data))
    return library.load("mine.yaml", beside=folder)


@given(st.lists(st.integers(0, 99), max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_record_of_losses_is_read_from_its_file(tmp_path: Path, lost: list[int]) -> None:
    (tmp_path / "lost.txt").write_text("# seen on a tram\n" + "\n".join(f"{one}  # here" for one in lost))
    found = written(tmp_path, loss={"model": "recorded", "packets": 100, "lost": "lost.txt"})
    assert found.uplink.loss.lost == tuple(lost)  # type: ignore[union-attr]


def test_a_distribution_is_read_from_an_iproute2_file(tmp_path: Path) -> None:
    (tmp_path / "cable.dist").write_text("# made by maketable\n -8192 -100 0\n 100 8192\n")
    found = written(tmp_path, delay=0.1, jitter=0.01, jitter_distribution={"values": "cable.dist"})
    assert found.uplink.jitter_distribution.name == "cable"  # type: ignore[union-attr]
    assert found.uplink.jitter_distribution.values == (-8192, -100, 0, 100, 8192)  # type: ignore[union-attr]


def test_a_trace_is_read_from_its_file_and_the_profile_is_whole_without_it(tmp_path: Path) -> None:
    (tmp_path / "up.trace").write_text("1\n3\n10\n")
    found = written(tmp_path, rate=1e6, timeline=[{"at": 0, "trace": {"uplink": "up.trace"}}])
    (tmp_path / "up.trace").unlink()
    again = LinkProfile.model_validate_json(found.model_dump_json())
    assert again == found
    assert again.timeline[0].trace.uplink.opportunities_ms == (1, 3, 10)  # type: ignore[union-attr]


def test_a_handover_leads_to_a_profile_of_the_library(tmp_path: Path) -> None:
    event = {"at": 1, "handover": {"lasts": "1 s", "to": "80211b-2m"}}
    found = written(tmp_path, rate=1e6, timeline=[event])
    assert found.timeline[0].handover.to["uplink"]["rate"] == 2e6  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"loss": {"model": "recorded", "packets": 9, "lost": "nowhere.txt"}}, "nowhere.txt: No such file"),
        ({"loss": {"model": "recorded", "packets": 9, "lost": "words.txt"}}, "words.txt:1: 'seven' is not a whole"),
        ({"timeline": [{"at": 0, "trace": {"uplink": "words.txt"}}]}, "words.txt:1: 'seven' is not a whole"),
        ({"timeline": [{"at": 0, "handover": {"lasts": 1, "to": "mine.yaml"}}]}, "leads back to this profile"),
        ({"timeline": [{"at": 0, "handover": {"lasts": 1, "to": "no-such"}}]}, "no link profile 'no-such'"),
    ],
)
def test_a_reference_that_leads_nowhere_is_named(tmp_path: Path, data: dict[str, object], message: str) -> None:
    (tmp_path / "words.txt").write_text("seven\n")
    with pytest.raises(ProfileError, match=message):
        written(tmp_path, **data)


def test_what_refers_to_nothing_is_left_as_it_is() -> None:
    data = {"loss": 0.1, "stations": {"sta1": {"delay": [1, {"a": None}]}}}
    assert resolved(data, Path(), lambda _: {}) == data
