"""Pictures with every kind of name go through the commands and out again, and do nothing there."""

import csv
import json
import os
import re
import shutil
from pathlib import Path

import pytest

import rankfold as rf
from commands import QUICK, run, write_views
from rankfold import runs

NAMES = [
    b"=HYPERLINK(1).png",
    b"+1.png",
    b"\x1b[31mred.png",
    b"two\nlines.png",
    b"not-\xff-text.png",
    b"[bold]<b>&amp;.png",
]
# Nothing of a terminal's, and no bytes that are no text.
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202e]")


@pytest.fixture(scope="module")
def named_run(tmp_path_factory):
    """A run of six pictures with such names, and what the command said."""
    place = tmp_path_factory.mktemp("names")
    before = Path.cwd()
    os.chdir(place)
    try:
        write_views("views")
        for file, name in zip(sorted(Path("views").glob("*.png")), NAMES, strict=True):
            os.rename(file, os.path.join(b"views", name))  # noqa: PTH104, PTH118
        said = run("align", "views", "-o", "run", *QUICK, "--json")
    finally:
        os.chdir(before)
    return place, said


def test_a_result_keeps_the_names(named_run):
    place, _ = named_run
    assert set(rf.load(place / "run").names) == {os.fsdecode(name) for name in NAMES}


def test_every_picture_is_written(named_run):
    place, _ = named_run
    assert len(list((place / "run" / "aligned").iterdir())) == len(NAMES)


def test_json_is_unicode(named_run):
    _, said = named_run
    assert not CONTROLS.search(said.stdout)
    assert "\\\\xff" in said.stdout
    json.loads(said.stdout)


def test_sentences_have_no_controls(named_run, monkeypatch):
    place, _ = named_run
    monkeypatch.chdir(place)
    Path("views/\x1b[2Jbad.png").write_text("no picture")
    try:
        said = run("align", "views", "-o", "other", *QUICK, code=1).stderr
    finally:
        Path("views/\x1b[2Jbad.png").unlink()
    assert "\\x1b[2Jbad.png" in said
    assert not CONTROLS.search(said)


def test_the_report_has_no_markup_from_names(named_run):
    place, _ = named_run
    page = (place / "run" / "report.html").read_text(encoding="utf-8")
    assert "<b>&amp;" not in page
    assert "\x1b" not in page


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_exports(named_run, ending, monkeypatch):
    place, _ = named_run
    monkeypatch.chdir(place)
    run("export", "run", "-o", f"out.{ending}", "--overwrite")
    text = Path(f"out.{ending}").read_text(encoding="utf-8")
    assert not CONTROLS.search(text.replace("\r\n", "\n"))
    if ending == "json":
        assert len(json.loads(text)["transforms"]) == len(NAMES)
        return
    with Path("out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len(rows) == len(NAMES) + 1
    assert not any(row[0].startswith(("=", "+", "-", "@")) for row in rows)
    assert "'=HYPERLINK(1).png" in {row[0] for row in rows}


class TestExportsReplaceNothing:
    def test_a_part_of_the_run(self, named_run, monkeypatch):
        """``export RUN -o RUN/result.json --overwrite`` destroyed the run."""
        place, _ = named_run
        monkeypatch.chdir(place)
        said = run("export", "run", "-o", "run/result.json", "--overwrite", code=1)
        assert "is one of the files that rankfold wrote in" in said.stderr
        rf.load("run")

    @pytest.mark.parametrize("words", [["export", "-o"], ["report", "-o"], ["report", "--sheet"]])
    def test_a_file_without_overwrite(self, named_run, monkeypatch, words):
        place, _ = named_run
        monkeypatch.chdir(place)
        name = "mine.csv" if words[0] == "export" else "mine.png"
        Path(name).write_text("mine")
        run(words[0], "run", words[1], name, code=1)
        assert Path(name).read_text() == "mine"

    @pytest.mark.parametrize("words", [["export", "-o"], ["report", "-o"], ["report", "--sheet"]])
    def test_what_a_link_leads_to(self, named_run, monkeypatch, words, tmp_path):
        place, _ = named_run
        monkeypatch.chdir(place)
        name = tmp_path / ("link.csv" if words[0] == "export" else "link.png")
        other = tmp_path / "precious"
        other.write_text("precious")
        name.symlink_to(other)
        run(words[0], "run", words[1], name, "--overwrite")
        assert other.read_text() == "precious"
        assert not name.is_symlink()


def test_wrong_usage_quotes_no_controls(named_run, monkeypatch):
    place, _ = named_run
    monkeypatch.chdir(place)
    for words in (["mask", "views", "a\x1b[31m"], ["align", "views", "--family", "a\x1b[31m"]):
        said = run(*words, code=2).stderr
        assert "a\\x1b[31m" in said.replace("\n", "")
        assert "\x1b[31m" not in said


def test_the_pictures_of_a_run_are_found_again(named_run, monkeypatch):
    """By names, and in a folder, that are no text."""
    place, _ = named_run
    folder = os.fsdecode(b"views-\xff")
    monkeypatch.chdir(place)
    shutil.copytree("views", folder)
    run("align", folder, "-o", "again", *QUICK, "--no-report", "--no-pictures")
    source = runs.originals_of_run("again")
    assert set(source.names) == {os.fsdecode(name) for name in NAMES}
    assert Path(source.path).name == folder


def test_the_table_of_many_runs_has_no_formulas(named_run, monkeypatch):
    place, _ = named_run
    monkeypatch.chdir(place)
    shutil.copytree("views", "many/=1+1\x1b[31m")
    run("align-many", "many/*", "-o", "many-runs", *QUICK, "--no-pictures")
    for name in ("summary.csv", "summary.json", "summary.html"):
        text = Path("many-runs", name).read_text(encoding="utf-8")
        assert not CONTROLS.search(text.replace("\r\n", "\n")), name
    with Path("many-runs/summary.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["name"] == "'=1+1\\x1b[31m"


def test_pictures_that_cannot_all_be_written_are_refused_at_once(named_run, monkeypatch, tmp_path):
    """The run went through with exit code 0, and without pictures."""
    monkeypatch.chdir(tmp_path)
    write_views("views", 4)
    first, second, *_ = sorted(Path("views").glob("*.png"))
    first.rename("views/a.png")
    second.rename("views/A.png")
    said = run("align", "views", "-o", "run", *QUICK, code=1).stderr
    assert "cannot be in one folder on every system" in said
    assert "--no-pictures" in said or "write no pictures" in said
    assert not Path("run").exists()
    run("align", "views", "-o", "run", *QUICK, "--no-pictures")


def test_names_that_would_meet_keep_their_folders(tmp_path, monkeypatch):
    """Three pictures came in and two files went out, with exit code 0."""
    monkeypatch.chdir(tmp_path)
    write_views("views", 3)
    places = ["p/a/b", "p/a_b", "p/c"]
    for file, place in zip(sorted(Path("views").glob("*.png")), places, strict=True):
        Path(place).mkdir(parents=True)
        file.rename(Path(place) / "x.png")
    run("align", "p/**/x.png", "-o", "run", *QUICK, "--no-report")
    written = [file for file in Path("run/aligned").rglob("*") if file.is_file()]
    assert len(written) == 3
