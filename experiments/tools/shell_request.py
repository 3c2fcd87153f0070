"""What `lab shell` asks of experiments.tools.shell_process."""

from __future__ import annotations

from typing import Any

from emulation.profile.media import MediumName
from emulation.profile.profile import LinkProfile
from experiments.scenario.settings import Settings
from records.record import Record

REQUEST = "request.json"
# Settings have a load; this one is never made.
_NO_LOAD = {"pattern": "pubsub", "clients": {"publishers": 1, "subscribers": 1, "topics": 1}, "body_bytes": 100}


class ShellRequest(Record):
    """wired, command: words; no command = the user's shell.  environment: the user's, which the commands get.

    network: the word for the profile, by which the topology's links may mean it, too.  topology: as a scenario's.
    links: the profiles that it names, by name.  on: the node that the command runs on, '' = the first station.
    shared_machine: whether others use the machine, too, who would miss a processor that is kept awake.
    """

    network: str
    profile: LinkProfile
    topology: dict[str, Any]
    links: dict[str, LinkProfile]
    stations: int
    on: str
    wired: tuple[str, ...]
    command: tuple[str, ...]
    seed: int
    group_frames: bool = False
    congestion_control: str
    prove: bool
    shared_machine: bool = False
    medium: MediumName = "tc"
    environment: dict[str, str]

    def settings(self) -> Settings:
        """Those of a scenario with this network; ValueError for one that there is none of."""
        return Settings.model_validate(
            {
                "scenario": "shell",
                "network": self.network,
                "topology": self.topology,
                "group_frames": self.group_frames,
                "stations": self.stations,
                "stack": "null",
                "congestion_control": self.congestion_control,
                "workload": _NO_LOAD,
            }
        )
