from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from experiments.scenario import scenario as scenarios
from experiments.scenario.scenario import ScenarioError
from records.comparing import Compared

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests" / "fixtures"
MINIMAL = {
    "scenario": "small",
    "network": "nistnet-80211",
    "workload": {"clients": {"publishers": 1, "subscribers": 1}, "body_bytes": 100},
}


def load(tmp_path: Path, **settings: object) -> scenarios.Scenario:
    path = tmp_path / "scenario.yaml"
    path.write_text(yaml.safe_dump(MINIMAL | settings))
    return scenarios.load(path)


@pytest.mark.parametrize(
    ("key", "value", "missing"),
    [
        ("ack", "client", "ack_client"),
        ("receive", "sync", "sync_receive"),
        ("body_type", "map", "body_types"),
        ("when_full", "refuse", "refusal"),
    ],
)
def test_what_only_openwire_does_is_refused_elsewhere_with_the_stack_that_could(
    tmp_path: Path, key: str, value: str, missing: str
) -> None:
    workload = {**MINIMAL["workload"], key: value}
    with pytest.raises(ScenarioError, match=rf"'activemq' does not offer {missing}; .*: activemq-openwire$"):
        load(tmp_path, workload=workload)
    load(tmp_path, workload=workload, stack="activemq-openwire")


def test_a_listener_without_prefetch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="prefetch 0 asks for single messages"):
        load(tmp_path, workload={**MINIMAL["workload"], "prefetch": 0}, stack="activemq-openwire")


@pytest.mark.parametrize("stack", ["activemq", "activemq-openwire"])
def test_a_prefetch_that_the_broker_misreads_is_refused_before_anything_starts(tmp_path: Path, stack: str) -> None:
    durable = {**MINIMAL["workload"], "prefetch": 1000, "guarantee": {"subscription": "durable"}}
    with pytest.raises(ScenarioError, match=r"workload\.prefetch: prefetch 1000 of a durable subscription"):
        load(tmp_path, workload=durable, stack=stack)
    load(tmp_path, workload=durable | {"prefetch": 1001}, stack=stack)
    load(tmp_path, workload=durable | {"guarantee": {"subscription": "nondurable"}}, stack=stack)


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        (
            "misspelt-key",
            r"scenario\.yaml:6: workload\.akc: unknown key; did you mean 'ack'\? known are ack, acknowledge",
        ),
        ("wrong-type", r"scenario\.yaml:5: workload\.body_bytes: 'large': .*integer"),
        ("impossible-values", r"(?s):3: stations: 0: .*:6: workload\.body_bytes: 23: .*24.*:8: workload\.rate: 0: "),
        ("topics-without-publisher", r":6: workload\.clients: 3 topics cannot be filled by 1 publishers"),
        ("unknown-network", r":2: network: no link profile 'nistnet-80212'; there are .*nistnet-80211"),
        ("beyond-the-stack", r"stack: stack 'reference' does not offer persistent; .*activemq"),
        ("bad-profile", r":2: network: .*profile\.yaml:6: loss: 1\.01"),
        ("not-yaml", r"scenario\.yaml:\d: not YAML"),
        ("key-twice", r":3: the key 'network' is given twice"),
        ("looser-limit", r":7: checks\.limits\.server_cpu: 0\.9: looser than 0\.6"),
        (
            "waiver-of-no-factor",
            r"(?s):6: .*\.when\.netwrok: is not a factor.*:7: .*'wireline' is not one of its",
        ),
        (
            "unknown-baseline",
            r":3: baseline: 'wireline' is not a level of factor network: wireline-100m",
        ),
        ("date-that-is-none", r":2: '2005-13-45': .*quotes"),
        ("unknown-check", r":8: checks\.waive\.check: 'server_cup': .*server_cpu"),
    ],
)
def test_a_bad_scenario_is_refused_with_line_path_value_and_way_out(folder: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenarios.load(FIXTURES / f"scenario-{folder}" / "scenario.yaml")


def test_the_stack_null_without_quotes_is_told_what_yaml_makes_of_it(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match='stack: None: the word null is nothing in YAML: write "null" in quotes'):
        load(tmp_path, stack=None)


def test_every_problem_is_told_once(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path, network=["nowhere", "nistnet-80211"], stack=["no-such", "activemq"], stations=0)
    assert len(str(caught.value).splitlines()) == len(set(str(caught.value).splitlines())) == 1
    with pytest.raises(ScenarioError) as caught:
        load(tmp_path, network=["nowhere", "nistnet-80211"], stack=["no-such", "activemq"])
    assert len(str(caught.value).splitlines()) == 2


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"nothing\.yaml: No such file"):
        scenarios.load(tmp_path / "nothing.yaml")


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "just words", "? [1, 2]\n: 3\n", "!!python/object:os.system {}"])
def test_what_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=r"scenario\.yaml"):
        scenarios.load(path)


