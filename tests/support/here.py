"""Where a test's clients are."""

from stacks.driver import Here

HERE = Here(node="here", address="127.0.0.1")
