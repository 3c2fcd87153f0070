"""The line: a medium in user space, whose every decision follows from a profile, a seed and a packet's number."""
