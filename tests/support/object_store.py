"""A small S3-compatible server on loopback, which counts its calls and does the harm that a test asks of it.

Buckets appear by being written to or by `bucket`.  It knows HEAD, GET with ranges, PUT, multipart uploads, DELETE and
ListObjectsV2 with pages of `page_keys`; signatures are not checked, the access key is.
"""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import BinaryIO
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

from records import filesystems

ACCESS_KEY = "airwire"
# What its clients have to have: from the start of the tests on, because Spark's workers have what their session had.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": ACCESS_KEY,
    "AWS_SECRET_ACCESS_KEY": "a-secret-of-this-test",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}


@dataclass(kw_only=True)
class Fault:
    """Harm to a call: what it is, how often, and to which keys.

    kind: cut (the connection is closed after `after` bytes of a body that is longer), stall (no more bytes after these
    until the store is closed), or a status that is answered instead, as 503.
    """

    kind: str | int
    operation: str = "get"
    key: str = ""
    after: int = 0
    times: int = 1


@dataclass
class ObjectStore:
    """What the server has and does: objects by bucket/key; calls: how many of each operation there were."""

    objects: dict[str, bytes] = field(default_factory=dict)
    buckets: set[str] = field(default_factory=set)
    calls: Counter[str] = field(default_factory=Counter)
    sent_bytes: int = 0
    faults: list[Fault] = field(default_factory=list)
    page_keys: int = 1000
    latency_s: float = 0.0
    port: int = 0
    closing: threading.Event = field(default_factory=threading.Event)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    connections: set[socket.socket] = field(default_factory=set)

    def uri(self, path: str) -> str:
        """The URI of bucket/key on this server."""
        return f"s3://{path}?endpoint_override=127.0.0.1:{self.port}&scheme=http"

    def under(self, prefix: str) -> dict[str, bytes]:
        """Files whose bucket/key begins with `prefix`/, by the rest of their name; not what stands for a folder."""
        found = {key.removeprefix(f"{prefix}/"): body for key, body in self.objects.items() if key[-1] != "/"}
        return {name: body for name, body in found.items() if f"{prefix}/{name}" in self.objects}

    def fault(self, operation: str, key: str) -> Fault | None:
        """The harm that this call suffers, which is then used up."""
        with self.lock:
            self.calls[operation] += 1
            for one in self.faults:
                if one.times and one.operation == operation and one.key in key:
                    one.times -= 1
                    return one
        return None


@contextmanager
def object_store(*, bucket: str = "lab", page_keys: int = 1000) -> Iterator[ObjectStore]:
    """A running server; at the end it is gone, and so are its clients' connections, which they would keep."""
    store = ObjectStore(buckets={bucket}, page_keys=page_keys)
    handler = type("Handler", (_Handler,), {"store": store})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    store.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        store.closing.set()
        filesystems._s3.cache_clear()
        server.shutdown()
        for connection in tuple(store.connections):
            with suppress(OSError):  # it has just ended
                connection.shutdown(socket.SHUT_RDWR)
        server.server_close()
        thread.join()


def _chunks(source: BinaryIO) -> bytes:
    """The chunks of a body of chunks, joined; what follows the last, up to an empty line or the end, is passed over."""
    found = []
    while size := int(source.readline().partition(b";")[0], 16):
        found.append(source.read(size))
        source.readline()
    while source.readline().strip():
        pass
    return b"".join(found)


