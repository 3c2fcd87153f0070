"""What emulated links deliver of what they are asked: the measurements behind benchmarks/emulation_accuracy.py."""
