"""`lab conform`: does a stack keep what it declares?"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

from experiments.conformance import proving
from experiments.conformance.promises import OF_RESTARTS, PROMISES, E, Promise
from experiments.conformance.proving import Answer, Finding
from experiments.conformance.restart import Restarted, Task, tried
from experiments.conformance.stories import ALL, SHORT, WHOLE
from experiments.deploy import DeployError
from experiments.scenario.settings import REFERENCES
from lab import execution
from lab.beforehand import Care, kernels
from lab.common import Status, can_be_written, fail, out, shown, told
from lab.run import begun
from lab.start import tidy
from lab.within import Command, options
from records import yaml_lines
from records.scratch import scratch
from stacks import registry
from stacks.driver import Stack
from stacks.knobs import KnobsError, KnobValue, unsaid
from stacks.reference.faults import parse

_STYLES: Mapping[Answer, str] = {"kept": "green", "broken": "bold red", "untried": "yellow", "not promised": "dim"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a stack's promises.  campaign: the folder of its trials, None when none was needed."""

    stack: str
    knobs: Mapping[str, KnobValue]
    faults: Sequence[str]
    campaign: Path | None
    findings: Sequence[Finding]

    @property
    def status(self) -> Status:
        """0 when all that is promised was kept."""
        answers = {one.answer for one in self.findings}
        if "untried" in answers:
            return Status.FAILED
        return Status.NOT_ALL_VALID if "broken" in answers else Status.ALL_VALID


def conform(
    *,
    stack: str,
    knob: list[str] | None,
    fault: list[str] | None,
    only: list[str] | None,
    short: bool,
    json: Path | None,
    junit: Path | None,
    results: Path,
    kernel: str,
    medium: str,
    low_disk: bool,
) -> None:
    """Try the stack's promises, and print what became of each."""
    with told():
        wanted = _wanted(only or [])
        of_trials, of_restarts = _among(PROMISES, wanted), _among(OF_RESTARTS, wanted)
        knobs, driver = _driver(stack, _knobs(knob or []))
        faults = _faults(stack, fault or [])
        for option, file in (("--json", json), ("--junit", junit)):
            can_be_written(option, file)
        chosen, place = kernels(kernel, medium), options(kernel=kernel, medium=medium, results=results)
        tidy(results)
        with scratch("conform") as folder:
            path = folder / f"conform-{stack}.yaml"
            scenario = proving.write_scenario(
                path, driver, SHORT if short else WHOLE, knobs=knobs, faults=faults, promises=of_trials
            )
            if scenario is None and all(proving.not_promised(driver, one) for one in of_restarts):
                fail(f"stack {stack!r} promises none of {', '.join(only or ['what is tried'])}", Status.USAGE)
            campaign: Path | None = None
            if scenario is not None:
                campaign, care = begun(scenario, results, chosen, new=True, care=Care(room=low_disk))
        if campaign is not None:
            given = {"--knob": knob, "--fault": fault, "--only": only}
            files = {"--json": json, "--junit": junit}
            again = _anew(stack, given, files, {"--short": short}, place)
            ended = execution.execute(campaign, chosen, again=again, closing=None, care=care)
            if ended is Status.INTERRUPTED:
                raise typer.Exit(ended)
        findings = [
            *proving.findings(campaign, driver, of_trials),
            *proving.of_restarts(driver, of_restarts, lambda: _restarted(stack, knobs)),
        ]
        result = Result(
            stack=stack,
            knobs=knobs,
            faults=fault or [],
            campaign=campaign,
            findings=findings,
        )
        out.print(table(result))
        out.print(line(result))
        if json:
            json.write_text(as_json(result))
        if junit:
            ET.indent(tree := as_junit(result))
            tree.write(junit, encoding="utf-8", xml_declaration=True)
        raise typer.Exit(result.status)


def _anew(
    stack: str,
    given: Mapping[str, Sequence[str] | None],
    files: Mapping[str, Path | None],
    switches: Mapping[str, bool],
    place: Sequence[str],
) -> Command:
    """The command that tries it again, from the beginning: its answers are of all trials together."""
    words = [word for option, values in given.items() for value in values or () for word in (option, value)]
    words += [word for option, file in files.items() if file for word in (option, str(file))]
    words += [option for option, on in switches.items() if on]
    return Command(words=("conform", stack, *words, *place))


def table(result: Result) -> Table:
    """A row for every promise."""
    rows = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("promise", "", "", "after"):
        rows.add_column(heading, overflow="fold")
    for one in result.findings:
        about = f"{one.about}: {one.why}" if one.why else one.about
        rows.add_row(one.promise, Text(one.answer, style=_STYLES[one.answer]), Text(about), ALL[one.story].about)
    return rows


