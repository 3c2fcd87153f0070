"""What the line delivers, beside tc on the same machine: the measurements behind benchmarks/line.py."""
