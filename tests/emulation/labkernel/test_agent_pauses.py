"""The lab kernel's agent carries what is measured, so it never pauses to collect garbage."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
# As far as to its first word to the host; the rest of its life is in a guest.
UP_TO_READY = """
import gc, os, sys
from emulation.labkernel import agent

def heard(_):
    print(gc.isenabled(), flush=True)
    os._exit(0)

agent._LINE, agent.Agent.hear = sys.argv[1], heard
agent.main()
"""


def test_the_collector_is_off_before_the_agent_takes_orders() -> None:
    ours, line = pty.openpty()
    try:
        words = [sys.executable, "-c", UP_TO_READY, os.ttyname(line)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=True)
    finally:
        os.close(ours)
        os.close(line)
    assert done.stdout == "False\n"
