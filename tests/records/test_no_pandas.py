"""Processes that keep pandas out."""

import subprocess
import sys

TABLE = """
import sys
import numpy as np
import pyarrow as pa
{first}
table = pa.table({{"a": pa.array(np.arange(3)), "b": pa.array([1, None, 3])}})
assert table.column("b").to_pylist() == [1, None, 3]
assert table.column("a").to_numpy().tolist() == [0, 1, 2]
print("pandas" in sys.modules)
"""


def imports_pandas(first: str) -> bool:
    done = subprocess.run([sys.executable, "-c", TABLE.format(first=first)], capture_output=True, text=True, check=True)
    return done.stdout.strip() == "True"


def test_a_table_brings_pandas_in() -> None:
    assert imports_pandas(""), "pyarrow no longer does, so records.no_pandas can go"


def test_a_table_is_made_without_pandas_where_it_is_kept_out() -> None:
    assert not imports_pandas("from records import no_pandas; no_pandas.keep_out()")


def test_a_table_of_ours_is_made_without_it_and_who_asks_for_it_by_name_has_it() -> None:
    assert not imports_pandas("import records.schema")
    assert imports_pandas("import records.schema; import pandas")
    framed = "import records.schema; assert pa.table({'a': [1, 2]}).to_pandas()['a'].sum() == 3"
    assert imports_pandas(framed)


def test_what_was_imported_before_stays() -> None:
    assert imports_pandas("import pandas; from records import no_pandas; no_pandas.keep_out(); import pandas")
