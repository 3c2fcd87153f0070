"""`lab sql` and `format("airwire")` on Spark: the same rows, the documents' ten questions, and wrong SQL in words."""

from __future__ import annotations

import csv
import json
import re
import runpy
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from sql_views import table_of
from synthetic_campaign import Spec, write_campaign
from typer.testing import CliRunner, Result

from analysis.spark.session import settings
from analysis.sql.source import register
from analysis.sql.views import VIEWS
from experiments.campaign.unpack import unpack
from lab.main import app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "spark.md").read_text()
# A question's command, and the answer behind it where there is one.
QUESTIONS = re.findall(r"^```\n(lab sql \"SELECT[^`]+?)\n```\n(?:```\n([^`]+?)\n```)?", PAGE, re.MULTILINE)
REFERENCES = re.findall(r"^lab unpack (\S+)$", PAGE, re.MULTILINE)
SPEC = Spec(
    bodies=(100,), guarantees=("durable, persistent",), networks=("nistnet-80211",), trials=1, packets=6,
    name="20240101-000000-aaaaaaaa",
)  # fmt: skip
pytestmark = pytest.mark.usefixtures("shared_session")


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_campaign(tmp_path_factory.mktemp("sql"), SPEC)


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results that the page's commands unpack."""
    results = tmp_path_factory.mktemp("references")
    for name in REFERENCES:
        unpack(ROOT / name, results)
    return results


def asked(*words: str | Path, results: Path) -> Result:
    return CliRunner().invoke(app, ["sql", *map(str, words), "--results", str(results)])


def test_the_page_has_ten_questions_and_eight_answers() -> None:
    assert len(QUESTIONS) == 10
    assert sum(bool(answer) for _, answer in QUESTIONS) == 8


def test_the_pages_python_has_at_most_20_lines_and_runs(
    references: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = re.findall(r"```python\n(from analysis\.spark\.session[^`]+)```", PAGE)
    assert len(example.splitlines()) <= 20
    script = tmp_path / "example.py"
    script.write_text(example.replace('"results/', f'"{references}/'))
    runpy.run_path(str(script))
    assert re.findall(r"^\|(tls=[\w.]+)\|", capsys.readouterr().out, re.MULTILINE) == [
        cell for cell in ("tls=1.2", "tls=1.3", "tls=off") for _ in range(2)
    ]


@pytest.mark.parametrize("number", [number for number, (_, answer) in enumerate(QUESTIONS, 1) if answer])
def test_a_question_has_the_answer_of_the_page(number: int, references: Path) -> None:
    command, answer = QUESTIONS[number - 1]
    done = asked(*shlex.split(command)[2:], results=references)
    assert (done.exit_code, done.stderr) == (0, "")
    assert [line.rstrip() for line in done.stdout.splitlines()] == answer.splitlines()


@pytest.mark.parametrize("number", [number for number, (_, answer) in enumerate(QUESTIONS, 1) if not answer])
def test_a_question_to_ledgers_or_captures_is_answered_where_they_are(number: int, campaign: Path) -> None:
    done = asked(*shlex.split(QUESTIONS[number - 1][0])[2:], "--format", "json", results=campaign.parents[1])
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout)


@pytest.mark.parametrize("name", ["trials", "links"])
def test_spark_gives_a_view_as_it_is_without_spark(spark: SparkSession, campaign: Path, name: str) -> None:
    register(spark)
    found = spark.read.format("airwire").option("table", name).load([str(campaign)])
    assert found.toArrow().to_pylist() == table_of(name, campaign, {}).to_pylist()
    comments = [field.metadata["comment"] for field in found.schema]
    assert comments == [column.comment for column in VIEWS[name].columns]


