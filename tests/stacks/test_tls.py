"""TLS between a client and a server of Python's, over real sockets on loopback: certificates, versions, refusals."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop
from cryptography.hazmat.primitives.serialization import pkcs12
from pattern_stories import Stories

from stacks.certificates import Authority
from stacks.channel import Channel, opened
from stacks.driver import Endpoint, StackError, Tls
from stacks.mqtt.knobs import MqttKnobs
from stacks.reference.__main__ import main
from stacks.reference.driver import Reference
from stacks.reference.faults import Faults
from stacks.reference.server import listen
from stacks.tls import CertificateError, serving

HOST = "127.0.0.1"
Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(params=["asyncio", "uvloop"])
def play(request: pytest.FixtureRequest) -> Callable[[Callable[[], Awaitable[None]]], None]:
    """Runs a story in one kind of loop, for a minute at most."""
    run = uvloop.run if request.param == "uvloop" else asyncio.run
    return lambda story: run(asyncio.wait_for(story(), 60))


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


class Wire(Channel):
    """Keeps what comes, and how often it was told to wait."""

    LANGUAGE = "bytes"

    def __init__(self) -> None:
        super().__init__()
        self.got, self.paused = b"", False

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False

    def _read(self, data: bytes) -> None:
        self.got += data

    def _fail_all(self, reason: str) -> None:
        pass


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(4096):
        writer.write(data)
    writer.close()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 no TLS here\n")
    writer.close()


@asynccontextmanager
async def server(
    authority: Authority | None, folder: Path, *, version: Tls = "1.3", address: str = HOST, peer: Peer = echo
) -> AsyncIterator[int]:
    """A server's port.  authority: who vouches for it, None = it speaks no TLS.  address: in its certificate."""
    tls = None
    if authority is not None:
        authority.issue(address, folder / "tls")
        tls = serving(version, folder / "tls")
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        await peer(reader, writer)

    listening = await asyncio.start_server(serve, HOST, 0, ssl=tls)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def end(port: int, authority: Authority, tls: Tls = "1.3") -> Endpoint:
    return Endpoint(host=HOST, port=port, tls=tls, authority=authority.certificate)


async def refusal(at: Endpoint) -> StackError:
    with pytest.raises(StackError) as caught:
        await opened(Wire, at)
    return caught.value


@pytest.mark.parametrize(("said", "meant"), [("1.2", "1.2"), (1.3, "1.3"), (False, "off"), ("off", "off")])
def test_a_version_may_be_said_as_yaml_reads_it(said: object, meant: str) -> None:
    assert MqttKnobs.model_validate({"tls": said}).tls == meant


def test_only_the_owner_reads_a_servers_files_and_the_authority_has_none(authority: Authority, tmp_path: Path) -> None:
    authority.issue("10.0.0.1", folder := tmp_path / "tls")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == dict.fromkeys(("server.pem", "server.key", "server.p12", "password"), 0o600)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    store = pkcs12.load_pkcs12((folder / "server.p12").read_bytes(), (folder / "password").read_bytes())
    assert store.cert is not None
    assert store.key is not None
    assert store.key.public_key() == store.cert.certificate.public_key()
    assert "PRIVATE" not in authority.certificate


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_bytes_come_back_and_the_connection_says_what_was_agreed_on(
    play: Callable[..., None], authority: Authority, tmp_path: Path, version: Tls
) -> None:
    sent = os.urandom(300_000)

    async def story() -> None:
        async with server(authority, tmp_path, version=version) as port:
            wire = await opened(Wire, end(port, authority, version))
            assert wire.local is not None
            assert wire.local.tls.startswith(f"TLSv{version} ")
            known = wire._transport.get_extra_info("socket")
            assert wire.local.port == known.getsockname()[1]
            assert known.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            wire.write(sent)
            while len(wire.got) < len(sent):
                await asyncio.sleep(0.005)
            assert wire.got == sent
            wire.abort()

    play(story)


def test_a_server_of_another_authority_is_refused(
    play: Callable[..., None], authority: Authority, tmp_path: Path
) -> None:
    async def story() -> None:
        async with server(Authority(), tmp_path) as port:
            error = await refusal(end(port, authority))
            assert isinstance(error, CertificateError)
            assert str(error).startswith(
                f"cannot connect to {HOST} port {port} by TLS 1.3: the server's certificate does not verify: "
            )

    play(story)


