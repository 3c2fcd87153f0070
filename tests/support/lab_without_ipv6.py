"""`python lab_without_ipv6.py [options] -- COMMAND`: as `python -m emulation.labkernel`, booted with ipv6.disable=1."""

from __future__ import annotations

import sys
from typing import Any

from emulation.labkernel import __main__ as labkernel
from emulation.labkernel import machine

_usual = machine._command


def _without_ipv6(*words: Any, **options: Any) -> list[str]:
    return [*_usual(*words, **options), "ipv6.disable=1"]


machine._command = _without_ipv6
sys.exit(labkernel.main())
