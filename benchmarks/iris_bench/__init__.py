"""Parts of benchmarks/iris.py."""
