"""Whether media agree, as a section of a page (Markdown) and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from analysis.metrics import METRICS
from analysis.units import quantity
from records.agreement import JUDGED, QUANTITIES, Agreement, By, Losses, Quantity
from records.equivalence import Answer, Comparison

_SHOWN = {name: METRICS["delivered_per_s" if name == "throughput" else "latency_mean_s"] for name in QUANTITIES}

_METHOD = """\
The same load (`experiments/scenarios/agreement.yaml`: the default experiment's larger messages, in a window of 20 s,
or of 60 s where more than 0.1 % of packets are lost) over the same profile and seeds: by the line (*line*), by tc on
the machine's own kernel (*host*), and by tc and netem in the lab kernel (*lab*). Trial k of each has the same losses.
Where the own kernel has no netem, a frame does not pay its transmission time with tc on an idle link, and this shows in
*host*.

Throughput: messages per second that consumers got in a closed loop, each from its first to its last in the window.
Latency: the mean of what was sent in the window in an open loop, which sends half as often as a closed one could. The
closed loop's latency stands beside it and decides nothing: there a message waits for those copies of the one before
that are still to come, and how many these are depends on when the server's threads wrote the publisher's answer.
Ratios are geometric means over pairs of valid trials, of the medium named first to the other. *Equal*: the whole
interval lies between 1 / {most} and {most} (two one-sided tests); *not equal*: all of it lies outside. Trials are added
until that is decided, and looked at after {looks} of them; over all looks together the intervals hold the truth in 95 %
of all cases (`docs/statistics.md`). Losses are *the same* when both had the same lists for each seed (by their
digests), and lost of what passed the packets that these name."""


def section(
    found: Sequence[Agreement],
    refused: Mapping[tuple[str, By], str],
    *,
    looks: Sequence[int],
    command: str,
    revision: str,
    machine: str,
) -> str:
    """The section.  refused: profile and medium to why it was not measured.  looks: after how many trials."""
    lines = ["## Whether the media agree", ""]
    lines += [f"Made by `{command}` at revision {revision}, on {machine}. {summary(found)}", ""]
    if found:
        most = f"{1 + found[0].throughput.compared.margin:g}"
        *first, last = map(str, looks)
        lines += [_METHOD.format(most=most, looks=f"{', '.join(first)} and {last}" if first else last), ""]
        lines += [*_table(found), ""]
    if refused:
        lines += ["| profile | by | why it was not measured |", "|---|---|---|"]
        lines += [f"| {profile} | {by} | {why} |" for (profile, by), why in refused.items()]
        lines.append("")
    for one in found:
        for name in (*one.losses.different, *one.losses.unlisted):
            lines.append(f"* {one.profile}: losses differ in {name}")
    return "\n".join(lines).rstrip() + "\n"


def summary(found: Sequence[Agreement]) -> str:
    """One sentence."""
    answers = [one.answer for one in found]
    parts = [f"{count} {answer}" for answer in Answer if (count := answers.count(answer))]
    return f"{len(found)} comparison{'s' * (len(found) != 1)} of two media: {', '.join(parts) or 'none was made'}."


def line(one: Agreement) -> str:
    """One comparison on a terminal."""
    parts = [f"{name} {ratio_text(getattr(one, name).compared)}" for name in JUDGED]
    found = ", ".join([*parts, f"losses {_same(one.losses)}"])
    return f"{one.profile:<22} {one.second} / {one.first}: {_answer(one)}; {found}".replace("**", "")


def _table(found: Sequence[Agreement]) -> Iterator[str]:
    yield "| profile | media | throughput | ratio | latency | ratio | closed loop's | ratio | losses | answer |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---|---|"
    for one in found:
        cells = [one.profile, f"{one.second} / {one.first}"]
        for name in _SHOWN:
            measured: Quantity = getattr(one, name)
            cells += [_means(name, measured), ratio_text(measured.compared)]
        yield f"| {' | '.join([*cells, _losses(one.losses), _answer(one)])} |"


def _means(name: str, measured: Quantity) -> str:
    """Second and first, as they stand in the ratio."""
    if measured.means is None:
        return "–"
    return " / ".join(quantity(_SHOWN[name], value) for value in reversed(measured.means))


def ratio_text(found: Comparison) -> str:
    """A ratio with its interval."""
    if found.ratio is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{found.ratio:.3f}"
    return f"{found.ratio:.3f} ({found.low:.3f} to {found.high:.3f})"


def _losses(losses: Losses) -> str:
    (passed, others), (lost, their) = losses.passed, losses.lost
    return f"{_same(losses)}: {their:,} of {others:,} / {lost:,} of {passed:,}"


def _same(losses: Losses) -> str:
    return "the same" if losses.same else "**not the same**"


def _answer(one: Agreement) -> str:
    pairs, others = one.throughput.compared.n, one.latency.compared.n
    answer = one.answer.value if one.answer is Answer.EQUAL else f"**{one.answer.value}**"
    if pairs != others:
        return f"{answer} (pairs: {pairs} of throughput, {others} of latency)"
    of = "" if pairs == one.trials else f" of {one.trials}"
    return f"{answer} ({pairs}{of} pair{'s' * (one.trials != 1)})"
