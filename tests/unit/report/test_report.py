"""The report's data and file, without a browser."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from rankfold import runs, storage
from rankfold.io import read_picture
from rankfold.occluders import Occluder
from rankfold.report import write_report, write_sheet
from rankfold.report.data import report_data
from rankfold.report.page import sheets
from rankfold.report.pictures import ORANGE, outlined, signed_colours
from rankfold.status import RouteRecord, Trace


@pytest.fixture(scope="module")
def run(heads, aligned, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "run"
    stack = rf.Stack.of(heads.images, names=aligned.names)
    with storage.whole_or_nothing(folder) as draft:
        runs.fill(draft, aligned, stack, None, {"command": "rankfold align x", "seconds": 200.0})
    return runs.open_run(folder)


def test_the_data_are_those_of_the_result(run, aligned):
    data = report_data(run)
    assert [card.name for card in data.cards] == list(aligned.names)
    np.testing.assert_allclose([card.lost for card in data.cards], aligned.lost)
    assert [card.verdict for card in data.cards] == aligned.verdicts.tolist()
    assert data.sentences[0].startswith(aligned.outcome)
    assert dict(data.facts)["verdict"] == aligned.verdict
    assert dict(data.facts)["doubtful"] == str(aligned.doubtful.sum())
    assert dict(data.facts)["failed"] == str(aligned.failed.sum())
    assert dict(data.facts)["rank"] == str(aligned.rank)
    assert dict(data.facts)["time"] == "3.3 min"
    assert dict(data.facts)["frame (height × width)"] == "45 × 42"
    assert dict(data.facts)["above the optimum by at most"] == f"{100 * aligned.gap:.2g} %"
    spectrum = data.spectra["low-rank"]
    assert (spectrum > 1e-6 * spectrum[0]).sum() == aligned.rank
    # the outline of the frame on the picture, as shares of it
    corners = aligned.apply_points(aligned.frame.corners)[3]
    h, w = aligned.source_shapes[3]
    np.testing.assert_allclose(np.array(data.cards[3].outline) * [w, h] - 0.5, corners)


def test_nothing_is_said_of_a_gap_that_is_not_known(run, aligned):
    unknown = replace(run, result=replace(aligned, gap=None))
    labels = [label for label, _ in report_data(unknown).facts]
    assert not any("optimum" in label for label in labels)


@pytest.mark.parametrize(
    ("verdict", "status", "tone"),
    [
        ("good", rf.Status.CONVERGED, "good"),
        ("good", rf.Status.MAX_ITER, "warning"),
        ("partial", rf.Status.CONVERGED, "warning"),
        ("only roughly", rf.Status.CONVERGED, "warning"),
        ("failed", rf.Status.CONVERGED, "bad"),
        ("failed", rf.Status.MAX_ITER, "bad"),
        ("good", rf.Status.NON_FINITE, "bad"),
    ],
)
def test_the_tone_is_that_of_the_verdict_or_of_the_end_where_that_is_worse(
    run, aligned, verdict, status, tone
):
    result = replace(aligned, verdict=verdict, status=status)
    assert report_data(replace(run, result=result)).tone == tone


def test_starts_and_advice_are_said(run, aligned):
    plain = report_data(run)
    assert plain.starts == ()
    assert len(plain.sentences) == 1
    tried = [
        RouteRecord("given", 4.0, 0.5, False, ""),
        RouteRecord("match", 3.0, 0.9, True, ""),
    ]
    trace = replace(aligned.trace, routes=Trace.of((), routes=tried).routes)
    result = replace(aligned, trace=trace, advice="look at them")
    data = report_data(replace(run, result=result))
    assert [start.route for start in data.starts] == ["given", "match"]
    assert data.sentences[1].startswith("Start: by matching keypoints (90 %")
    assert data.sentences[2] == "What may help: look at them."
    page = write_report(replace(run, result=result)).read_text(encoding="utf-8")
    assert "What may help: look at them." in page
    assert "by matching keypoints" in page
    # As it was, for the tests that read the file.
    assert "What may help" not in write_report(run).read_text(encoding="utf-8")


class TestOccluders:
    HEADING = "What was in front of several pictures"

    @pytest.fixture
    def found(self, run, aligned):
        """The run as if two pictures had worn something and three something else."""
        finds = []
        for rows, pictures in ((np.s_[30:45], (1, 4)), (np.s_[12:20], (0, 2, 7))):
            region = np.zeros(aligned.frame.shape, dtype=bool)
            region[rows] = True
            finds.append(Occluder(region, pictures, np.stack([region] * len(pictures)), 0.8))
        return replace(run, result=replace(aligned, occluders=tuple(finds)))

    def test_each_is_said_and_outlined_on_the_average(self, found):
        data = report_data(found)
        aligned = dict(data.averages)["average aligned"]
        for one, (sentence, picture) in zip(found.result.occluders, data.occluders, strict=True):
            assert sentence == one.sentence(found.result.names)
            np.testing.assert_array_equal(picture, outlined(aligned, one.region))
            assert (picture != aligned).any()

    def test_the_page_shows_the_sentence_and_a_picture_of_each(self, found, tmp_path):
        page = write_report(found, tmp_path / "found.html").read_text(encoding="utf-8")
        assert page.count(self.HEADING) == 1
        panel = page.split(self.HEADING)[1].split("<h2>")[0]
        assert panel.count('<img src="data:image/') == 2
        captions = re.findall("<figcaption>(.*?)</figcaption>", panel)
        assert captions == [one.sentence(found.result.names) for one in found.result.occluders]

    def test_a_name_in_the_sentence_is_text(self, found, tmp_path):
        names = ("<b>", *found.result.names[1:])
        hostile = replace(found, result=replace(found.result, names=names))
        page = write_report(hostile, tmp_path / "found.html").read_text(encoding="utf-8")
        panel = page.split(self.HEADING)[1].split("<h2>")[0]
        assert "<b>" not in panel
        assert "&lt;b&gt;" in panel

    def test_where_nothing_was_found_there_is_no_panel(self, run, tmp_path):
        assert report_data(run).occluders == []
        page = write_report(run, tmp_path / "plain.html").read_text(encoding="utf-8")
        assert self.HEADING not in page

    def test_a_decomposition_shows_them_too(self, found, aligned, heads, tmp_path):
        plain = rf.decompose(np.nan_to_num(aligned.aligned), shared=0)
        result = replace(plain, occluders=found.result.occluders)
        stack = rf.Stack.of(heads.images, names=aligned.names)
        with storage.whole_or_nothing(tmp_path / "run") as draft:
            runs.fill(draft, result, stack, None, {})
        data = report_data(runs.open_run(tmp_path / "run"))
        sentences = [one.sentence(aligned.names) for one in result.occluders]
        assert [sentence for sentence, _ in data.occluders] == sentences

    def test_only_the_edge_is_drawn(self):
        picture = np.arange(9 * 11 * 3, dtype=np.uint8).reshape(9, 11, 3)
        given = picture.copy()
        region = np.zeros((9, 11), dtype=bool)
        region[2:7, 3:9] = True
        edge = region.copy()
        edge[3:6, 4:8] = False
        drawn = outlined(picture, region)
        assert (drawn[edge] == ORANGE).all()
        np.testing.assert_array_equal(drawn[~edge], given[~edge])
        np.testing.assert_array_equal(picture, given)

    def test_a_region_that_ends_with_the_picture_has_an_edge_there(self):
        drawn = outlined(np.zeros((6, 7, 3), np.uint8), np.ones((6, 7), dtype=bool))
        edge = (drawn == ORANGE).all(axis=2)
        assert edge[[0, -1]].all()
        assert edge[:, [0, -1]].all()
        assert not drawn[1:-1, 1:-1].any()


def test_one_file_that_loads_nothing(run):
    text = write_report(run).read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)=["']?(?!data:)[a-z]+:""", text)
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\'' in text
    payload = json.loads(re.search(r'id="payload">(.*?)</script>', text, re.DOTALL)[1])
    assert len(payload["cards"]) == 8