def test_a_server_with_the_certificate_of_another_address_is_refused(
    play: Callable[..., None], authority: Authority, tmp_path: Path
) -> None:
    async def story() -> None:
        async with server(authority, tmp_path, address="127.0.0.2") as port:
            error = await refusal(end(port, authority))
            assert isinstance(error, CertificateError)
            assert "IP address mismatch" in str(error)

    play(story)


def test_a_server_of_another_version_and_one_without_tls_are_refused(
    play: Callable[..., None], authority: Authority, tmp_path: Path
) -> None:
    async def story() -> None:
        async with server(authority, tmp_path, version="1.2") as port:
            assert "by TLS 1.3: " in str(await refusal(end(port, authority)))
        async with server(None, tmp_path, peer=greet) as port:
            told = str(await refusal(end(port, authority)))
            assert told == f"cannot connect to {HOST} port {port} by TLS 1.3: wrong version number"

    play(story)


def test_a_handshake_that_is_given_up_leaves_no_connection(play: Callable[..., None], authority: Authority) -> None:
    async def story() -> None:
        left = asyncio.get_running_loop().create_future()

        async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while await reader.read(4096):
                pass
            left.set_result(None)
            writer.close()

        listening = await asyncio.start_server(listen, HOST, 0)
        at = end(listening.sockets[0].getsockname()[1], authority)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await opened(Wire, at)
        await left
        listening.close()

    play(story)


def test_what_the_kernel_does_not_take_is_not_held_above_tls(
    play: Callable[..., None], authority: Authority, tmp_path: Path
) -> None:
    """So that a send that is answered when it has gone to the kernel means the same with TLS and without."""
    piece = bytes(16_000)

    async def story() -> None:
        async with server(authority, tmp_path, peer=silent) as port:
            wire = await opened(Wire, end(port, authority))
            while wire.paused:  # by the handshake's last bytes
                await asyncio.sleep(0)
            held = []
            while not wire.paused:
                wire.write(piece)
                held.append(wire._transport.get_write_buffer_size())
                await asyncio.sleep(0)
            assert held[-1] < 2 * len(piece)
            wire.abort()

    play(story)


def test_the_reference_broker_speaks_tls(play: Callable[..., None], authority: Authority, tmp_path: Path) -> None:
    authority.issue(HOST, tmp_path / "tls")
    bodies = [bytes(range(256)), *(b"%d" % number for number in range(20))]

    async def story() -> None:
        listening = await listen(host=HOST, port=0, faults=Faults(), tls=serving("1.2", tmp_path / "tls"))
        at = end(listening.sockets[0].getsockname()[1], authority, "1.2")
        stories = Stories(Reference(), [at])
        assert await stories.broadcast(bodies) == [bodies] * 3
        assert stories.connections[0].sockets[0].tls.startswith("TLSv1.2 ")
        await stories.close()
        listening.close()

    play(story)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--tls", "1.3"], "--tls 1.3 takes a certificate: say --tls-folder"),
        (["--tls", "1.3", "--tls-folder", "/nowhere"], "--tls-folder /nowhere: no server.pem with its server.key"),
        (["--tls", "1.1"], "invalid choice: '1.1'"),
    ],
    ids=["no folder", "no files", "version"],
)
def test_what_the_reference_broker_cannot_speak_it_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    monkeypatch.setattr("sys.argv", ["reference", "--host", HOST, "--port", "0", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


@pytest.mark.root
def test_a_client_that_vanishes_says_nothing(play: Callable[..., None], authority: Authority, tmp_path: Path) -> None:
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readexactly(1))
        heard.append(await reader.read())
        writer.close()

    async def story() -> None:
        async with server(authority, tmp_path, peer=listen) as port:
            wire = await opened(Wire, end(port, authority))
            wire.write(b"x")
            while not heard:
                await asyncio.sleep(0.005)
            wire.vanish()
            await asyncio.sleep(0.2)
            assert heard == [b"x"]
            assert wire.over

    play(story)


@pytest.mark.parametrize("how", ["abort", "gone"])
def test_the_end_of_a_connection_is_told(
    play: Callable[..., None], authority: Authority, tmp_path: Path, how: str
) -> None:
    async def leaving(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.transport.abort() if how == "abort" else writer.close()

    async def story() -> None:
        async with server(authority, tmp_path, peer=leaving) as port:
            wire = await opened(Wire, end(port, authority))
            ended = asyncio.get_running_loop().create_future()
            wire.on_end(lambda reason: ended.done() or ended.set_result(reason))
            wire.write(b"x")
            assert await ended == wire.lost
            assert wire.lost is not None
            wire.abort()

    play(story)
