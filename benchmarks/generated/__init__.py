"""Seeded input for benchmarks, made by the million."""