def test_the_same_run_gives_the_same_page(run):
    assert write_report(run).read_bytes() == write_report(run).read_bytes()


def test_sprites_hold_every_tile_at_its_place():
    import base64
    import io

    from PIL import Image

    tiles = [np.full((10 + k % 3, 20, 3), 8 * k, np.uint8) for k in range(30)]
    packed = sheets(tiles, side=40, per_sheet=12)
    assert len(packed["uris"]) == 3
    width, height = packed["box"]
    for k in (0, 11, 12, 29):
        data = base64.b64decode(packed["uris"][k // 12].split(",")[1])
        sheet = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=int)
        place = k % 12
        top, left = place // packed["columns"] * height, place % packed["columns"] * width
        assert abs(sheet[top + 4, left + 10].mean() - 8 * k) < 12
    assert packed["sizes"][2] == [20, 12]


def test_hundreds_of_pictures_stay_small():
    tiles = [np.full((120, 160, 3), k % 255, np.uint8) for k in range(400)]
    packed = sheets(tiles, side=88, per_sheet=100)
    assert len(packed["uris"]) == 4
    assert packed["box"] == [88, 66]


def test_a_contact_sheet_has_a_row_for_every_kind(run, tmp_path):
    path = write_sheet(run, tmp_path / "sheet.png", columns=5, side=60)
    sheet = read_picture(path)
    rows, width = 4, 5
    assert sheet.shape[0] >= rows * 50
    assert sheet.shape[1] >= width * 50
    assert sheet.std() > 20


def test_errors_have_a_sign():
    colours = signed_colours(np.array([[-1.0, 0.0, 1.0]]), 1.0).astype(int)
    assert colours[0, 0, 2] > colours[0, 0, 0]
    assert colours[0, 2, 0] > colours[0, 2, 2]
    assert len(set(colours[0, 1])) == 1


def test_without_the_extra_it_says_what_to_install(run, monkeypatch):
    import builtins

    plain = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.startswith(("jinja2", "matplotlib")):
            raise ImportError(name)
        return plain(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(rf.InputError, match=r"pip install rankfold\[report\]"):
        write_report(run)