def test_a_path_that_is_no_campaign_is_named(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    with pytest.raises(PySparkException, match="there is no such folder"):
        spark.read.format("airwire").load(str(tmp_path / "none")).count()
    done = asked("SELECT * FROM trials", "none", results=tmp_path)
    assert (done.exit_code, done.stderr) == (2, f"{tmp_path}: no campaign 'none'; `lab list` shows those there are\n")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT latncy_p99_s FROM trials", "no column latncy_p99_s (did you mean latency_p99_s?); columns of trials"),
        ("SELECT * FROM trails", "there is no view trails (did you mean trials?); views are trials, cells"),
        ("SELECT * FORM trials", "Syntax error at or near 'trials': extra input 'trials'; views are trials"),
        ("SELECT * FROM text.`/etc/hostname`", "no view text./etc/hostname: queries read views, no files"),
        ("DESCRIBE parquet.`/etc/hostname`", "no view parquet./etc/hostname: queries read views, no files"),
        ("SELECT 1 / (trial - trial) FROM trials", "Division by zero"),
        ("SELECT (SELECT explode(array(1, 2)))", "More than one row returned by a subquery"),
        ("SELECT cast(cell AS int) FROM trials", 'cannot be cast to "INT"'),
    ],
)
def test_wrong_sql_ends_in_one_message_without_java(campaign: Path, query: str, said: str) -> None:
    done = asked(query, results=campaign.parents[1])
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "org.apache" not in done.stderr


def test_afterwards_the_session_has_no_view_of_ours_and_reads_files_again(spark: SparkSession, campaign: Path) -> None:
    assert "in_force_s" in asked("DESCRIBE events", results=campaign.parents[1]).stdout
    assert spark.catalog.listTables() == []
    assert {spark.conf.get(f"spark.sql.{name}") for name in ("runSQLOnFiles", "variable.substitute")} == {"true"}


def test_no_value_of_this_machine_gets_into_a_query_nor_other_words_than_those_that_were_read(campaign: Path) -> None:
    results = campaign.parents[1]
    done = asked("SELECT '${env:HOME}' AS a", "--format", "json", results=results)
    assert json.loads(done.stdout) == [{"a": "${env:HOME}"}]
    # With the line broken there, what comes behind it were no comment.
    query = "SELECT 1 AS a -- ${system:line.separator}, reflect('java.lang.System', 'getenv', 'HOME') AS b"
    assert json.loads(asked(query, "--format", "json", results=results).stdout) == [{"a": 1}]


def test_what_stands_in_double_quotes_is_text_whatever_the_session_says(spark: SparkSession, campaign: Path) -> None:
    names = ("spark.sql.ansi.enabled", "spark.sql.ansi.doubleQuotedIdentifiers")
    before = {name: spark.conf.get(name) for name in names}
    for name in names:
        spark.conf.set(name, "true")
    try:
        found = asked('SELECT "cell" AS word FROM trials', "--format", "csv", results=campaign.parents[1])
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    assert (found.exit_code, found.stdout.split()) == (0, ["word", "cell"])


def test_rows_that_are_left_out_are_counted_and_said_how_to_see(campaign: Path) -> None:
    query = "SELECT explode(sequence(1, 50)) AS n"
    lines = asked(query, results=campaign.parents[1]).stdout.splitlines()
    assert [line.strip() for line in lines[:3]] == ["n", "1", "2"]
    assert lines[41:] == ["and 10 rows more: --all prints them, --out FILE.csv writes them"]
    assert len(asked(query, "--all", results=campaign.parents[1]).stdout.splitlines()) == 51


def test_a_row_is_one_line_however_long_its_texts_are(campaign: Path) -> None:
    query = "SELECT 1 AS a, repeat('word ', 200) AS b, 'end' AS c, CAST(NULL AS int) AS d"
    header, line = asked(query, results=campaign.parents[1]).stdout.splitlines()
    assert header.split() == ["a", "b", "c", "d"]
    assert line.split() == ["1", *["word"] * 200, "end", "–"]


