"""From a stack to the stories that it has to go through, and from these to what it has kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Literal

from experiments.conformance.promises import PROMISES, E, Promise, Seen
from experiments.conformance.restart import Restarted
from experiments.conformance.stories import ALL, STORIES, Course, Story
from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import Scenario
from records.campaign import read_campaign
from records.counting import read_tables
from records.store import DamagedTrial, Trial, trials_of
from records.workload import Messages, workload_of
from records.yaml_lines import text_of
from stacks.driver import Stack
from stacks.knobs import KnobValue
from stacks.reference.struck import harmless

Answer = Literal["kept", "broken", "untried", "not promised"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One promise.  why: how it was broken, or why it was not tried or not promised.  trial: its folder."""

    promise: str
    about: str
    story: str
    answer: Answer
    why: str = ""
    trial: str = ""

    def as_json(self) -> dict[str, str]:
        """For a file."""
        return asdict(self)


def not_promised(stack: Stack, promise: Promise[E]) -> str:
    """Why a stack does not promise it, '' when it does."""
    story = ALL[promise.story]
    if story.pattern not in stack.patterns:
        return f"the stack has no {story.pattern.value}"
    lacks = sorted((story.guarantees | promise.guarantees) - stack.guarantees)
    return f"the stack does not declare {', '.join(lacks)}" if lacks else ""


def write_scenario(
    path: Path,
    stack: Stack,
    course: Course,
    *,
    knobs: Mapping[str, KnobValue],
    faults: Mapping[str, str | int],
    promises: Sequence[Promise[Seen]] = PROMISES,
) -> Scenario | None:
    """Write the scenario that tries what a stack promises, and read it; None when it promises none of these.

    Each story has those of the faults that can happen to its messages.

    Raises what reading a scenario does.
    """
    wanted = dict.fromkeys(one.story for one in promises if not not_promised(stack, one))
    if not wanted:
        return None
    said = {
        "scenario": f"conform-{stack.name}",
        "question": f"Does {stack.name} keep what it declares over an impaired link?",
        "stack": stack.name,
        "stations": 3,
        "congestion_control": "reno",
        "capture": "off",
        "trials": 1,
        "repeat_spoiled": 0,
        **({"knobs": {stack.name: dict(knobs)}} if knobs else {}),
        "cases": [{"case": name, **_plain(STORIES[name], course, faults)} for name in wanted],
    }
    path.write_text(text_of(said, width=120))
    return scenarios.load(path)


def _plain(story: Story, course: Course, faults: Mapping[str, str | int]) -> dict[str, object]:
    said = story.says(course)
    said["workload"] = {key: value for key, value in said["workload"].items() if value is not None}
    work = workload_of(said["workload"])
    mine = {fault: how for fault, how in faults.items() if isinstance(work, Messages) and not harmless(fault, work)}
    return {**said, **({"faults": mine} if mine else {})}


def findings(folder: Path | None, stack: Stack, promises: Iterable[Promise[Seen]] = PROMISES) -> list[Finding]:
    """What became of each promise, by the trials of a campaign of `write_scenario`'s; None where it had none."""
    cells = {cell.levels.get("case", ""): cell.name for cell in read_campaign(folder).cells} if folder else {}

    @cache
    def seen(story: str) -> Seen | str:
        finished = trials_of(folder / cells[story]) if folder else []
        return _seen(finished[0]) if finished else "its trial failed: see trials.log"

    return [
        _judged(one, stack, partial(seen, one.story), trial=str(Path(cells.get(one.story, "")) / "trial-001"))
        for one in promises
    ]


def of_restarts(
    stack: Stack, promises: Iterable[Promise[Restarted]], tried: Callable[[], Restarted | str]
) -> list[Finding]:
    """What became of these.  tried: kills the servers, once, when the stack promises any of these; or why not."""
    once = cache(tried)
    return [_judged(one, stack, once) for one in promises]


def _judged(promise: Promise[E], stack: Stack, after: Callable[[], E | str], *, trial: str = "") -> Finding:
    told = {"promise": promise.name, "about": promise.about, "story": promise.story}
    if why := not_promised(stack, promise):
        return Finding(**told, answer="not promised", why=why)
    seen = after()
    if isinstance(seen, str):
        return Finding(**told, answer="untried", why=seen)
    why = (seen.nothing or seen.dead if isinstance(seen, Seen) else "") or promise.broken(seen)
    if not why and isinstance(seen, Seen) and (unproven := seen.unproven):
        why = f"the link was not what the story asks for: {unproven}"
        return Finding(**told, answer="untried", why=why, trial=trial)
    return Finding(**told, answer="broken" if why else "kept", why=why, trial=trial)


def _seen(trial: Trial) -> Seen | str:
    try:
        manifest = trial.manifest()
        tables = read_tables(trial, manifest)
        return Seen.of(
            tables["published"], tables["delivered"], manifest.workload.audiences, verdict=trial.verdict(),
            window=manifest.window,
        )  # fmt: skip
    except (DamagedTrial, OSError) as error:
        return f"its trial cannot be read: {error}"
