"""What a process does with memory that it does not need for now."""

from __future__ import annotations

import ctypes

# <malloc.h> of glibc.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGEST_ON_HEAP = 32 * 1024 * 1024  # the most that glibc takes
_KEPT_BYTES = 128 * 1024 * 1024


def keep_freed() -> None:
    """Have freed memory stay with this process, up to 128 MiB at the end of its heap.

    Large messages need buffers of some hundred kilobytes for a moment.  As glibc is set, each of them is given back to
    the kernel and faulted in anew, page by page.  Does nothing with another C library.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_ON_HEAP)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
