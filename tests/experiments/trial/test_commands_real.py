"""Programs under a link on the real kernel: what is recorded of them, how bad ones end, and that nothing stays."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from lab_runs import assert_sound, failed, traces
from trial_runs import run

from analysis.trial import reduce_trial
from experiments.load.programs import ProgramError
from records.store import Trial
from records.verdict import Check, Health, State, Verdict

pytestmark = [pytest.mark.root]

# Sends what it is told to back, once for each connection; a client asks for so many bytes and prints what it got.
SERVER = """
import socket, sys
with socket.create_server((sys.argv[1], 7000)) as here:
    while True:
        there, _ = here.accept()
        with there:
            there.sendall(bytes(int(there.recv(100))))
"""
CLIENT = """
import json, socket, sys, time
began = time.monotonic()
with socket.create_connection((sys.argv[1], 7000)) as there:
    there.sendall(sys.argv[2].encode())
    got = sum(map(len, iter(lambda: there.recv(1 << 16), b"")))
print("got it all")
print(json.dumps({"of": [{"got": got}], "took": time.monotonic() - began}))
"""
SIZE = 100_000


def python(code: str, *words: str) -> str:
    return shlex.join(["python3", "-I", "-c", code.replace("{", "{{").replace("}", "}}"), *words])


def work(client: str, **more: Any) -> dict[str, Any]:
    server = {"command": python(SERVER, "{server}"), "ready_port": 7000}
    return {"pattern": "command", "server": server, "client": {"command": client}} | more


def ran(folder: Path, workload: dict[str, Any], **settings: Any) -> tuple[Trial, Verdict]:
    window = {"warmup_s": 0, "window_s": 1.5, "drain_s": 1}
    trial, verdict, _ = run(folder, stack="none", workload=workload, window=window, network="wireline-10m", **settings)
    return trial, verdict


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trial, Verdict, bool]:
    folder = tmp_path_factory.mktemp("good")
    before = traces(folder)
    metrics = {"got": {"path": "of.0.got", "unit": "B"}, "took": {"path": "took", "unit": "s", "better": "lower"}}
    trial, verdict = ran(folder, work(python(CLIENT, "{server}", str(SIZE)), metrics=metrics))
    return trial, verdict, traces(folder) == before


def test_what_programs_print_and_how_they_end_is_recorded(good: tuple[Trial, Verdict, bool]) -> None:
    trial, verdict, clean = good
    assert_sound(verdict)
    assert clean
    manifest = trial.manifest()
    assert [one.station for one in manifest.programs] == ["sta1", "sta2"]
    for one in manifest.programs:
        assert (one.status, one.timed_out, one.server, one.problem) == (0, False, "server", "")
        assert one.metrics["got"] == SIZE
        assert 0 < one.metrics["took"] < one.duration_s
    assert manifest.figures["got"] == SIZE
    assert (manifest.stack, manifest.guarantee_class) == ("none", "command")
    assert "got it all" in (trial.path / "logs" / "program-sta1.out.log").read_text()


def test_the_verdict_says_what_does_not_apply(good: tuple[Trial, Verdict, bool]) -> None:
    skipped = {one.check for one in good[1].checks if one.health is Health.NOT_APPLICABLE}
    assert {Check.LEDGER_CLOSES, Check.CLEAN_SLATE} < skipped
    assert Check.PROGRAMS_SUCCEEDED not in skipped


def test_the_packets_say_what_went_over_the_link(good: tuple[Trial, Verdict, bool]) -> None:
    rows = reduce_trial(good[0].path, 0).to_pylist()
    assert not [row for row in rows if row["table"] in ("damage", "partial")]
    metrics = {row["metric"]: row["value"] for row in rows if row["table"] == "trial"}
    # Both stations' bytes, in a window of 1.5 s; the request's few bytes go the other way.
    assert metrics["tcp_payload_downlink_bit_s"] == pytest.approx(2 * 8 * SIZE / 1.5, rel=0.02)
    assert 0 < metrics["tcp_payload_uplink_bit_s"] < 1000
    assert (metrics["got"], metrics["failed_programs"]) == (SIZE, 0)
    assert metrics["duration_s"] > metrics["took"] > 8 * SIZE / 10e6
    assert not {"delivered_per_s", "latency_p50_s", "loss_share"} & metrics.keys()


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trial, Verdict, bool]:
    """Of four stations one program never ends, one prints no JSON, one is killed, one fails."""
    folder = tmp_path_factory.mktemp("bad")
    before = traces(folder)
    code = (
        "import os, sys, time\n"
        "me = sys.argv[1]\n"
        "if me == 'sta1': os.fork(); time.sleep(600)\n"
        "if me == 'sta2': print('no JSON')\n"
        "if me == 'sta3': os.kill(os.getpid(), 9)\n"
        "if me == 'sta4': sys.exit('no way')\n"
    )
    metrics = {"rate": {"path": "rate", "unit": "bit/s"}}
    trial, verdict = ran(folder, work(python(code, "{station}"), metrics=metrics), stations=4)
    return trial, verdict, traces(folder) == before


def test_programs_that_do_not_end_well_make_the_trial_invalid_with_reasons(bad: tuple[Trial, Verdict, bool]) -> None:
    trial, verdict, clean = bad
    assert clean
    assert verdict.state is State.INVALID
    assert Check.PROGRAMS_SUCCEEDED in failed(verdict)
    runs = {one.station: one for one in trial.manifest().programs}
    assert [(one.status, one.timed_out) for one in runs.values()] == [(-9, True), (0, False), (-9, False), (1, False)]
    assert "had not ended 1 s after the window and was killed" in runs["sta1"].problem
    assert "'rate': the client printed no JSON" in runs["sta2"].problem
    assert "'python3' ended with signal SIGKILL" in runs["sta3"].problem
    assert "'python3' ended with exit status 1: it said 'no way'" in runs["sta4"].problem
    (said,) = [one.detail for one in verdict.checks if one.check is Check.PROGRAMS_SUCCEEDED]
    assert all(runs[name].problem in said for name in ("sta1", "sta2", "sta3"))
    assert trial.manifest().drained == "limit"


def test_a_server_that_does_not_start_fails_the_trial_with_its_words(tmp_path: Path) -> None:
    server = {"command": python("raise SystemExit('no room')"), "ready_port": 7000}
    before = traces(tmp_path)
    with pytest.raises(
        ProgramError, match=r"server: 'python3' ended with exit status 1 before it was ready.*'no room'"
    ):
        ran(tmp_path, work("true", server=server))
    assert traces(tmp_path) == before


def test_iperf3_fills_the_link(tmp_path: Path) -> None:
    """Of 1538 bytes that a full frame takes on this link 1448 are payload."""
    throughput = {"path": "end.sum_received.bits_per_second", "unit": "bit/s", "better": "higher"}
    asked = {
        "pattern": "command",
        "server": {"command": "iperf3 --server --bind {server}", "ready_port": 5201},
        "client": {"command": "iperf3 --client {server} --time 1 --json"},
        "metrics": {"throughput": throughput},
    }
    trial, verdict = ran(tmp_path, asked, stations=1)
    assert_sound(verdict)
    throughput = trial.manifest().figures["throughput"]
    assert throughput is not None
    # No more than passes; less where the machine has stalled for a part of its second.
    assert 0.5 < throughput / (10e6 * 1448 / 1538) < 1.02
