"""What `lab shell` asks of experiments.shell_process."""

from __future__ import annotations

from emulation.media import MediumName
from emulation.profile import LinkProfile
from results.manifest import Record

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
