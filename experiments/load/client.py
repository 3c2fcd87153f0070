"""The client process of one node: python -m experiments.load.client, spoken to over stdin and stdout.

Exit status: 0 done, 1 an error that was reported, 3 the owner is gone (end of stdin).
"""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from contextlib import suppress
from typing import NoReturn

import uvloop

from experiments.load.clock import Clock, alarm_clock
from experiments.load.connecting import Clients, ConnectError, connected
from experiments.load.dying import die
from experiments.load.ledger import Ledger, Tables
from experiments.load.node_run import Own, producers, run_node
from experiments.load.owner import Orders, orders, say
from experiments.load.protocol import (
    Done,
    Failure,
    Go,
    Kill,
    NodePlan,
    Progress,
    Ready,
    Stop,
    Times,
    read_last_order,
)
from experiments.workers.lines import ProtocolError, read
from records import no_gc, no_pandas
from stacks.registry import UnknownStackError, get


async def _run(
    ledger: Ledger, *, clients: Clients, clock: Clock, listen: Orders, times: Times | None
) -> tuple[Own, Stop | Kill]:
    """times: when they are known already.  Returns when it is told to end, and how."""
    own = Own()
    ready = producers(ledger=ledger, clients=clients, clock=clock, own=own)
    with no_gc.paused():  # before it says that it is ready: between go and the first send there is a tenth of a second
        since_ns = clock.now_ns()
        say(Ready(t_ns=since_ns))
        times = times or read(await listen.next(), Go).go
        last = asyncio.ensure_future(listen.next())
        await run_node(
            last, ledger=ledger, clients=clients, clock=clock, ready=ready, times=times, since_ns=since_ns, own=own
        )
        return own, read_last_order(last.result())


async def _serve(listen: Orders) -> Done:
    ledger = Ledger(read(await listen.next(), NodePlan))
    if not os.access(ledger.plan.out_dir, os.W_OK | os.X_OK):
        raise NotADirectoryError(f"out_dir {ledger.plan.out_dir}: no folder that can be written to")
    stack = get(ledger.plan.stack, ledger.plan.knobs)
    times = read(await listen.next(), Go).go if ledger.plan.late else None
    with alarm_clock() as clock:
        async with connected(ledger.plan, stack=stack, log=ledger.delivered, clock=clock) as clients:
            own, last = await _run(ledger, clients=clients, clock=clock, listen=listen, times=times)
            totals = ledger.progress(t_ns=clock.now_ns(), lost=clients.lost())
            if isinstance(last, Kill):
                _be_killed(ledger, totals, clients, own)
    tables = ledger.tables()
    listen.when_gone_remove(ledger.files())
    await asyncio.to_thread(tables.write, ledger.files())
    return _done(tables, totals, clients, own, ledger)


def _be_killed(ledger: Ledger, totals: Progress, clients: Clients, own: Own) -> NoReturn:
    killed_ns, status = die(), 0
    try:
        tables = ledger.tables()
        tables.write(ledger.files())
        say(_done(tables, totals, clients, own, ledger).model_copy(update={"killed_ns": killed_ns}))
    except Exception as error:  # noqa: BLE001  (as in _main: the owner must hear of it)
        say(Failure(message=f"{type(error).__name__}: {error}"))
        status = 1
    os._exit(status)


def _done(tables: Tables, totals: Progress, clients: Clients, own: Own, ledger: Ledger) -> Done:
    return Done(
        rows={"published": tables.published.num_rows, "delivered": tables.delivered.num_rows},
        acked=totals.acked,
        unreadable=tables.unreadable,
        worst_send_lateness_s=own.lateness.worst_ns / 1e9,
        worst_loop_lag_s=own.lag.worst_ns / 1e9,
        cpu_seconds=own.cpu_seconds,
        lost_connections=totals.lost_connections,
        producer_sockets={number: tuple(mine) for number, mine in clients.producer_sockets.items()},
        consumer_sockets={number: tuple(mine) for number, mine in clients.consumer_sockets.items()},
        absences={number: tuple(one) for number, one in clients.absences.items()},
        retries={log.producer: log.retries for log in ledger.published if log.retries},
    )


async def _main() -> int:
    try:
        say(await _serve(await orders()))
    except (ProtocolError, ConnectError, UnknownStackError, OSError) as error:
        say(Failure(message=str(error)))
        return 1
    except Exception as error:  # noqa: BLE001  (whatever it is, the owner must hear of it)
        with suppress(OSError):  # the log may be on a full disk
            traceback.print_exc()
        say(Failure(message=f"{type(error).__name__}: {error}"))
        return 1
    return 0


def main() -> None:
    """Run, and leave without waiting for anything: what had to be written is written."""
    no_pandas.keep_out()
    status = uvloop.run(_main())
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
