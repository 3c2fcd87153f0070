"""TLS, for every stack whose protocol has it: what a client asks of a server, and what was agreed on."""

from __future__ import annotations

import asyncio
import ssl
from functools import cache
from pathlib import Path
from typing import Any

from stacks.driver import Endpoint, StackError, Tls

_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
# Who connects has a limit of his own, which suits the link.
HANDSHAKE_LIMIT_S = 3600.0


class CertificateError(StackError):
    """The server's certificate does not verify."""


def serving(version: Tls, folder: Path) -> ssl.SSLContext | None:
    """What a server of ours listens with, None when TLS is off.  folder: of stacks.certificates' Authority.issue.

    OSError for files that cannot be read.
    """
    if version == "off":
        return None
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = made.maximum_version = _VERSIONS[version]
    made.load_cert_chain(folder / "server.pem", folder / "server.key")
    return made


@cache
def _context(version: Tls, authority: str) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # which checks the certificate, and the name or address in it
    made.minimum_version = made.maximum_version = _VERSIONS[version]
    made.load_verify_locations(cadata=authority)
    return made


def asked(at: Endpoint) -> dict[str, Any]:
    """What asyncio's create_connection is told of TLS, nothing when it is off."""
    if at.tls == "off":
        return {}
    return {
        "ssl": _context(at.tls, at.authority),
        "server_hostname": at.host,
        "ssl_handshake_timeout": HANDSHAKE_LIMIT_S,
    }


def agreed(transport: asyncio.BaseTransport) -> str:
    """Version and cipher of a connection, such as `TLSv1.3 TLS_AES_256_GCM_SHA384`; '' without TLS."""
    tls = transport.get_extra_info("ssl_object")
    return f"{tls.version()} {tls.cipher()[0]}" if tls else ""


def refused(at: Endpoint, error: OSError, why: str) -> StackError:
    """Why no connection came about.  why: of what is no matter of TLS; '' when its end was all that was seen."""
    where = f"cannot connect to {at.host} port {at.port}" + ("" if at.tls == "off" else f" by TLS {at.tls}")
    if isinstance(error, ssl.SSLCertVerificationError):
        return CertificateError(
            f"{where}: the server's certificate does not verify: {error.verify_message}; it has to be for {at.host}, "
            "and by the authority that the client was told of"
        )
    if isinstance(error, ssl.SSLError):
        why = (error.reason or str(error)).replace("_", " ").lower()
    return StackError(f"{where}: {why or 'the server closed the connection'}")
