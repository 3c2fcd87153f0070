"""Folders for lab kernels, and both ways of making a link."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.profile.media import MediumName


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder for what a lab kernel leaves behind, which must be nothing."""
    with tempfile.TemporaryDirectory(prefix="lk-", dir="/tmp") as folder:  # so short that it is used
        Path(folder).chmod(0o777)
        yield Path(folder)
        assert list(Path(folder).iterdir()) == []


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder to share with the guest, under one that the guest has its own of."""
    with tempfile.TemporaryDirectory(prefix="lab kernel ", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture(params=["tc", "line"])
def made_by(request: pytest.FixtureRequest) -> MediumName:
    """What makes a link: a test runs with each."""
    name: MediumName = request.param
    return name
