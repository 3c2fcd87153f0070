"""Numbers in YAML: each is read as what it looks like, or refused with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.yaml_lines import YamlError, parse, text_of

FILE = Path("some.yaml")
WAY_OUT = "write it in decimal, or in quotes if it is text"
NOT_DECIMAL = (
    "0100",
    "010",
    "08",
    "00",
    "-010",
    "+07",
    "0_7",
    "01_0",
    "00.5",
    "-01.5",
    "01e1",
    "1:30",
    "1:30.5",
    "0:30.5",
)


@pytest.mark.parametrize("text", NOT_DECIMAL)
@pytest.mark.parametrize(
    "shape", ["a: 1\nb: {}", "a: 1\nb: [2, {}]", "a: 1\n{}: 5", "a: 1\nb: {{ {}: 5 }}", "\n!!float {}"]
)
def test_a_number_that_would_be_another_one_is_refused(shape: str, text: str) -> None:
    with pytest.raises(YamlError) as caught:
        parse(shape.format(text).encode(), FILE)
    assert str(caught.value).startswith(f"some.yaml:2: '{text}': ")
    assert str(caught.value).endswith(WAY_OUT)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("0", 0), ("-0", 0), ("0.5", 0.5), ("-0.5", -0.5), ("100", 100), ("10", 10), ("1.0", 1.0), ("0x10", 16),
        ("0b11", 3), ("1_000", 1000), ("1e3", "1e3"), ("0e1", "0e1"), ("1.0e+3", 1000.0), ("'010'", "010"),
        ('"08"', "08"), ("'1:30'", "1:30"), ("0123abc", "0123abc"), ("00:11:22:33:44:55", "00:11:22:33:44:55"),
        ("010 ms", "010 ms"), ("01.02.03", "01.02.03"), (".5", 0.5),
    ],
)  # fmt: skip
def test_other_numbers_and_words_stay_what_they_were(text: str, meant: object) -> None:
    found, _ = parse(f"a: {text}".encode(), FILE)
    assert found == {"a": meant}
    assert type(found["a"]) is type(meant)


@given(st.from_regex(r"[-+]?[0-9]{1,6}(\.[0-9]{1,4})?", fullmatch=True))
def test_what_looks_like_a_decimal_number_is_that_or_is_refused(text: str) -> None:
    try:
        found, _ = parse(f"a: {text}".encode(), FILE)
    except YamlError:
        assert text.lstrip("+-")[:1] == "0"
        assert text.lstrip("+-")[1:2].isdigit()
    else:
        assert found == {"a": float(text)}


@given(st.dictionaries(st.text("a01", min_size=1), st.text("01_89.:e+-x", min_size=1) | st.integers() | st.booleans()))
def test_what_is_written_is_read_again(data: dict[str, object]) -> None:
    assert parse(text_of(data).encode(), FILE)[0] == data


def test_words_like_numbers_are_written_in_quotes() -> None:
    words = dict.fromkeys(NOT_DECIMAL)
    said = {word: word for word in words}
    assert parse(text_of(said).encode(), FILE)[0] == said
