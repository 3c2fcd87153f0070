"""Any MQTT packet, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from stacks.mqtt.packets import (
    ANSWERS,
    Answer,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Ping,
    Publish,
    Suback,
    Subscribe,
    Version,
)
from stacks.mqtt.properties import FIELDS, NEVER_ZERO, SIZES, Kind, Properties, Property, Value

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
topics = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0+#"), min_size=1, max_size=20)
numbers, bytes_of_code = st.integers(1, 0xFFFF), st.integers(0, 255)


def _values(name: Property) -> st.SearchStrategy[Value]:
    least = int(name in NEVER_ZERO)
    match FIELDS[name].shape:
        case "text":
            return texts
        case "binary":
            return st.binary(max_size=20)
        case "pair":
            return st.tuples(texts, texts)
        case "varint":
            return st.integers(least, 268_435_455)
        case "byte":
            return st.integers(0, 1)
        case shape:
            return st.integers(least, (1 << 8 * SIZES[shape]) - 1)


@st.composite
def properties_of(draw: st.DrawFn, kind: Kind) -> Properties:
    """Any that such a packet can have."""
    allowed = [name for name in Property if kind in FIELDS[name].kinds]
    names = draw(st.lists(st.sampled_from(allowed), max_size=5, unique=True))
    users = [Property.USER] * draw(st.integers(0, 2))
    return tuple((name, draw(_values(name))) for name in [*names, *users])


@st.composite
def packets(draw: st.DrawFn, version: Version) -> Packet:  # noqa: PLR0911 - one for each kind
    """A packet that this version can carry."""
    kind = draw(st.sampled_from([kind for kind in Kind if kind not in (10, 11, 15)]))
    has_properties = version == 5 and kind not in (Kind.PINGREQ, Kind.PINGRESP)
    given = draw(properties_of(kind)) if has_properties else ()
    code = draw(bytes_of_code)
    if kind in ANSWERS:
        return Answer(kind, draw(numbers), code if version == 5 else 0, given)
    match kind:
        case Kind.CONNECT:
            return Connect(draw(texts), draw(st.booleans()), draw(st.integers(0, 0xFFFF)), given)
        case Kind.CONNACK:
            return Connack(draw(st.booleans()), code, given)
        case Kind.PUBLISH:
            qos = draw(st.integers(0, 2))
            dup, number = (draw(st.booleans()), draw(numbers)) if qos else (False, 0)
            return Publish(draw(topics), draw(st.binary(max_size=300)), qos, number, dup, draw(st.booleans()), given)
        case Kind.SUBSCRIBE:
            filters = draw(st.lists(st.tuples(texts, bytes_of_code), min_size=1, max_size=4))
            return Subscribe(draw(numbers), tuple(filters), given)
        case Kind.SUBACK:
            return Suback(draw(numbers), tuple(draw(st.lists(bytes_of_code, min_size=1, max_size=4))), given)
        case Kind.DISCONNECT:
            return Disconnect(code if version == 5 else 0, given)
        case _:
            return Ping(kind)
