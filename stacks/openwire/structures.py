"""Commands and what they are made of, as values: fields in the order of the wire, of version 12."""

from __future__ import annotations

from typing import NamedTuple, Union

VERSION = 12
MAGIC = b"ActiveMQ"

# MessageAck.kind
DELIVERED, STANDARD = 0, 2
# TransactionInfo.kind
BEGIN, COMMIT, ROLL_BACK = 0, 2, 4


class ConnectionId(NamedTuple):
    value: str | None


class SessionId(NamedTuple):
    connection: str | None
    value: int


class ConsumerId(NamedTuple):
    connection: str | None
    session: int
    value: int


class ProducerId(NamedTuple):
    connection: str | None
    value: int
    session: int


class BrokerId(NamedTuple):
    value: str | None


class LocalTransactionId(NamedTuple):
    value: int
    connection: ConnectionId


class MessageId(NamedTuple):
    text_view: str | None
    producer: ProducerId | None
    producer_sequence: int
    broker_sequence: int


class Destination(NamedTuple):
    """code: QUEUE, TOPIC, TEMPORARY_QUEUE or the other temporary one (103)."""

    code: int
    name: str | None


QUEUE, TOPIC, TEMPORARY_QUEUE = 100, 101, 102


class WireFormatInfo(NamedTuple):
    """properties: a primitive map, marshalled."""

    version: int
    properties: bytes | None


class KeepAliveInfo(NamedTuple):
    pass


class ShutdownInfo(NamedTuple):
    pass


class ConnectionInfo(NamedTuple):
    connection: ConnectionId
    client_id: str | None
    password: str | None = None
    user_name: str | None = None
    broker_path: None = None
    broker_master_connector: bool = False
    manageable: bool = False
    client_master: bool = True
    fault_tolerant: bool = False
    failover_reconnect: bool = False
    client_ip: str | None = None


class SessionInfo(NamedTuple):
    session: SessionId


class ProducerInfo(NamedTuple):
    producer: ProducerId
    destination: Destination | None
    broker_path: None = None
    dispatch_async: bool = False
    window_size: int = 0


class ConsumerInfo(NamedTuple):
    consumer: ConsumerId
    browser: bool
    destination: Destination
    prefetch: int
    maximum_pending: int = 0
    dispatch_async: bool = True
    selector: str | None = None
    client_id: str | None = None
    subscription_name: str | None = None
    no_local: bool = False
    exclusive: bool = False
    retroactive: bool = False
    priority: int = 0
    broker_path: None = None
    additional_predicate: None = None
    network_subscription: bool = False
    optimized_acknowledge: bool = False
    no_range_acks: bool = False
    network_consumer_path: None = None


class DestinationInfo(NamedTuple):
    """A temporary destination, which lives as long as its connection.  operation: 0 makes it."""

    connection: ConnectionId
    destination: Destination
    operation: int = 0
    timeout: int = 0
    broker_path: None = None


class TransactionInfo(NamedTuple):
    """kind: BEGIN; COMMIT, in one phase; ROLL_BACK."""

    connection: ConnectionId
    transaction: LocalTransactionId
    kind: int


class RemoveInfo(NamedTuple):
    """last_delivered: the broker's sequence number of the last message that was handed over, -1 = none."""

    what: ConnectionId | SessionId | ConsumerId | ProducerId
    last_delivered: int = -1


class MessagePull(NamedTuple):
    """timeout: milliseconds; 0 = wait for ever."""

    consumer: ConsumerId
    destination: Destination
    timeout: int
    correlation: str | None = None
    message: MessageId | None = None


class MessageAck(NamedTuple):
    """kind: STANDARD acknowledges all from first to last; DELIVERED only asks for more."""

    destination: Destination
    transaction: None
    consumer: ConsumerId
    kind: int
    first: MessageId | None
    last: MessageId | None
    messages: int
    poison_cause: Throwable | None = None


class Throwable(NamedTuple):
    """A Java exception: its class and its message."""

    kind: str | None
    message: str | None


class ConsumerControl(NamedTuple):
    destination: Destination | None
    close: bool
    consumer: ConsumerId | None
    prefetch: int
    flush: bool
    start: bool
    stop: bool


class ProducerAck(NamedTuple):
    producer: ProducerId | None
    size: int


class ConnectionFailure(NamedTuple):
    cause: Throwable | None
    connection: ConnectionId | None


class Response(NamedTuple):
    correlation: int


class ExceptionResponse(NamedTuple):
    correlation: int
    cause: Throwable | None


class Message(NamedTuple):
    """code: 23 to 28, the type of the body."""

    code: int
    producer: ProducerId | None
    destination: Destination | None
    transaction: LocalTransactionId | None
    original_destination: Destination | None
    identity: MessageId | None
    original_transaction: None
    group: str | None
    group_sequence: int
    correlation: str | None
    persistent: bool
    expiration: int
    priority: int
    reply_to: Destination | None
    timestamp: int
    kind: str | None
    content: bytes | None
    properties: bytes | None
    structure: None
    target: ConsumerId | None
    compressed: bool
    redeliveries: int
    broker_path: tuple[BrokerId | None, ...] | None
    arrival: int
    user: str | None
    received_by_bridge: bool
    droppable: bool
    cluster: tuple[BrokerId | None, ...] | None
    broker_in: int
    broker_out: int
    first_of_group: bool


class MessageDispatch(NamedTuple):
    """message: None ends a pull that found nothing."""

    consumer: ConsumerId | None
    destination: Destination | None
    message: Message | None
    redeliveries: int


Structure = Union[  # noqa: UP007  (NamedTuples: the alias is used at run time)
    ConnectionId, SessionId, ConsumerId, ProducerId, BrokerId, LocalTransactionId, MessageId, Destination,
    WireFormatInfo, KeepAliveInfo, ShutdownInfo, ConnectionInfo, SessionInfo, ProducerInfo, ConsumerInfo,
    DestinationInfo, TransactionInfo, RemoveInfo, MessagePull, MessageAck, ConsumerControl, ProducerAck,
    ConnectionFailure, Response, ExceptionResponse, Message, MessageDispatch,
]  # fmt: skip
