"""A server that does one thing wrong makes one symptom show, and no other."""

import asyncio
from pathlib import Path

import pytest
from load_runs import Outcome, node_plan, run, warm_server

RATE, WINDOW_S, MESSAGES, CONSUMERS = 100, 0.75, 75, 2
STALL_S = 2.0


def trial(folder: Path, *faults: str, quiet_s: float, limit_s: float = 20.0) -> Outcome:
    async def story() -> Outcome:
        async with warm_server(*faults) as port:
            plan = node_plan(folder, port, {"loop": "open", "rate": RATE})
            return await run([plan], window_s=WINDOW_S, quiet_s=quiet_s, limit_s=limit_s)

    return asyncio.run(story())


def symptoms(outcome: Outcome, *, stalls: bool = False) -> dict[str, int]:
    """Every symptom that is not zero; a silence where the server stalls, since a busy machine is silent too."""
    counted = outcome.reconciled()
    assert counted.closes
    every = {
        "lost": counted.lost,
        "in_doubt": counted.in_doubt,
        "refused": counted.refused,
        "duplicates": counted.duplicates,
        "redelivered": counted.redelivered,
        "reordered": counted.reordered,
        "lost_connections": len(outcome.result.lost_connections),
        "silences": int(stalls and outcome.longest_silence_s() >= STALL_S / 2),
    }
    return {name: count for name, count in every.items() if count}


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ((), {}),
        (("drop=10",), {"lost": CONSUMERS * (MESSAGES // 10)}),
        (("duplicate=10",), {"duplicates": CONSUMERS * (MESSAGES // 10)}),
        (("reorder=10",), {"reordered": CONSUMERS * (MESSAGES // 10)}),
        ((f"stall=40:{STALL_S}",), {"silences": 1}),
    ],
)
def test_a_fault_shows_in_its_own_symptom_only(
    tmp_path: Path, faults: tuple[str, ...], expected: dict[str, int]
) -> None:
    stalls = "silences" in expected
    assert symptoms(trial(tmp_path, *faults, quiet_s=2 * STALL_S if stalls else 0.5), stalls=stalls) == expected


def test_a_crash_leaves_what_was_under_way_in_doubt_and_nothing_lost(tmp_path: Path) -> None:
    found = symptoms(trial(tmp_path, "crash=40", quiet_s=0.5))
    assert found.keys() == {"in_doubt", "lost_connections"}
    assert found["lost_connections"] == CONSUMERS + 1
    # The 40th message has no answer; on a busy machine the schedule sends more, up to all, before the loss is known.
    assert CONSUMERS <= found["in_doubt"] <= CONSUMERS * (MESSAGES - 39)


def test_a_closed_loop_ends_with_its_connection(tmp_path: Path) -> None:
    async def story() -> Outcome:
        async with warm_server("crash=40") as port:
            return await run([node_plan(tmp_path, port)], window_s=WINDOW_S)

    outcome = asyncio.run(story())
    assert outcome.result.published.num_rows == 40
    assert symptoms(outcome) == {"in_doubt": CONSUMERS, "lost_connections": CONSUMERS + 1}
    assert all(
        "the server closed the connection" in reason or "reset" in reason for reason in outcome.result.lost_connections
    )
