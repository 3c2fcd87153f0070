"""Which test modules run in one process, one test after another, and how xdist is told.

(xdist's own way, the mark xdist_group, has no effect with pytest 9: what it appends to a test's name is not seen.)
"""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadScopeScheduling

# Modules of a group share a server or are a load on the machine.  Whole trials and lab kernels mostly wait, so there
# are several groups of them.  Those first that take longest; a module in no group is one of its own.
GROUPS: dict[str, tuple[str, ...]] = {
    "spark": (
        "analysis/test_analysis_between.py",
        "analysis/test_analysis_chromium.py",
        "analysis/test_analysis_cluster.py",
        "analysis/test_analysis_damage.py",
        "analysis/test_analysis_files.py",
        "analysis/test_analysis_pages.py",
        "analysis/test_analysis_ranges.py",
        "analysis/test_analysis_report.py",
        "analysis/test_analysis_session.py",
        "analysis/test_analysis_source.py",
        "analysis/test_analysis_stationarity.py",
        "analysis/test_analysis_timeline.py",
        "analysis/test_packing.py",
        "lab/test_compare.py",
        "lab/test_packs_real.py",
    ),
    "trials 1": (
        "experiments/test_runner_real.py",
        "experiments/test_pieces_real.py",
        "experiments/test_line_impaired_real.py",
        "lab/test_paper_real.py",
    ),
    "trials 2": (
        "experiments/test_trial_real.py",
        "experiments/test_faults_real.py",
        "experiments/test_line_trial_real.py",
        "experiments/test_side_by_side_real.py",
        "experiments/test_launch.py",
    ),
    "lab kernel 1": (
        "experiments/test_lab_kernel_real.py",
        "emulation/test_labkernel.py",
        "emulation/test_labkernel_boot.py",
        "emulation/test_without_ipv6.py",
    ),
    "lab kernel 2": (
        "lab/test_shell.py",
        "lab/test_cli.py",
        "experiments/test_connecting_real.py",
        "emulation/test_labkernel_shim.py",
    ),
    "trials 3": (
        "experiments/test_full_disk_real.py",
        "experiments/test_jms_real.py",
        "experiments/test_roaming_real.py",
        "experiments/test_journey_real.py",
        "experiments/test_timeline_real.py",
        "experiments/test_line_trials_real.py",
        "experiments/test_line_gone_real.py",
    ),
    "broker": (
        "stacks/test_activemq_broker.py",
        "stacks/test_activemq_promises.py",
        "stacks/test_openwire_broker.py",
        "stacks/test_openwire_full.py",
        "playbooks/test_playbooks_deploy.py",
    ),
}
_ORDER = {f"tests/{module}": place for place, module in enumerate(one for some in GROUPS.values() for one in some)}
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
    """Gives every group to one process."""

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def scheduler(config: Any, log: Any) -> Grouped:
    """For xdist's hook pytest_xdist_make_scheduler."""
    return Grouped(config, log)
