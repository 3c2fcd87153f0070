"""Removes the control groups of a trial when whoever made them has ended: `python -m … FOLDER`, held by its stdin."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

_LIMIT_S, _POLL_S = 60.0, 0.02


def main(folder: Path) -> int:
    """Wait for the end of standard input, then until what is in the groups has ended; 1 when that takes too long."""
    while os.read(0, 4096):
        pass
    deadline = time.monotonic() + _LIMIT_S
    while not _removed(folder):
        if time.monotonic() > deadline:
            print(f"{folder}: processes in it do not end", file=sys.stderr)
            return 1
        time.sleep(_POLL_S)
    return 0


def _removed(folder: Path) -> bool:
    try:
        for group in (*(one for one in folder.iterdir() if one.is_dir()), folder):
            group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # something lives in it
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
