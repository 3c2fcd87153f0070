"""Processes of ours on either kernel, and which kernel and medium a trial gets."""
