"""Where a process spends its processor time: which of its functions runs when a timer of that time is due.

What is no Python code counts for the function that has called it; what the event loop and the kernel do before a
callback, for the callback.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_EVERY_S = 0.001  # of processor time; kernels with coarser ticks sample less often
_SHOWN = 16


@contextmanager
def sampled(into: Path) -> Iterator[None]:
    """Sample while the context lasts; how often each function was seen is written to a file."""
    seen = Counter[str]()

    def note(number: int, frame: FrameType | None) -> None:
        del number
        if frame is not None:
            seen[f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_qualname}"] += 1

    signal.signal(signal.SIGPROF, note)
    signal.setitimer(signal.ITIMER_PROF, _EVERY_S, _EVERY_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        into.write_text(json.dumps(seen))


def table(folder: Path) -> str:
    """Shares of functions, by kind of process, as Markdown.  folder: has KIND-NUMBER of each process."""
    lines = ["| process | function | share |", "|---|---|---:|"]
    for kind in sorted({one.name.split("-")[0] for one in folder.iterdir()}):
        seen = sum((Counter(json.loads(one.read_text())) for one in folder.glob(f"{kind}-*")), Counter[str]())
        most, total = seen.most_common(_SHOWN), max(seen.total(), 1)
        lines += [f"| {kind} | `{name}` | {count / total:.1%} |" for name, count in most]
        lines.append(f"| {kind} | the rest of {total} samples | {1 - sum(count for _, count in most) / total:.1%} |")
    return "\n".join(lines)
