"""Threads of one process that calculate in vector registers, in each other's way; prints how many results are wrong.

Each thread multiplies a matrix of its own, of small whole numbers, so every result has one right value;
a register that a thread finds as another left it makes another one.
"""

from __future__ import annotations

import os
import threading

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np

THREADS, ROUNDS, SIZE = 3, 25, 300


def calculate(seed: int, wrong: list[bool]) -> None:
    """Multiply the same matrix again and again."""
    matrix = np.random.default_rng(seed).integers(0, 9, (SIZE, SIZE)).astype(np.float64)
    right = matrix.astype(np.int64) @ matrix.astype(np.int64)  # in general registers
    wrong += [not np.array_equal(matrix @ matrix, right) for _ in range(ROUNDS)]


def main() -> None:
    """Run all threads at the same time."""
    wrong: list[bool] = []
    threads = [threading.Thread(target=calculate, args=(seed, wrong)) for seed in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(wrong), "of", len(wrong))


if __name__ == "__main__":
    main()
