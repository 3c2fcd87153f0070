"""What `lab shell` asks of experiments.tools.shell_process."""

from __future__ import annotations

from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from records.record import Record

REQUEST = "request.json"
STATIONS = 1


class ShellRequest(Record):
    """wired, command: words; no command = the user's shell.  environment: the user's, which the commands get."""

    profile: LinkProfile
    wired: tuple[str, ...]
    command: tuple[str, ...]
    seed: int
    congestion_control: str
    prove: bool
    medium: MediumName = "tc"
    environment: dict[str, str]
