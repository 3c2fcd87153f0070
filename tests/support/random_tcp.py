"""Random conversations: every way in which numbers can go on, go back, repeat, jump, or be acknowledged."""

from __future__ import annotations

from random import Random

from pcap_files import ACK, FIN, SYN, Segment

T0 = 1_700_000_000 * 10**9
# tshark takes a sequence number of 0 for "none yet": these numbers never come to be 0, wrap as they may.
_BASES = (24, 50 * 2**20 + 24, 2**31 - 274, 2**32 - 126, 2**32 - 326, 2**32 - 726)


def random_conversations(random: Random, connections: int, *, unseen: bool) -> list[Segment]:
    """Connections one after the other.  unseen: acknowledgements may cover bytes that are not in the capture."""
    segments: list[Segment] = []
    t_ns = T0
    for number in range(connections):
        t_ns += 50_000_000
        talk = _conversation(random, 1000 + number, t_ns, unseen=unseen)
        segments += talk
        t_ns = max(segment.t_ns for segment in talk)
    return segments


def _conversation(random: Random, port: int, t_ns: int, *, unseen: bool) -> list[Segment]:
    step_ns = random.choice([200_000, 1_000_000, 5_000_000])
    first = [random.choice(_BASES), random.choice(_BASES)]
    talk: list[Segment] = []

    def say(back: int, *, seq: int, ack: int = 0, payload: int = 0, window: int = 512, flags: int = ACK) -> None:
        nonlocal t_ns
        t_ns += random.randrange(1, 2 * step_ns)
        one = Segment(t_ns=t_ns, sport=port, seq=seq, ack=ack, payload=payload, window=window, flags=flags)
        talk.append(one.back(seq=seq, ack=ack, payload=payload) if back else one)

    if random.random() < 0.6:
        for _ in range(random.choice([1, 1, 2])):
            say(0, seq=first[0], flags=SYN)
        say(1, seq=first[1], ack=first[0] + 1, flags=SYN | ACK)
        say(0, seq=first[0] + 1, ack=first[1] + 1)
    start = [first[0] + 1, first[1] + 1]
    reached, acked = start.copy(), start[::-1]
    spoken = [False, False]
    for _ in range(random.randrange(1, 30)):
        back = random.randrange(2)
        payload = random.choice([0, 0, 1, 50, 100])
        seq = random.choice([reached[back]] * 5 + [reached[back] - 1, start[back] + 50 * random.randrange(12)])
        ack = random.choice([acked[back]] * 5 + [reached[not back], start[not back] + 50 * random.randrange(14)])
        if not unseen:
            ack = min(ack, reached[not back])
        flags = random.choice([ACK] * 20 + [ACK | FIN])
        repeats = random.choice([1] * 8 + [2, 3, 4])
        window = random.choice([0, 7, 7, 7, 8])
        for _ in range(repeats):
            say(back, seq=seq, ack=ack, payload=payload, window=window, flags=flags)
        end = seq + payload + bool(flags & FIN)
        reached[back] = max(reached[back], end) if spoken[back] else end
        acked[back], spoken[back] = ack, True
    return talk
