"""The page of many runs, without a browser."""

import re
import sys
from dataclasses import replace

import pytest

import rankfold as rf
from rankfold import runs, storage
from rankfold.report import write_overview
from rankfold.report.overview import CLEAN, render_overview, strip_of
from rankfold.runs import BatchRow, BatchState, ManySummary


@pytest.fixture(scope="module")
def run(heads, aligned, tmp_path_factory):
    """A run folder."""
    folder = tmp_path_factory.mktemp("overview") / "run"
    stack = rf.Stack.of(heads.images, names=aligned.names)
    with storage.whole_or_nothing(folder) as draft:
        runs.fill(draft, aligned, stack, None, {})
    return runs.open_run(folder)


@pytest.fixture
def summary(run, tmp_path):
    """A batch of every kind, the worst neither first nor last."""
    done = BatchRow(
        "good one",
        "/in/good one",
        tmp_path / "good one",
        state=BatchState.DONE,
        pictures=8,
        verdict="good",
        placed=8,
        doubtful=0,
        failed=0,
        rank=2,
        status=rf.Status.CONVERGED,
        seconds=150.0,
        outcome="8 of 8 pictures found their place.",
        strip=strip_of(run),
    )
    rows = (
        done,
        BatchRow("later", "/in/later", tmp_path / "later"),
        replace(done, name="partial", verdict="partial", placed=6, failed=2),
        replace(done, name="rough", verdict="only roughly", state=BatchState.KEPT),
        replace(done, name="useless", verdict="failed", failed=8, placed=0),
        BatchRow(
            "<b>",
            "/in/<b>",
            tmp_path / "<b>",
            state=BatchState.ERROR,
            error="<i>a.png</i> is not a picture; remove it",
        ),
    )
    return ManySummary(tmp_path, rows, seconds=3.0)


def names_of(page):
    return re.findall(r'<th scope="row">(?:<a [^>]*>)?(.*?)(?:</a>)?</th>', page)


def test_every_batch_is_there_the_worst_first(summary):
    page = render_overview(summary)
    assert names_of(page) == ["&lt;b&gt;", "useless", "rough", "partial", "later", "good one"]
    assert summary.sentence.replace("<b>", "&lt;b&gt;") in page
    for row in summary.rows:
        assert row.outcome in page
    assert "Not done yet." in page
    assert "2.5 min" in page


def test_failures_are_at_the_top(summary):
    page = render_overview(summary)
    section = page.split('<section id="errors">')[1].split("</section>")[0]
    assert "&lt;i&gt;a.png&lt;/i&gt; is not a picture" in section
    assert page.index('id="errors"') < page.index('id="batches"')
    assert "<i>" not in page
    assert 'id="errors"' not in render_overview(replace(summary, rows=summary.rows[:5]))


@pytest.mark.parametrize(
    ("which", "stopped", "tone"),
    [
        ([0], False, "good"),
        ([0, 1], False, "good"),
        ([0, 1], True, "warning"),
        ([0, 2], False, "warning"),
        ([0, 3], False, "warning"),
        ([0, 4], False, "bad"),
        ([0, 5], False, "bad"),
    ],
)
def test_the_tone_is_that_of_the_worst(summary, which, stopped, tone):
    some = replace(summary, rows=tuple(summary.rows[k] for k in which), stopped=stopped)
    page = render_overview(some)
    assert f'class="status {tone}"' in page
    assert ("stopped before all batches" in page) == stopped


def test_it_is_one_file_that_loads_nothing(summary):
    page = write_overview(summary).read_text(encoding="utf-8")
    assert (summary.folder / "summary.html").read_text(encoding="utf-8") == page
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\'' in page
    assert not re.search(r"https?://|@import|url\(", page)
    for source in re.findall(r'(?:src|href)="([^"]*)"', page):
        assert source.startswith(("data:", "./")), source


def test_names_lead_to_reports_or_else_to_folders(summary):
    good = summary.rows[0]
    assert 'href="./good%20one"' in render_overview(summary)
    good.folder.mkdir()
    (good.folder / "report.html").touch()
    page = render_overview(summary)
    assert 'href="./good%20one/report.html"' in page
    # Neither a batch with an error nor one that waits has a folder.
    assert "later/" not in page
    assert page.count("href=") == 1 + 4


def test_a_strip_has_averages_and_clean_pictures(run):
    strip = strip_of(run)
    captions = [caption for caption, _ in strip]
    clean = [f"{name}, low-rank" for name in run.result.names[:CLEAN]]
    assert captions == ["average before", "average aligned", *clean]
    assert all(uri.startswith("data:image/webp;base64,") for _, uri in strip)
    assert len({uri for _, uri in strip}) == len(strip)


def test_without_jinja_it_says_what_to_install(summary, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(rf.InputError, match=r"pip install rankfold\[report\]"):
        write_overview(summary)
    assert not (summary.folder / "summary.html").exists()
