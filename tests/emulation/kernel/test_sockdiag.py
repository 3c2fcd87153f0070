"""What the kernel says of connections over netlink is what the sockets themselves say."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest

from emulation.kernel import sockdiag
from emulation.kernel.sockdiag import SockDiag, TcpState, tcp_states

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def diag() -> Iterator[SockDiag]:
    one = SockDiag()
    yield one
    one.close()


def pair(family: socket.AddressFamily) -> Pair:
    """Both ends of a connection over the loopback that has carried something each way."""
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.bind(("::" if family == socket.AF_INET6 else "127.0.0.1", 0))
        listener.listen()
        client = socket.create_connection(("127.0.0.1", listener.getsockname()[1]))
        server, _ = listener.accept()
    for here, there in ((client, server), (server, client)):
        here.sendall(b"x" * 100)
        there.recv(100)
    return client, server


def state_of(found: tuple[TcpState, ...], local: tuple[str, int], remote: tuple[str, int]) -> TcpState:
    (one,) = [state for state in found if (state.local, state.remote) == (local, remote)]
    return one


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv4 on a server's IPv6 socket"])
def test_both_ends_are_found_with_what_they_know(diag: SockDiag, family: socket.AddressFamily) -> None:
    client, server = pair(family)
    with client, server:
        found = tcp_states(diag.ask())
        for one, state in (
            (client, state_of(found, client.getsockname(), client.getpeername())),
            (server, state_of(found, client.getpeername(), client.getsockname())),
        ):
            info = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            rto, rtt, cwnd, least = (struct.unpack_from("I", info, at)[0] for at in (8, 68, 80, 148))
            assert (state.rto_s, state.rtt_s, state.cwnd, state.min_rtt_s) == (rto / 1e6, rtt / 1e6, cwnd, least / 1e6)
            control = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
            assert (state.congestion_control, state.ssthresh, state.unacked_bytes) == (control, None, 0)


def test_what_the_peer_has_no_room_for_is_not_acknowledged(diag: SockDiag) -> None:
    client, server = pair(socket.AF_INET)
    with client, server:
        client.setblocking(False)
        sent = 0
        while True:
            try:
                sent += client.send(bytes(1 << 16))
            except BlockingIOError:
                break
        state = state_of(tcp_states(diag.ask()), client.getsockname(), client.getpeername())
        assert 0 < state.unacked_bytes <= sent


def test_many_connections_come_in_several_parts(diag: SockDiag, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [pair(socket.AF_INET) for _ in range(40)]
    try:
        # The kernel fills at most what is asked for; it never uses less than a page or two.
        monkeypatch.setattr(sockdiag, "_RECEIVE_BYTES", 8192)
        found = {(state.local, state.remote) for state in tcp_states(diag.ask())}
        assert {(client.getsockname(), client.getpeername()) for client, _ in pairs} <= found
        assert {(client.getpeername(), client.getsockname()) for client, _ in pairs} <= found
    finally:
        for one in (end for some in pairs for end in some):
            one.close()


def test_a_connection_without_a_sample_knows_no_round_trip() -> None:
    info = bytearray(160)
    struct.pack_into("I", info, 8, 1_000_000)
    struct.pack_into("I", info, 80, 10)
    struct.pack_into("I", info, 148, 0xFFFFFFFF)
    body = struct.pack("BBBB2s2s16s16sI8xIIIII", socket.AF_INET, 1, 0, 0, b"\0\1", b"\0\2", bytes(16), bytes(16), 0,
                       0, 0, 0, 0, 0)  # fmt: skip
    body += struct.pack("HH", len(info) + 4, 2) + info
    (state,) = tcp_states(struct.pack("IHHII", 16 + len(body), 20, 2, 1, 0) + body)
    assert (state.rtt_s, state.min_rtt_s, state.rto_s, state.cwnd) == (None, None, 1.0, 10)


def test_a_kernel_that_refuses_is_told_with_the_way_out(diag: SockDiag, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockdiag, "_FAMILIES", (250,))
    with pytest.raises(sockdiag.KernelError, match=r"sock_diag.*CONFIG_INET_TCP_DIAG; try modprobe tcp_diag"):
        diag.ask()
