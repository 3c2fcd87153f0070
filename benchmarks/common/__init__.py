"""What benchmarks share: seeded input made by the million, and a count of all CPU-seconds."""
