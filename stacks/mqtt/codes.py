"""What the servers' codes mean: MQTT 5, section 2.4, and MQTT 3.1.1, section 3.2.2.3."""

from __future__ import annotations

from stacks.driver import FullError, StackError
from stacks.mqtt import properties
from stacks.mqtt.packets import Version
from stacks.mqtt.properties import Properties, Property

FAILURE = 0x80  # the lowest of all failures
_REFUSED = {
    1: "the server does not speak this version of MQTT",
    2: "the client id is not allowed",
    3: "the server is not available",
    4: "wrong user name or password",
    5: "not authorized",
}
_FAILED = {
    0x80: "unspecified error",
    0x81: "malformed packet",
    0x82: "protocol error",
    0x83: "implementation specific error",
    0x84: "unsupported protocol version",
    0x85: "client identifier not valid",
    0x86: "bad user name or password",
    0x87: "not authorized",
    0x88: "server unavailable",
    0x89: "server busy",
    0x8A: "banned",
    0x8B: "server shutting down",
    0x8C: "bad authentication method",
    0x8D: "keep alive timeout",
    0x8E: "session taken over",
    0x8F: "topic filter invalid",
    0x90: "topic name invalid",
    0x91: "packet identifier in use",
    0x92: "packet identifier not found",
    0x93: "receive maximum exceeded",
    0x94: "topic alias invalid",
    0x95: "packet too large",
    0x96: "message rate too high",
    0x97: "quota exceeded",
    0x98: "administrative action",
    0x99: "payload format invalid",
    0x9A: "retain not supported",
    0x9B: "QoS not supported",
    0x9C: "use another server",
    0x9D: "server moved",
    0x9E: "shared subscriptions not supported",
    0x9F: "connection rate exceeded",
    0xA0: "maximum connect time",
    0xA1: "subscription identifiers not supported",
    0xA2: "wildcard subscriptions not supported",
}
_QUOTA = 0x97


def meaning(code: int, given: Properties = ()) -> str:
    """A failure's words, with the server's own where it gave some."""
    said = properties.find(given, Property.REASON)
    words = f"{_FAILED.get(code, 'an unknown failure')} (0x{code:02x})"
    return f"{words}: {said}" if isinstance(said, str) else words


def refused(code: int, given: Properties, version: Version) -> str:
    """Why the server does not take a client."""
    return _REFUSED.get(code, f"code {code}") if version == 4 else meaning(code, given)


def failure(code: int, given: Properties) -> StackError:
    """What ends a message that the server did not take: FullError where it has no room for it."""
    return (FullError if code == _QUOTA else StackError)(meaning(code, given))
