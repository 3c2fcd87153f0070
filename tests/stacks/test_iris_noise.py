"""The handshake and its ciphers, byte for byte as the published vectors have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from stacks.iris.noise import Cipher, Handshake, NoiseError

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "fixtures" / "iris" / "noise-vectors.json").read_text()
)


def side(vector: dict[str, Any], who: str) -> Handshake:
    ephemeral = X25519PrivateKey.from_private_bytes(bytes.fromhex(vector[f"{who}_ephemeral"]))
    return Handshake(
        initiator=who == "init",
        psk=bytes.fromhex(vector[f"{who}_psks"][0]),
        prologue=bytes.fromhex(vector[f"{who}_prologue"]),
        draw=lambda: ephemeral,
    )


def pair(psk: bytes = bytes(32), other: bytes = bytes(32), prologue: bytes = b"") -> tuple[Handshake, Handshake]:
    return (
        Handshake(initiator=True, psk=psk, prologue=b""),
        Handshake(initiator=False, psk=other, prologue=prologue),
    )


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["protocol_name"])
def test_every_message_of_the_vectors_is_met(vector: dict[str, Any]) -> None:
    first, second = side(vector, "init"), side(vector, "resp")
    messages = [(bytes.fromhex(one["payload"]), bytes.fromhex(one["ciphertext"])) for one in vector["messages"]]
    for (payload, ciphertext), (writer, reader) in zip(messages[:2], ((first, second), (second, first)), strict=True):
        assert writer.write(payload) == ciphertext
        assert reader.read(ciphertext) == payload
    assert first.handshake_hash.hex() == second.handshake_hash.hex() == vector["handshake_hash"]
    ours, theirs = first.split(), second.split()
    for number, (payload, ciphertext) in enumerate(messages[2:]):
        (sends, _), (_, receives) = (ours, theirs) if number % 2 == 0 else (theirs, ours)
        assert sends.seal(payload) == ciphertext
        assert receives.open(ciphertext) == payload
    assert len(messages) == 6


@pytest.mark.parametrize("sides", [pair(other=b"\1" * 32), pair(prologue=b"another network")], ids=["key", "prologue"])
def test_who_lacks_the_key_or_names_another_network_is_refused(sides: tuple[Handshake, Handshake]) -> None:
    first, second = sides
    with pytest.raises(NoiseError):
        second.read(first.write(b"hello"))


@pytest.mark.parametrize("message", [b"", b"x" * 47, bytes(32) + b"x" * 16], ids=["empty", "short", "low order"])
def test_what_is_no_message_is_refused(message: bytes) -> None:
    with pytest.raises(NoiseError):
        pair()[1].read(message)


def test_a_point_of_low_order_is_refused_by_who_speaks_first() -> None:
    first, _ = pair()
    first.write()
    with pytest.raises(NoiseError, match="no shared secret"):
        first.read(bytes(48))


def test_both_sides_have_a_new_key_after_so_many_messages() -> None:
    key = bytes(range(32))
    sends, receives, never = Cipher(key, rekey_every=4), Cipher(key, rekey_every=4), Cipher(key)
    sealed = [sends.seal(b"same") for _ in range(10)]
    assert [receives.open(one) for one in sealed] == [b"same"] * 10
    assert [never.seal(b"same") == one for one in sealed] == [True] * 4 + [False] * 6


def test_a_message_twice_or_out_of_turn_is_refused() -> None:
    sends, receives = Cipher(bytes(32)), Cipher(bytes(32))
    first, second = sends.seal(b"1"), sends.seal(b"2")
    with pytest.raises(NoiseError):
        receives.open(second)
    again = Cipher(bytes(32))
    again.open(first)
    with pytest.raises(NoiseError):
        again.open(first)
