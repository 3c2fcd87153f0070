"""Emulated links: what a profile asks of the kernel, how it is applied, and the proof that it holds."""
