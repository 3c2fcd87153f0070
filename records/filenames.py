"""Names of files and folders of a campaign, for who needs no more of it: records themselves import slowly."""

from __future__ import annotations

RECORD = "campaign.json"  # in a campaign's folder
MANIFEST, LINK, VERDICT = "manifest.json", "link.json", "verdict.json"  # in a trial's
INDEXES = ".indexes"  # in a campaign's folder: of its captures; they can be made again at any time