def test_csv_and_json_have_all_rows_and_what_no_file_can_say_is_empty(campaign: Path, tmp_path: Path) -> None:
    query = (
        "SELECT explode(sequence(1, 50)) AS n, '=1' AS text, map('a', 1.5D) AS levels, double('NaN') AS nothing, "
        "CAST(NULL AS int) AS none"
    )
    results = campaign.parents[1]
    done = asked(query, "--out", tmp_path / "x.csv", results=results)
    assert done.stdout.startswith("50 rows: ")
    with (tmp_path / "x.csv").open(newline="") as file:
        header, *found = csv.reader(file)
    assert header == ["n", "text", "levels", "nothing", "none"]
    assert (len(found), found[0]) == (50, ["1", "'=1", '{"a": 1.5}', "", ""])
    told = json.loads(asked(query, "--format", "json", results=results).stdout)
    assert (len(told), told[-1]) == (50, {"n": 50, "text": "=1", "levels": {"a": 1.5}, "nothing": None, "none": None})
    done = asked("SELECT 1 AS a, 2 AS a", "--format", "json", results=results)
    assert (done.exit_code, "two columns are called a" in done.stderr) == (2, True)


def test_decimal_numbers_dates_and_keys_of_any_type_are_told_in_every_form(campaign: Path, tmp_path: Path) -> None:
    query = "SELECT 7 / 4.00 AS n, DATE'2026-01-31' AS day, map(0.5, 1.25, 2.0, 3.0) AS by, true AS yes"
    results = campaign.parents[1]
    _, line = asked(query, results=results).stdout.splitlines()
    assert line.split() == ["1.75", "2026-01-31", '{"0.5":', "1.25,", '"2":', "3.0}", "true"]
    told = json.loads(asked(query, "--format", "json", results=results).stdout)
    assert told == [{"n": 1.75, "day": "2026-01-31", "by": {"0.5": 1.25, "2": 3.0}, "yes": True}]
    text = asked(query, "--format", "csv", results=results).stdout
    assert text.splitlines()[1].startswith("1.75")


def test_a_link_stays_one_and_what_is_no_file_is_written_to(campaign: Path, tmp_path: Path) -> None:
    results = campaign.parents[1]
    (tmp_path / "link.csv").symlink_to(tmp_path / "there.csv")
    asked("SELECT 1 AS a", "--out", tmp_path / "link.csv", results=results)
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "there.csv").read_text() == "a\n1\n"
    done = asked("SELECT 1 AS a", "--out", "/dev/null", "--format", "csv", results=results)
    assert (done.exit_code, Path("/dev/null").is_char_device()) == (0, True)


def test_what_is_not_here_is_an_empty_table_and_a_note(references: Path) -> None:
    done = asked("SELECT * FROM delivered", "20261125-023635-38ccce0d", results=references)
    assert (done.exit_code, len(done.stdout.splitlines())) == (0, 1)
    assert done.stderr == "delivered is empty: no delivered.parquet of 6 trials are here; packs leave them out\n"


def test_a_session_keeps_what_queries_by_name_make_in_its_own_folder(spark: SparkSession) -> None:
    assert "spark.sql.warehouse.dir" not in settings(master="local[1]")
    assert not Path("spark-warehouse").exists()
    assert "spark-warehouse" not in spark.conf.get("spark.sql.warehouse.dir")


def test_a_filter_chooses_for_itself_alone(spark: SparkSession, tmp_path: Path) -> None:
    """Spark keeps the partitions that it planned first for a view, so filters choose them only where they may."""
    campaign = write_campaign(tmp_path, replace(SPEC, trials=2))
    register(spark)
    frame = spark.read.format("airwire").load(str(campaign))
    assert [frame.count(), frame.where("trial = 1").count(), frame.count()] == [2, 1, 2]
    query = "SELECT trial FROM trials WHERE trial = 1 UNION ALL SELECT trial FROM trials ORDER BY trial"
    done = asked(query, campaign, "--format", "csv", results=campaign.parent)
    assert done.stdout.split() == ["trial", "1", "1", "2"], done.stderr
