"""The file system behind a URI: which one pyarrow has for it, and what it is told."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

import pyarrow as pa

from records.errors import WrongInput

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

TIMEOUT = "AIRWIRE_STORAGE_TIMEOUT_S"  # seconds without a byte after which a call has failed; default 30


class BadURI(WrongInput):
    """A URI that cannot be used; the message says why."""


def timeout_s() -> float:
    """Seconds without a byte after which a call has failed.  Raises BadURI when the environment says no number."""
    text = os.environ.get(TIMEOUT, "30")
    try:
        if (found := float(text)) > 0:
            return found
    except ValueError:
        pass
    raise BadURI(f"{TIMEOUT}={text}: it has to be a number of seconds above 0")


def file_system(scheme: str, path: str, query: str) -> tuple[FileSystem, str]:
    """The file system behind the URI of these parts, and the path there.  Raises BadURI."""
    shown = f"{scheme}://{path}" + (f"?{query}" if query else "")
    if scheme == "s3":
        timeout = timeout_s()
        try:
            return _s3(tuple(_s3_options(query).items()), timeout), path
        except (ValueError, pa.ArrowException) as error:
            raise BadURI(f"{shown}: {error}; an endpoint (AWS_ENDPOINT_URL) is one as https://HOST:PORT") from error
    from pyarrow import fs  # noqa: PLC0415 - local files do without it

    if scheme == "file":
        return fs.LocalFileSystem(), path
    # pyarrow decodes the path, in which a `%` of ours stands for itself.
    uri = f"{scheme}://{quote(path, safe='/@:')}{f'?{query}' if query else ''}"
    if scheme in ("gs", "gcs") and "retry_limit_seconds" not in query:
        uri += f"{'&' if query else '?'}retry_limit_seconds={timeout_s():g}"  # of its own it tries for 15 minutes
    try:
        system, there = fs.FileSystem.from_uri(uri)
    except (OSError, ValueError, ImportError, pa.ArrowException) as error:
        raise BadURI(f"{shown}: {error}") from error
    return system, there


def _s3_options(query: str) -> dict[str, str]:
    """What pyarrow is told of a store: by the URI, else by the environment, which pyarrow does not ask for it.

    ValueError when the endpoint is none.
    """
    options = dict(parse_qsl(query))
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint and "endpoint_override" not in options:
        parts = urlsplit(endpoint)
        if not parts.netloc:  # without one, pyarrow would ask Amazon's servers
            raise ValueError(f"{endpoint!r} names no host")
        options |= {"endpoint_override": parts.netloc, "scheme": parts.scheme}
    if "endpoint_override" in options and not {"AWS_REGION", "AWS_DEFAULT_REGION"} & os.environ.keys():
        options.setdefault("region", "us-east-1")  # else the client looks for one, which takes seconds
    return options


@cache
def _s3(options: tuple[tuple[str, str], ...], timeout: float) -> FileSystem:
    from pyarrow import fs  # noqa: PLC0415 - local files do without it

    told: dict[str, Any] = dict(options)
    if "anonymous" in told:
        told["anonymous"] = told["anonymous"].lower() == "true"
    # Attempts are counted here, where what failed can be said.
    return fs.S3FileSystem(
        **told, request_timeout=timeout, connect_timeout=timeout, allow_delayed_open=True,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=1),
    )  # fmt: skip
