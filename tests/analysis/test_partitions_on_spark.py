"""Keys of partitions are what Spark's own hash makes of them: one to each partition, none empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from analysis.spark.partitions import _hash, keys

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("count", [1, 2, 7, 64, 300])
def test_each_key_is_alone_in_the_partition_that_it_was_found_for(spark: SparkSession, count: int) -> None:
    found = keys(count)
    frame = spark.createDataFrame([(key,) for key in found], "key int").repartition(count, "key")
    at = {row.key: row.part for row in frame.selectExpr("key", "spark_partition_id() AS part").collect()}
    assert at == {key: partition for partition, key in enumerate(found)}


def test_the_hash_is_sparks(spark: SparkSession) -> None:
    numbers = [0, 1, 2, 41, 65_535, 1_000_003, 2**31 - 1]
    (row,) = spark.sql(f"SELECT array({', '.join(f'hash({number})' for number in numbers)}) AS found").collect()
    assert list(row.found) == [_hash(number) for number in numbers]
