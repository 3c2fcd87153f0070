"""In words: why nothing, or not everything, of a trial's latency could be split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from analysis.journey.passages import Payloads
from analysis.journey.places import SERVER, STATION, WIRED, View
from records.manifest import Consumer, Producer

# By what messages go from their senders to their receivers: a server, a broker on a station, nothing, the stack's own
# nodes.
Kind = Literal["server", "relayed", "direct", "overlay"]
_OUT: Mapping[Kind, str] = {
    "server": "on the way up ", "relayed": "on the way to the broker ", "direct": "",
    "overlay": "at the sender's node ",
}  # fmt: skip
_IN: Mapping[Kind, str] = {
    "server": "on the way down ", "relayed": "on the way from the broker ", "direct": "",
    "overlay": "at the receiver's node ",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Numbers of deliveries by what became of them; each is counted once, at the first thing that is missing.

    replies: these are answered requests, each with its reply.  unanswered: further requests, which are in no other
    count.  Of the attributed ones: at_the_broker, how many have a client on the station of their broker; not_at_server,
    how many were not seen at their server's own port.
    """

    deliveries: int
    kind: Kind = "server"
    replies: bool = False
    unanswered: int = 0
    misanswered: int = 0
    no_uplink_marker: int = 0
    no_downlink_marker: int = 0
    no_reply_marker: int = 0
    crossed_nothing: int = 0
    ambiguous: int = 0
    incomplete: int = 0
    negative: int = 0
    at_the_broker: int = 0
    not_at_server: int = 0

    @property
    def attributed(self) -> int:
        """Deliveries whose journey is known."""
        markers = self.no_uplink_marker + self.no_downlink_marker + self.no_reply_marker
        unclear = self.ambiguous + self.incomplete + self.negative
        return self.deliveries - self.misanswered - markers - self.crossed_nothing - unclear


def encrypted(tls: Sequence[str]) -> str:
    """Why messages are not looked for in packets: what the clients' connections agreed on."""
    return f"the clients' connections are encrypted ({', '.join(tls)}), so messages cannot be seen in packets"


def damaged_before_the_link(links: Sequence[str]) -> str:
    """Why packets are not followed where a link between routers or servers damages them."""
    return (
        f"packets are damaged on the way between routers or servers ({', '.join(links)}): on the stations' link such a "
        "packet looks like a whole one"
    )


def cannot(
    views: Sequence[View], clients: Iterable[Producer | Consumer], *, stations: int, between_stations: bool
) -> str | None:
    """What is missing for any journey at all, before a packet is looked for; None when nothing is.

    between_stations: whether packets went from station to station, so that stations are on both sides of the link.
    """
    places = {view.place for view in views}
    if not places:
        return "there are no captures"
    if between_stations and STATION not in places:
        return "packets were not captured where they leave and enter stations: points must have station or client"
    if not between_stations and (WIRED not in places or STATION not in places):
        return "packets were not captured on both sides of the link: points must have wired, and station or client"
    seen = len({view.station for view in views if view.place == STATION})
    if seen < stations:
        return f"only {seen} of {stations} stations have a capture"
    if not any(one.ports for one in clients):
        return "the manifest does not say which connection is which client's (written before it did, or no sockets)"
    return None


def uncertain(directions: Sequence[Payloads], *, damaging: bool) -> str | None:
    """Why packets that seem to have arrived may not have; None when they have.

    damaging: whether the link turns bits over at any time.
    """
    if damaging and any(one.cut for one in directions):
        return (
            "the link damages packets, and in packets that were cut that cannot be seen: record them whole "
            "(capture.snap_bytes)"
        )
    return None


def unreadable(directions: Sequence[Payloads]) -> str:
    """Why no marker was found at all."""
    if not any(one.there for one in directions):
        return "the captures hold no packet of the clients with payload"
    if any(one.cut for one in directions):
        most = max(one.most_kept for one in directions)
        return (
            f"no marker stands in the at most {most} bytes of payload that were kept of each packet: record more "
            "(capture.snap_bytes); if none is found in whole packets either, the payload is not plain text"
        )
    return (
        "whole packets were captured and no marker stands in them: the payload is not plain text (encrypted or "
        "compressed), so the journey cannot be told"
    )


def wire_known(account: Account, views: Sequence[View]) -> bool:
    """Whether part `wire` is one: any of what was attributed was seen at a server's own port, if any was."""
    return any(view.place == SERVER for view in views) and not 0 < account.attributed == account.not_at_server


def explain(account: Account, views: Sequence[View], directions: Sequence[Payloads], links: Iterable[str] = ()) -> str:
    """What is to be said of the deliveries that were not attributed, and of parts that are not known; '' if nothing.

    links: names of the links between routers or servers at whose ends nothing of theirs was seen.
    """
    cut = any(one.cut for one in directions)
    unseen = "cut off or not captured" if cut else "not captured"
    broken = "bytes were not all seen on both sides of the link"
    if account.kind == "overlay":
        unseen, broken = "not stamped", "way from node to node was not stamped whole"
    counts = (
        (account.misanswered, "whose answer was no service's reply to them"),
        (account.no_uplink_marker, f"whose marker {_OUT[account.kind]}was {unseen}"),
        (account.no_downlink_marker, f"whose marker {_IN[account.kind]}was {unseen}"),
        (account.no_reply_marker, f"whose reply's marker was {unseen}"),
        (account.crossed_nothing, "whose sender and receiver are on one station, so that they crossed no link"),
        (account.ambiguous, "of which several copies may be the one"),
        (account.incomplete, f"whose {broken}"),
        (account.negative, "whose times contradict each other by more than 1 ms"),
    )
    said = [f"{number} {what}" for number, what in counts if number]
    lines = []
    if said:
        missing = account.deliveries - account.attributed
        what = "answered requests" if account.replies else "deliveries"
        lines.append(f"{missing} of {account.deliveries} {what} not attributed: {', '.join(said)}")
    if account.unanswered:
        lines.append(f"{account.unanswered} requests of the window were not answered, and have no journey")
    if account.at_the_broker:
        lines.append(f"{account.at_the_broker} have a client on their broker's station: the way between is in `broker`")
    if account.kind != "server":
        return "; ".join(lines)
    server_seen = wire_known(account, views)
    if not server_seen:
        lines.append("the server's own port was not captured, so `broker` includes the wire")
    elif account.not_at_server:
        lines.append(
            f"{account.not_at_server} of {account.attributed} were not seen at their server's own port: of those "
            "`broker` includes the wire"
        )
    if unseen_links := ", ".join(links):
        part = "wire" if server_seen else "broker"
        lines.append(f"nothing of theirs was seen at both ends of {unseen_links}: time there, if any, is in `{part}`")
    return "; ".join(lines)