def test_a_bomb_of_aliases_is_refused_before_it_goes_off(tmp_path: Path) -> None:
    levels = [f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 10)}]" for n in range(1, 9)]
    path = tmp_path / "scenario.yaml"
    path.write_text("\n".join(["k0: &k0 [1]", *levels]))
    with pytest.raises(ScenarioError, match="more than 100000 values"):
        scenarios.load(path)


def test_an_alias_of_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text("network: &loop [*loop]")
    with pytest.raises(ScenarioError, match="not YAML"):
        scenarios.load(path)


@given(data=st.binary(max_size=300))
def test_any_file_ends_in_a_scenario_or_a_scenario_error(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "scenario.yaml"
    path.write_bytes(data)
    with pytest.raises(ScenarioError):
        scenarios.load(path)


SHIPPED = [
    path
    for path in sorted((ROOT / "experiments").rglob("*.yaml"))
    if any(line.startswith("scenario:") for line in path.read_text().splitlines())
]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_scenario_that_we_ship_can_be_loaded(path: Path) -> None:
    assert scenarios.load(path).cells


def test_the_default_experiment_is_two_networks_by_two_sizes_by_two_guarantees() -> None:
    scenario = scenarios.load(ROOT / "experiments" / "scenarios" / "wireless-vs-wireline.yaml")
    assert list(scenario.factors) == ["network", "body_bytes", "guarantee"]
    assert (len(scenario.cells), scenario.settings.trials.cap) == (8, 3)
    assert scenario.compared == Compared("network", "wireline-100m")
    clients = scenario.settings.workload.clients
    assert (clients.publishers, clients.subscribers, clients.topics) == (1, 10, 1)


def test_any_list_is_a_factor_and_cells_are_all_combinations(tmp_path: Path) -> None:
    scenario = load(tmp_path, stations=[1, 2], congestion_control=["reno", "cubic"], network=["nistnet-80211"])
    assert scenario.factors == {
        "congestion_control": ("reno", "cubic"),
        "network": ("nistnet-80211",),
        "stations": ("1", "2"),
    }
    assert len({cell.name for cell in scenario.cells}) == 4


def test_two_levels_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="two levels are both called '1'"):
        load(tmp_path, stations=[1, 1])


def test_settings_of_tcp_are_taken_as_sysctl_takes_them(tmp_path: Path) -> None:
    wanted = {"net.ipv4.tcp_recovery": 0, "net.ipv4.tcp_rmem": "4096 87380 174760"}
    assert load(tmp_path, sysctls=wanted).settings.sysctls == {name: str(value) for name, value in wanted.items()}
    assert load(tmp_path, sysctls=None).settings.sysctls == {}
    assert load(tmp_path).settings.sysctls == {}
    assert load(tmp_path, sysctls=wanted).digest != load(tmp_path).digest


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"net.core.somaxconn": 1}, "'net.core.somaxconn': a setting of TCP is meant"),
        ({"net.ipv4.tcp_x/../../core": 1}, "a setting of TCP is meant"),
        ({"net.ipv4.tcp_congestion_control": "bbr"}, "say congestion_control"),
        ({"net.ipv4.tcp_recovery": True}, "True is no number"),
        ({"net.ipv4.tcp_rmem": "4096, 87380"}, "'4096, 87380' is no number"),
        ("tcp_recovery=0", "sysctls: "),
    ],
)
def test_what_is_no_setting_of_tcp_is_refused(wanted: object, problem: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=re.escape(problem)):
        load(tmp_path, sysctls=wanted)


