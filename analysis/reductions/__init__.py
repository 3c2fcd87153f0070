"""Reductions of trials kept beside their campaign, so that only what is new or changed is reduced again."""
