"""The kinds of errors that end a command with one message; the kind decides its exit status."""

from __future__ import annotations


class WrongInput(ValueError):
    """What the user wrote cannot be used; the message says where it stands and what is allowed."""


class CannotGoOn(Exception):
    """The command is right, but something it needs is missing, damaged or broken; the message says what cures it."""
