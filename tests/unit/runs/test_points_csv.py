"""Points that a person has clicked, in a CSV file."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.runs import read_points_csv

NAMES = ("b.png", "a.png")
GOOD = "name,x1,y1,x2,y2\nframe,5,5,30,30\na.png,1,2,3,4\n\n b.png ,5,6,7,8.5\nother.png,0,0,1,1\n"


def test_rows_are_found_by_name(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text(GOOD)
    points = read_points_csv(path, NAMES)
    np.testing.assert_array_equal(points.canonical, [[5, 5], [30, 30]])
    np.testing.assert_array_equal(points.sources, [[[5, 6], [7, 8.5]], [[1, 2], [3, 4]]])


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("\ufeff" + GOOD.partition("\n")[2], encoding="utf-8")
    assert len(read_points_csv(path, NAMES).sources) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a.png,1,2,3,4", "no row named frame"),
        ("frame,1,2,3,4\nb.png,1,2,3,4", r"no row for a\.png; add it"),
        ("frame,1,2,x,4", "not name,x1,y1"),
        ("frame,1,2,3", "not name,x1,y1"),
        ("frame,1,2,3,4\na.png,1,2,3,4\na.png,1,2,3,5", r"more than one row of a\.png; keep one"),
        pytest.param("frame," + "1" * 200_000, "not name,x1,y1", id="a long cell"),
        ("frame,1,2,3,4\na.png,1,2\nb.png,1,2,3,4", "different numbers of points"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, words):
    path = tmp_path / "points.csv"
    path.write_text(text)
    with pytest.raises(rf.InputError, match=words):
        read_points_csv(path, NAMES)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(rf.InputError, match=r"cannot be read .*; check the name"):
        read_points_csv(tmp_path / "no.csv", NAMES)
