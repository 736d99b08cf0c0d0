"""Text from outside does nothing where it is shown, and can still be read."""

import csv
import json

import pytest

from rankfold.neutral import cell, encodable, from_cell, plain

# What a name may hold, and how it is shown.
HARMFUL = {
    "\x1b[31mred\x07": "\\x1b[31mred\\x07",
    "two\nlines\r": "two\\nlines\\r",
    "not\udcfftext": "not\\xfftext",
    "half\ud800": "half\\ud800",
    "gpj\u202eexe": "gpj\\u202eexe",
    "end\u2028of line": "end\\u2028of line",
    "\x9b1A": "\\x9b1A",
}
HARMLESS = ["plain.png", "Büste.png", "写真.png", "a b", "🙂.png", "100%.png", ""]


@pytest.mark.parametrize(("text", "shown"), HARMFUL.items())
def test_what_could_do_something_is_escaped(text, shown):
    assert plain(text) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_stays(text):
    assert plain(text) == text
    assert cell(text) == text


def test_what_is_to_be_kept_is_kept():
    assert plain("a\nb\x1b", keep="\n") == "a\nb\\x1b"


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "|calc", "%1", "'=1", "''=1"]
)
def test_a_formula_is_text_in_a_table_and_comes_back_as_it_was(text):
    assert cell(text).startswith("'")
    assert from_cell(cell(text)) == plain(text)


def test_an_apostrophe_before_no_formula_stays():
    assert from_cell("'tis.png") == cell("'tis.png") == "'tis.png"


@pytest.mark.parametrize("text", [*HARMFUL, *HARMLESS])
def test_json_of_any_name_is_unicode_and_one_line(text):
    written = json.dumps(encodable({text: [text, (text, 1, None)]}), ensure_ascii=False)
    written.encode("utf-8")
    assert "\n" not in written
    if not any("\ud800" <= one <= "\udfff" for one in text):
        assert json.loads(written) == {text: [text, [text, 1, None]]}


def test_a_row_of_a_table_stays_a_row(tmp_path):
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[cell(text)] for text in HARMFUL])
    with path.open(newline="", encoding="utf-8") as file:
        assert [row[0] for row in csv.reader(file)] == list(HARMFUL.values())
