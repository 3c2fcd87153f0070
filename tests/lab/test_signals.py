"""What ends a terminal ends `lab`, unless whoever started it has taken that away."""

from __future__ import annotations

import signal

import pytest

from lab import main


@pytest.mark.parametrize("before", [signal.SIG_IGN, signal.SIG_DFL], ids=["under nohup", "in a terminal"])
def test_the_end_of_a_terminal_has_no_effect_under_nohup(
    monkeypatch: pytest.MonkeyPatch, before: signal.Handlers
) -> None:
    usual = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM)}
    monkeypatch.setattr(main, "app", lambda: None)
    try:
        signal.signal(signal.SIGHUP, before)
        main.main()
        assert (signal.getsignal(signal.SIGHUP) is signal.SIG_IGN) == (before is signal.SIG_IGN)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