class _Handler(BaseHTTPRequestHandler):
    store: ObjectStore
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.store.connections.add(self.connection)

    def finish(self) -> None:
        self.store.connections.discard(self.connection)
        super().finish()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        name = "list" if "/" not in self._path() else "get"
        self._serve(name, self._list if name == "list" else self._get)

    def do_HEAD(self) -> None:
        self._serve("head", self._get)

    def do_PUT(self) -> None:
        self._serve("put", self._put)

    def do_POST(self) -> None:
        self._serve("post", self._post)

    def do_DELETE(self) -> None:
        self._serve("delete", self._delete)

    def _path(self) -> str:
        bucket, _, key = unquote(urlsplit(self.path).path).removeprefix("/").partition("/")
        return f"{bucket}/{key}" if key else bucket

    def _query(self) -> dict[str, str]:
        found = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        return {name: values[0] for name, values in found.items()}

    def _serve(self, operation: str, work: object) -> None:
        self.body = self._body()
        self.harm = self.store.fault(operation, self._path())
        time.sleep(self.store.latency_s)
        if f"Credential={ACCESS_KEY}/" not in self.headers.get("Authorization", ""):
            return self._error(403, "AccessDenied", "Access Denied")
        if self.harm is not None and isinstance(self.harm.kind, int):
            return self._error(self.harm.kind, "ServiceUnavailable", "Please try again")
        if self._path().split("/")[0] not in self.store.buckets:
            return self._error(404, "NoSuchBucket", "The specified bucket does not exist")
        assert callable(work)
        return work()

    def _body(self) -> bytes:
        chunked = self.headers.get("Transfer-Encoding") == "chunked"
        body = _chunks(self.rfile) if chunked else self.rfile.read(int(self.headers.get("Content-Length") or 0))
        # The client's own chunks, inside those of HTTP, are for its checksums.
        return _chunks(BytesIO(body)) if "aws-chunked" in self.headers.get("Content-Encoding", "") else body

    def _get(self) -> None:
        body = self.store.objects.get(self._path())
        if body is None:
            if self.command == "HEAD" and "/" not in self._path():
                return self._answer(200)
            return self._error(404, "NoSuchKey", "The specified key does not exist.")
        headers = {"ETag": f'"{md5(body, usedforsecurity=False).hexdigest()}"', "Accept-Ranges": "bytes"}
        if span := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            first, last = int(span[1]), min(int(span[2] or len(body)), len(body) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(body)}"
            return self._answer(206, body[first : last + 1], headers)
        return self._answer(200, body, headers)

    def _put(self) -> None:
        query = self._query()
        if "uploadId" in query:
            self.store.uploads[query["uploadId"]][int(query["partNumber"])] = self.body
        else:
            self.store.objects[self._path()] = self.body
        self._answer(200, headers={"ETag": f'"{md5(self.body, usedforsecurity=False).hexdigest()}"'})

    def _post(self) -> None:
        query = self._query()
        if "uploads" in query:
            upload = f"upload-{len(self.store.uploads)}-{threading.get_ident()}"
            self.store.uploads[upload] = {}
            found = f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            return self._answer(200, found.encode())
        if "delete" in query:
            for key in re.findall(r"<Key>(.*?)</Key>", self.body.decode()):
                self.store.objects.pop(f"{self._path()}/{key}", None)
            return self._answer(200, b"<DeleteResult></DeleteResult>")
        parts = self.store.uploads.pop(query["uploadId"])
        self.store.objects[self._path()] = b"".join(parts[number] for number in sorted(parts))
        done = "<CompleteMultipartUploadResult><ETag>&quot;x&quot;</ETag></CompleteMultipartUploadResult>"
        return self._answer(200, done.encode())

    def _delete(self) -> None:
        if upload := self._query().get("uploadId"):
            self.store.uploads.pop(upload, None)
        else:
            self.store.objects.pop(self._path(), None)
        self._answer(204)

    def _list(self) -> None:
        query, bucket = self._query(), self._path()
        prefix, after = query.get("prefix", ""), query.get("continuation-token", query.get("start-after", ""))
        delimiter = query.get("delimiter", "")
        names: dict[str, bytes | None] = {}
        for path, body in sorted(self.store.objects.items()):
            key = path.removeprefix(f"{bucket}/")
            if not path.startswith(f"{bucket}/") or not key.startswith(prefix):
                continue
            head, found, _ = key[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
            names[f"{prefix}{head}{delimiter}" if found else key] = None if found else body
        left = [name for name in names if name > after]
        page = left[: min(self.store.page_keys, int(query.get("max-keys", 1000)))]
        listed = "".join(
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" if (body := names[name]) is None else
            f"<Contents><Key>{escape(name)}</Key><Size>{len(body)}</Size>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for name in page
        )  # fmt: skip
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if len(page) < len(left) else ""
        self._answer(
            200,
            f"<ListBucketResult><IsTruncated>{'true' if more else 'false'}</IsTruncated><KeyCount>{len(page)}"
            f"</KeyCount>{more}{listed}</ListBucketResult>".encode(),
        )

    def _error(self, status: int, code: str, message: str) -> None:
        what = f"<Error><Code>{code}</Code><Message>{message}</Message><Key>{quote(self._path())}</Key></Error>"
        self._answer(status, what.encode())

    def _answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/xml", **(headers or {})}.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD" or status == 204:
            return
        kind, harm = None, self.harm if self.harm is not None and isinstance(self.harm.kind, str) else None
        if harm is not None and len(body) <= harm.after:
            harm.times += 1  # for a longer one
        elif harm is not None:
            kind, body = harm.kind, body[: harm.after]
            self.close_connection = True
        self.store.sent_bytes += len(body)  # before its reader can have it and look
        self.wfile.write(body)
        self.wfile.flush()
        if kind == "stall":
            self.store.closing.wait()