def line(result: Result) -> str:
    """All of it in a line."""
    count = {answer: sum(one.answer == answer for one in result.findings) for answer in _STYLES}
    promised = len(result.findings) - count["not promised"]
    untried = f", {count['untried']} could not be tried" if count["untried"] else ""
    broken = f", {count['broken']} broken" if count["broken"] else ""
    kept = f"{result.stack} keeps {count['kept']} of the {promised} promises that it makes"
    return f"{kept}{broken}{untried}" + (f"; {shown(result.campaign)}" if result.campaign else "")


def as_json(result: Result) -> str:
    """For programs."""
    said = {
        "stack": result.stack,
        "knobs": dict(result.knobs),
        "faults": list(result.faults),
        "campaign": "/".join(result.campaign.parts[-2:]) if result.campaign else None,
        "promises": [one.as_json() for one in result.findings],
    }
    return dumps(said, indent=1) + "\n"


def as_junit(result: Result) -> ET.ElementTree:
    """A test case for each promise, as build servers read it."""
    suite = ET.Element("testsuite", name=f"lab conform {result.stack}", tests=str(len(result.findings)))
    for tag, answer in (("failures", "broken"), ("errors", "untried"), ("skipped", "not promised")):
        suite.set(tag, str(sum(one.answer == answer for one in result.findings)))
    for one in result.findings:
        case = ET.SubElement(suite, "testcase", classname=f"{result.stack}.{one.story}", name=one.promise)
        if one.answer != "kept":
            tag = {"broken": "failure", "untried": "error", "not promised": "skipped"}[one.answer]
            ET.SubElement(case, tag, message=one.why)
    return ET.ElementTree(suite)


def _wanted(names: Sequence[str]) -> frozenset[str]:
    known = [*(one.name for one in PROMISES), *(one.name for one in OF_RESTARTS)]
    for name in names:
        if name not in known:
            fail(f"--only {name!r}: not one of the promises {', '.join(known)}", Status.USAGE)
    return frozenset(names or known)


def _among(promises: Sequence[Promise[E]], names: Container[str]) -> tuple[Promise[E], ...]:
    return tuple(one for one in promises if one.name in names)


def _restarted(stack: str, knobs: Mapping[str, KnobValue]) -> Restarted | str:
    if os.geteuid():
        return "killing servers and watching their syncs takes root"
    out.print("killing the servers, and starting them again")
    with scratch("conform") as folder, (folder / "log").open("w+") as log:
        try:
            after = tried(Task(stack=stack, knobs=dict(knobs), folder=str(folder)), messages=log)
        except DeployError as error:  # what the trials have shown is not lost with it
            return str(error)
        log.seek(0)
        return f"{after}\n{log.read()}".strip() if isinstance(after, str) else after


def _knobs(words: Sequence[str]) -> dict[str, KnobValue]:
    found: dict[str, KnobValue] = {}
    for word in words:
        name, equals, value = word.partition("=")
        try:
            said = yaml_lines.parse(value.encode(), Path(name))[0] if equals else None
        except yaml_lines.YamlError:
            said = None
        if not name or not isinstance(said, bool | int | float | str):
            fail(f"--knob {word}: not KNOB=VALUE with a number in decimal, or a word", Status.USAGE)
        if name in found:
            fail(f"--knob {word}: {name} is given twice", Status.USAGE)
        found[name] = said
    return found


def _driver(stack: str, given: Mapping[str, KnobValue]) -> tuple[Mapping[str, KnobValue], Stack]:
    """Knobs that a scenario would have to say are as they usually are."""
    try:
        kind = registry.knobs_of(stack)
        usual = {one: kind.model_fields[one].default for one in unsaid(kind, given)} if kind else {}
        knobs = {**usual, **given}
        return knobs, registry.get(stack, knobs)
    except (registry.UnknownStackError, KnobsError) as error:
        fail(str(error), Status.USAGE)


def _faults(stack: str, words: Sequence[str]) -> dict[str, str]:
    if words and stack not in REFERENCES:
        fail(f"--fault: faults can be switched on in {' and '.join(REFERENCES)} only, not in {stack!r}", Status.USAGE)
    try:
        parse(words)
    except ValueError as error:
        fail(f"--fault: {error}", Status.USAGE)
    found: dict[str, str] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name in found:
            fail(f"--fault {word}: {name} is given twice", Status.USAGE)
        found[name] = value
    return found
