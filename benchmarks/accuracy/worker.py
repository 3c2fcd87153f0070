"""The process that measures, on either kernel, and the table of what it answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from accuracy.bench import Line
from accuracy.table import shown
from emulation.kernel.kernel import KernelName
from experiments.workers.isolation import isolated
from experiments.workers.worker import Workers


def outside(kernel: KernelName, program: str, request: Mapping[str, Any], *, width: int = 62) -> int:
    """Have `program --worker` measure what a request says, print its lines; how many are outside their bounds.

    One that ends before it has told the worst stall counts as one more.
    """
    found = 0
    words = isolated(kernel, [sys.executable, program, "--worker"])
    with Workers().started(words, json.dumps(request), messages=sys.stderr) as worker:
        for text in worker.answers:
            answer = json.loads(text)
            if "stall_s" in answer:
                print(f"worst stall of the machine: {answer['stall_s'] * 1e3:.0f} ms, during {answer['during']}")
                return found
            line = Line(**answer["line"])
            found += not line.holds
            print(shown(line, answer["tries"], width=width), flush=True)
    print("the measuring process ended too early")
    return found + 1
