"""What may run at the same time: marks of tests, groups of modules that run in one process, and how xdist is told.

(xdist's own way, the mark xdist_group, has no effect with pytest 9: what it appends to a test's name is not seen.)
"""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScopeScheduling

# What tests need of the machine.
NEEDS = {
    "spark": "a Spark session or cluster",
    "broker": "ActiveMQ",
    "labkernel": "the lab kernel",
    "browser": "Chromium",
    "root": "root: namespaces, links, captures",
}
MARKS = {
    **{name: f"needs {about}" for name, about in NEEDS.items()},
    "link": "measures what a link does: beside it run other such tests and those of pure code, nothing else",
    "alone": "takes every processor, or changes what all processes see: nothing runs beside it",
}
# Names a file that gets a line for each part of a test: name, seconds, outcome, seconds of processors (its process, and
# those that this has waited for).
RESULTS = "AIRWIRE_TEST_RESULTS"

SPARK = "spark"  # all modules that use the Spark session, which is one for a process, and what they reduce with it

# Modules of a group share a server, or a core, which a lab kernel has for itself.  Those first that take longest; a
# module in no group is one of its own.
GROUPS: dict[str, tuple[str, ...]] = {
    SPARK: (
        "analysis/test_analysis_cluster.py",
        "analysis/test_sql.py",
        "analysis/test_sql_at_uris.py",
        "analysis/test_sql_large.py",
        "analysis/test_partitions_on_spark.py",
        "analysis/test_analysis_source.py",
        "analysis/test_reductions_on_spark.py",
        "analysis/test_foreign_captures.py",
        "analysis/test_analysis_session.py",
        "lab/test_compare.py",
        "lab/test_packs_real.py",
    ),
    # One campaign, and its report, which is drawn once.
    "report": (
        "analysis/test_analysis_report.py",
        "analysis/test_analysis_chromium.py",
        "analysis/test_analysis_timeline.py",
        "analysis/test_analysis_pages.py",
        "analysis/test_analysis_breakdown.py",
        "analysis/test_analysis_stationarity.py",
        "analysis/test_journey_rows.py",
    ),
    "conformance": (
        "lab/test_conform_real.py",
        "experiments/conformance/test_restart_real.py",
    ),
    "broker": (
        "stacks/test_activemq_broker.py",
        "stacks/test_activemq_promises.py",
        "stacks/test_openwire_broker.py",
        "stacks/test_activemq_patterns.py",
        "stacks/test_activemq_mqtt.py",
        "stacks/test_mosquitto_broker.py",
        "stacks/test_tls_broker.py",
        "stacks/test_openwire_full.py",
        "playbooks/test_playbooks_deploy.py",
    ),
    "lab kernel 1": (
        "experiments/workers/test_lab_kernel_real.py",
        "emulation/labkernel/test_labkernel.py",
        "emulation/labkernel/test_labkernel_boot.py",
        "emulation/kernel/test_without_ipv6.py",
    ),
    "lab kernel 2": (
        "lab/test_shell.py",
        "lab/test_cli.py",
        "experiments/trial/test_connecting_real.py",
        "emulation/labkernel/test_labkernel_shim.py",
    ),
}
# Modules in no group that take longest: they begin first, so that all processes end at about the same time.
LONG = (
    "experiments/scenario/test_segments_real.py",
    "experiments/campaign/test_runner_real.py",
    "experiments/trial/test_patterns_real.py",
    "experiments/campaign/test_side_by_side_real.py",
    "experiments/campaign/test_pieces_real.py",
    "experiments/trial/test_trial_real.py",
    "experiments/trial/observers/test_full_disk_real.py",
    "experiments/trial/test_line_trials_real.py",
    "experiments/trial/test_line_impaired_real.py",
    "experiments/trial/test_jms_real.py",
    "experiments/trial/test_faults_real.py",
    "experiments/trial/test_commands_real.py",
    "experiments/trial/observers/test_line_gone_real.py",
    "experiments/trial/test_roaming_real.py",
    "lab/test_paper_real.py",
    "experiments/trial/test_line_trial_real.py",
    "experiments/trial/test_timeline_real.py",
    "experiments/trial/test_nodes_real.py",
    "experiments/trial/test_iris_outage_real.py",
    "lab/test_adding_a_stack.py",
    "experiments/trial/test_journey_real.py",
    "lab/test_report_by.py",
    "experiments/campaign/test_launch.py",
    # of links
    "emulation/link/test_stages_host.py",
    "emulation/line/test_line_stages.py",
    "emulation/proof/test_peers_host.py",
    "emulation/link/test_link.py",
    "lab/test_calibrate.py",
    "topologies/test_topologies_real.py",
    "emulation/plan/test_many_groups.py",
    "emulation/proof/test_stateproof_real.py",
    "emulation/line/test_line_timeline_host.py",
    "emulation/line/test_line_frames_host.py",
    "emulation/plan/test_renumber.py",
    # of pure code
    "emulation/line/test_line_two_uploads.py",
    "analysis/test_analysis_damaged_captures.py",
    "analysis/test_large_trials.py",
    "analysis/test_published_report.py",
    "analysis/test_papers_evidence.py",
    "lab/test_suite.py",
    "analysis/test_analysis_tcp.py",
    "records/test_older.py",
    "lab/test_campaigns_at_uris.py",
    "analysis/test_papers.py",
    "lab/test_unpack.py",
)
_FIRST = (*(module for modules in GROUPS.values() for module in modules), *LONG)
_ORDER = {f"tests/{module}": place for place, module in enumerate(_FIRST)}
_GROUP = {f"tests/{module}": group for group, modules in GROUPS.items() for module in modules}


def place(nodeid: str) -> int:
    """Where a test's module stands in the order of the groups; those in no group come last."""
    return _ORDER.get(_module(nodeid), len(_ORDER))


def group(nodeid: str) -> str:
    """A test's group: the one that names its module, else the module."""
    return _GROUP.get(_module(nodeid), _module(nodeid))


def _module(nodeid: str) -> str:
    return nodeid.partition("::")[0]


class Grouped(LoadScopeScheduling):  # type: ignore[misc]
    """Gives every group to one process, and the rest of its groups to others when it crashes.

    (xdist 3.8 itself hands out again what a process that crashed had done, too.  Whoever is given a group of which
    nothing is left to do never reports anything, so that nobody is given more, and all wait for ever.)
    """

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)

    def remove_node(self, node: Any) -> str | None:
        """A process has ended; the test that it crashed in, which has failed and is not given to others."""
        assigned = self.assigned_work[node]
        left = {name: unit for name, unit in assigned.items() if not all(unit.values())}
        if not left:
            del self.assigned_work[node]
            return None
        first = next(iter(left.values()))
        crashed = next(test for test, done in first.items() if not done)
        first[crashed] = True
        del self.assigned_work[node]
        self.workqueue.update({name: unit for name, unit in left.items() if not all(unit.values())})
        for other in self.assigned_work:
            self._reschedule(other)
        return crashed

    def _reschedule(self, node: Any) -> None:
        """Give a process groups until it has more than two tests: it begins none before it knows the next."""
        if node.shutting_down or node not in self.registered_collections:
            return
        while self.workqueue and self._pending_of(self.assigned_work[node]) <= 2:
            self._assign_work_unit(node)
        if not self.workqueue:
            node.shutdown()


def scheduler(config: Any, log: Any) -> Grouped:
    """For xdist's hook pytest_xdist_make_scheduler."""
    return Grouped(config, log)
