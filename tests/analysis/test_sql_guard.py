"""Queries only read: what is let through, what is refused, and that texts, comments and names are told apart."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from analysis.sql.guard import READS, Refused, check, named, once, relations, tokens
from analysis.sql.views import VIEWS
from lab.main import app

READING = (
    "SELECT 1",
    "  select cell from trials;",
    "-- a question\nSELECT cell FROM trials /* INSERT */",
    "(SELECT 1) UNION (SELECT 2)",
    "WITH a AS (SELECT * FROM cells) SELECT * FROM a",
    "DESCRIBE trials",
    "SHOW COLUMNS IN trials",
    "SELECT 'INSERT INTO x' AS text, `insert`, \"DELETE; DROP\" FROM events",
    "SELECT * FROM trials JOIN events USING (campaign, cell, trial)",
    "SELECT transform(reasons, one -> upper(one)) FROM trials",
    r"SELECT 'it\'s', r'\' AS a, 'reflect(1)'",
)
WRITING = {
    "": "empty",
    "-- nothing": "empty",
    "CREATE VIEW x AS SELECT 1": "CREATE",
    "INSERT INTO x VALUES (1)": "INSERT",
    "ADD JAR '/tmp/x.jar'": "ADD",
    "SET spark.sql.runSQLOnFiles = true": "SET",
    "DROP TABLE x": "DROP",
    "EXPLAIN SELECT 1": "EXPLAIN",
    "BEGIN SELECT 1; END": "BEGIN",
    "FROM trials SELECT cell": "FROM",
    "WITH a AS (SELECT 1) INSERT INTO x SELECT * FROM a": "INSERT",
    "WITH a AS (SELECT 1)/**/insert\ninto x SELECT * FROM a": "INSERT",
    "-- x\rINSERT INTO x SELECT 1": "INSERT",
    "WITH a AS (SELECT 1) MERGE INTO x USING a ON true WHEN MATCHED THEN DELETE": "MERGE",
    "SELECT reflect('java.lang.System', 'exit', 1)": "reflect",
    "SELECT `java_method` ('java.lang.System', 'exit', 1)": "java_method",
    "SELECT call_function('reflect', 'a', 'b')": "call_function",
    "SELECT * FROM IDENTIFIER('text.`/etc/hosts`')": "identifier",
    r"SELECT r'\', reflect('a', 'b')": "reflect",
    "SELECT TRANSFORM (cell) USING 'cat' FROM trials": "USING",
    "SELECT TRANSFORM (cell) UſING 'cat' FROM trials": "USING",
    "WITH a AS (SELECT 1) ıNſERT OVERWRıTE DıRECTORY '/tmp/x' USING csv SELECT * FROM a": "INSERT",
    "SELECT * FROM ıDENTıFıER('text.`/etc/hosts`')": "identifier",
    "SELECT 1; DROP TABLE x": "DROP",
    "SELECT /* /* */ ' */ reflect('java.lang.System', 'getenv', 'HOME')": "comment inside another one",
    "SELECT -- \\\n'\n reflect('java.lang.System', 'getenv', 'HOME')": "ends in a backslash",
    "SELECT /*+ x('*/ ') */ reflect('java.lang.System', 'getenv', 'HOME')": "hints",
}


@pytest.mark.parametrize("query", READING)
def test_what_reads_is_let_through(query: str) -> None:
    check(query)


@pytest.mark.parametrize("query", WRITING)
def test_what_writes_or_calls_anything_is_refused_by_its_word(query: str) -> None:
    with pytest.raises(Refused, match=WRITING[query]):
        check(query)


@given(st.text(max_size=40), st.sampled_from(["'", '"', "`"]))
def test_a_text_or_a_quoted_name_never_counts_as_words(text: str, quote: str) -> None:
    inside = text.replace("\\", "").replace(quote, "")
    check(f"SELECT {quote}{inside} INSERT{quote} AS a")


@given(st.lists(st.sampled_from([*WRITING, *READING, "'", '"', "`", "--", "/*", "*/", "\\", "\n", "r'"]), max_size=6))
def test_whatever_is_written_is_let_through_or_refused(parts: list[str]) -> None:
    query = " ".join(parts)
    with suppress(Refused):
        check(query)
        assert next(one for one in tokens(query) if one.name != "(").name.upper() in READS


def test_the_views_that_a_query_names_are_found_and_all_where_it_shows_them() -> None:
    assert named("SELECT * FROM Trials t JOIN `events` e ON true WHERE t.cell = 'cells'", VIEWS) == ("trials", "events")
    assert named("SHOW TABLES", VIEWS) == tuple(VIEWS)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SELECT delivered, events FROM links", ("links",)),
        ("SELECT * FROM published p, delivered d WHERE p.seq = d.seq", ("published", "delivered")),
        ("SELECT * FROM (SELECT inline(checks) FROM links) delivered JOIN `Trials` ON a, events", ("trials", "links")),
        ("WITH a AS (SELECT 1 FROM cells) SELECT 'FROM events' FROM a ORDER BY flows, events", ("cells",)),
        ("DESCRIBE packets", ("packets",)),
    ],
)
def test_what_a_query_reads_from_is_told_from_columns_and_aliases(query: str, found: tuple[str, ...]) -> None:
    assert relations(query, VIEWS) == found


def test_the_command_refuses_before_it_looks_for_campaigns_or_starts_anything() -> None:
    done = CliRunner().invoke(app, ["sql", "DROP TABLE x", "--results", "/nowhere"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "DROP: a query only reads, and begins with one of SELECT, WITH, DESCRIBE, DESC, SHOW\n"


@pytest.mark.parametrize(
    ("query", "sure"),
    [
        ("SELECT cell FROM trials t WHERE cell = 'trials'", True),
        ("SELECT cell FROM trials JOIN flows USING (cell)", True),
        ("SELECT cell FROM trials JOIN `Trials` b USING (cell)", False),
        ("SELECT cell FROM trials UNION ALL TABLE trials", False),
        ("WITH t AS (SELECT * FROM trials) SELECT * FROM t JOIN t AS b USING (cell)", False),
        ("SELECT cell FROM trials WHERE (SELECT count(*) FROM flows) > 1", False),
    ],
)
def test_a_view_is_read_at_one_place_where_that_is_sure(query: str, sure: bool) -> None:
    assert once(query, "trials") == sure
