"""Segmentation offloads off: with them on, loss and queues act on packets of up to 64 KB that no radio sends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from pyroute2.ethtool.ioctl import EthtoolFeaturesList, IoctlEthtool

_TOGETHER = "rx-gro"  # packets that arrive are put together to large ones


def turn_off(interface: str) -> None:
    """Turn TSO, GSO, GRO and the segmentation of UDP and SCTP of an interface in the calling thread's namespace off."""
    with closing(IoctlEthtool(interface)) as ethtool:
        features = ethtool.get_features()
        for name in _offloads(features):
            if features.is_available(name):  # the kernel refuses to turn off what an interface never has
                features[name] = False
        ethtool.set_features(features)


def still_on(interface: str) -> list[str]:
    """Names of those that are on, read back from the kernel."""
    with closing(IoctlEthtool(interface)) as ethtool:
        features = ethtool.get_features()
        return [name for name in _offloads(features) if features[name]]


def _offloads(features: EthtoolFeaturesList) -> Iterator[str]:
    """Features by which a packet is cut only after it has left an interface, or put together before it is looked at."""
    for name in features.keys():  # noqa: SIM118 - iterating over the list itself gives tuples
        if name == _TOGETHER or (name.startswith("tx-") and "segmentation" in name):
            yield name
