"""libnftables in this process: a command costs a system call or two instead of a new process."""

from __future__ import annotations

import ctypes
import ctypes.util
import threading
from types import TracebackType

from emulation.namespace import KernelError, in_namespace

_JSON = 1 << 4  # NFT_CTX_OUTPUT_JSON of nftables/libnftables.h


def _library() -> ctypes.CDLL:
    try:
        lib = ctypes.CDLL("libnftables.so.1")
    except OSError as error:
        raise KernelError("libnftables.so.1 is not installed; this brings it: apt-get install nftables") from error
    lib.nft_ctx_new.restype = ctypes.c_void_p
    lib.nft_ctx_new.argtypes = [ctypes.c_uint32]
    lib.nft_run_cmd_from_buffer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    lib.nft_ctx_output_set_flags.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    for name in ("nft_ctx_free", "nft_ctx_buffer_output", "nft_ctx_buffer_error"):
        getattr(lib, name).argtypes = [ctypes.c_void_p]
    for name in ("nft_ctx_get_output_buffer", "nft_ctx_get_error_buffer"):
        getattr(lib, name).argtypes = [ctypes.c_void_p]
        getattr(lib, name).restype = ctypes.c_char_p
    return lib


class Nft:
    """nftables of the network namespace of process `pid`."""

    def __init__(self, pid: int) -> None:
        self._lib = _library()
        self._context = in_namespace(pid, lambda: self._lib.nft_ctx_new(0))  # opens its socket there
        if not self._context:
            raise KernelError("opening nftables: out of memory")
        self._one_at_a_time = threading.Lock()
        self._lib.nft_ctx_buffer_output(self._context)
        self._lib.nft_ctx_buffer_error(self._context)

    def __enter__(self) -> Nft:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def run(self, program: str, *, json: bool = False) -> str:
        """Run a program of nft commands as one transaction and return what it prints; KernelError when refused."""
        with self._one_at_a_time:
            self._lib.nft_ctx_output_set_flags(self._context, _JSON if json else 0)
            failed = self._lib.nft_run_cmd_from_buffer(self._context, program.encode())
            said = (self._lib.nft_ctx_get_output_buffer(self._context) or b"").decode()
            complaint = (self._lib.nft_ctx_get_error_buffer(self._context) or b"").decode()
        if failed:
            raise KernelError(f"nft {program.strip().splitlines()[0][:120]}: {complaint.strip()[-2000:]}")
        return said

    def close(self) -> None:
        """Give the socket back; what was loaded stays."""
        if self._context:
            self._lib.nft_ctx_free(self._context)
            self._context = None
