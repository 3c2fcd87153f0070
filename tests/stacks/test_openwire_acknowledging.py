"""When a JMS consumer acknowledges what."""

from records.messaging import Ack
from stacks.openwire.acknowledging import Acknowledgement, Run
from stacks.openwire.structures import DELIVERED, STANDARD


class Told:
    """What a broker hears, as (kind, first, last, count)."""

    def __init__(self, ack: Ack, prefetch: int) -> None:
        self.said: list[tuple[int, int, int, int]] = []
        self.acknowledgement = Acknowledgement(self._tell, ack=ack, prefetch=prefetch)

    def _tell(self, kind: int, run: Run) -> None:
        self.said.append((kind, int(run.first), int(run.last), run.messages))

    def have(self, *numbers: int) -> None:
        for number in numbers:
            identity = b"%d" % number
            self.acknowledgement.taken(identity)
            self.acknowledgement.handled(identity)


def test_auto_tells_after_each_message() -> None:
    told = Told(Ack.AUTO, 100)
    told.have(1, 2, 3)
    told.acknowledgement.close()
    assert told.said == [(STANDARD, number, number, 1) for number in (1, 2, 3)]


def test_auto_tells_when_the_application_is_done_with_the_message_not_before() -> None:
    told = Told(Ack.AUTO, 100)
    told.acknowledgement.taken(b"1")
    assert told.said == []
    told.acknowledgement.handled(b"1")
    assert told.said == [(STANDARD, 1, 1, 1)]


def test_the_applications_word_is_nothing_to_dups_ok() -> None:
    told = Told(Ack.DUPS_OK, 8)
    told.have(1, 2)
    told.acknowledgement.acknowledge()
    assert told.said == []
    told.acknowledgement.close()
    assert told.said == [(STANDARD, 1, 2, 2)]


def test_dups_ok_tells_of_all_at_half_the_prefetch_and_of_the_rest_on_close() -> None:
    told = Told(Ack.DUPS_OK, 8)
    told.have(*range(10))
    assert told.said == [(STANDARD, 0, 3, 4), (STANDARD, 4, 7, 4)]
    told.acknowledgement.close()
    told.acknowledgement.close()
    assert told.said[2:] == [(STANDARD, 8, 9, 2)]


def test_client_acknowledges_when_told_to_and_only_asks_for_more_before() -> None:
    told = Told(Ack.CLIENT, 8)
    told.have(*range(5))
    assert told.said == [(DELIVERED, 0, 3, 4)]
    told.acknowledgement.acknowledge()
    assert told.said[1:] == [(STANDARD, 0, 4, 5)]
    told.acknowledgement.acknowledge()
    told.have(5)
    told.acknowledgement.close()
    assert len(told.said) == 2


def test_a_handler_may_acknowledge_the_message_in_its_hand() -> None:
    told = Told(Ack.CLIENT, 8)
    for number in (1, 2):
        identity = b"%d" % number
        told.acknowledgement.taken(identity)
        told.acknowledgement.acknowledge()
        told.acknowledgement.handled(identity)
    assert told.said == [(STANDARD, 1, 1, 1), (STANDARD, 2, 2, 1)]