def test_an_empty_factor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"network: .*at least one level"):
        load(tmp_path, network=[])


def test_the_digest_changes_with_whatever_changes_a_measurement(tmp_path: Path) -> None:
    one = load(tmp_path).digest
    assert load(tmp_path).digest == one
    assert load(tmp_path, seed=2).digest != one
    assert load(tmp_path, network="wireline-100m").digest != one
    assert load(tmp_path, window={"window_s": 9}).digest != one


def test_the_digest_changes_with_the_content_of_a_profile(tmp_path: Path) -> None:
    profile = tmp_path / "mine.yaml"
    text = "{name: mine, description: d, source: s, medium: duplex, rate: %s Mbit/s}"
    profile.write_text(text % 1)
    one = load(tmp_path, network="mine.yaml").digest
    profile.write_text(text % 2)
    assert load(tmp_path, network="mine.yaml").digest != one


def test_times_may_have_units(tmp_path: Path) -> None:
    scenario = load(tmp_path, window={"warmup_s": "500 ms", "window_s": 2, "drain_s": "1 s"})
    assert scenario.settings.window.warmup_s == pytest.approx(0.5)


def test_faults_are_for_the_reference_stack(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="in reference and reference-peers only"):
        load(tmp_path, faults={"drop": 3})


@pytest.mark.parametrize(
    ("fault", "workload", "why"),
    [
        ("swap", {}, "it happens to stream only, and the pattern is pubsub"),
        ("drop", {"pattern": "request_reply", "clients": {"callers": 2, "services": 1}}, "the pattern is request_rep"),
        ("misreply", {"pattern": "request_reply", "clients": {"callers": 1, "services": 2}}, "there is one caller"),
        ("cross", {"pattern": "request_reply", "clients": {"callers": 2, "services": 1}}, "one reply at a time"),
        ("split", {"pattern": "stream", "clients": {"flows": 2}}, "no stream could go to another receiver"),
        (
            "split",
            {"pattern": "stream", "clients": {"shape": "shared", "flows": 2, "receivers": 2, "addresses": 2}},
            "two receivers at an address",
        ),
        ("double", {"pattern": "queue", "clients": {"senders": 2, "receivers": 2, "queues": 2}}, "two receivers"),
    ],
    ids=str,
)
def test_a_fault_that_can_happen_to_no_message_is_refused(
    tmp_path: Path, fault: str, workload: dict[str, object], why: str
) -> None:
    with pytest.raises(ScenarioError, match=rf"faults\.{fault}: .*{why}"):
        load(tmp_path, stack="reference", faults={fault: 5}, workload=MINIMAL["workload"] | workload)


def test_a_part_of_a_scenario_is_a_scenario_of_its_own(tmp_path: Path) -> None:
    whole = load(tmp_path, network=["wireline-100m", "nistnet-80211"], stations=[1, 2])
    part = scenarios.only(whole, ["network=nistnet-80211"])
    assert [cell.settings.network for cell in part.cells] == ["nistnet-80211"] * 2
    assert part.factors["network"] == ("nistnet-80211",)
    assert part.compared == Compared("network", "nistnet-80211")
    assert part.digest != whole.digest
    assert scenarios.only(whole, []).digest == whole.digest
    assert len(scenarios.only(whole, ["stations=1", "stations=2"]).cells) == 4


@pytest.mark.parametrize("word", ["network", "netwrk=wireline-100m", "network=wireline"])
def test_a_part_that_is_not_there_is_refused(tmp_path: Path, word: str) -> None:
    whole = load(tmp_path, network=["wireline-100m", "nistnet-80211"])
    with pytest.raises(scenarios.ScenarioError, match=f"--only {word}"):
        scenarios.only(whole, [word])
