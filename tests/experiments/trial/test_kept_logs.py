"""Of a trial that failed its logs are kept, and nothing that only has the name of one."""

from __future__ import annotations

from pathlib import Path

from experiments.trial.trial import _keep_logs


def test_logs_are_kept_and_a_brokers_store_is_not(tmp_path: Path) -> None:
    folder, kept = tmp_path / "trial", tmp_path / "kept"
    logs = ["logs/client-sta1.log", ".scratch/server/activemq/log"]
    others = [".scratch/server/activemq/data/kahadb/db-1.log", ".scratch/server/activemq/conf/log"]
    for name in (*logs, *others):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / ".scratch/sta1/client/log").mkdir(parents=True)
    (folder / "logs/link.log").symlink_to("/etc/passwd")
    _keep_logs(folder, kept)
    found = [path for path in kept.rglob("*") if path.is_file()]
    assert sorted(str(path.relative_to(kept)) for path in found) == sorted(logs)
    assert all(path.read_text() == str(path.relative_to(kept)) for path in found)
