"""The words of messaging that scenarios, stacks and records share."""

from __future__ import annotations

from enum import StrEnum


class Guarantee(StrEnum):
    """What a stack can promise; a scenario that asks for one that is missing fails before anything starts."""

    DURABLE = "durable"  # a subscription outlives its connection
    PERSISTENT = "persistent"  # a message is on disk before the send is answered
    ACK_AUTO = "ack_auto"  # each message is acknowledged after its handler has returned (JMS AUTO)
    ACK_DUPS_OK = "ack_dups_ok"  # acknowledged cumulatively and lazily (JMS DUPS_OK)
    ACK_CLIENT = "ack_client"  # acknowledged when the application says so (JMS CLIENT)
    ACK_NONE = "ack_none"  # not acknowledged: the provider forgets a message when it has sent it (MQTT's QoS 0)
    SELECTOR = "selector"  # the provider filters by a message property
    ORDERED = "ordered"  # messages of one producer arrive in order
    SYNC_RECEIVE = "sync_receive"  # a consumer may ask for its messages one by one
    PREFETCH = "prefetch"  # a subscription says how many messages may be under way to it
    BODY_TYPES = "body_types"  # JMS's Text, Stream, Map and Object messages beside Bytes
    REFUSAL = "refusal"  # a full destination may refuse a send, which the publisher repeats
    MEMORY_LIMIT = "memory_limit"  # how much is held in memory for subscribers that are behind can be set
    EXACTLY_ONCE = "exactly_once"  # nothing arrives twice, not even at a subscriber that was cut off and came back
    HANDED_ON = "handed_on"  # what a queue's receiver leaves without having acknowledged it goes to another
    SHARED_STREAMS = "shared_streams"  # a stream into an address with several receivers has one of them to its end


class Delivery(StrEnum):
    PERSISTENT = "persistent"
    NONPERSISTENT = "nonpersistent"


class Ack(StrEnum):
    AUTO = "auto"
    DUPS_OK = "dups_ok"
    CLIENT = "client"
    NONE = "none"


class BodyType(StrEnum):
    """JMS's types of messages; what making and reading one costs is part of sending and receiving it."""

    BYTES = "bytes"
    TEXT = "text"
    STREAM = "stream"
    MAP = "map"
    OBJECT = "object"
