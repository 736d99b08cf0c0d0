"""Finds: where they lie in words, what is said of them, and how they are stored."""

import json

import numpy as np
import pytest

from rankfold.occluders import Occluder, as_columns, from_columns

NAMES = [f"{letter}.png" for letter in "abcdef"]


def box(top, left, bottom, right, shape=(12, 18)):
    """A region that is a rectangle, ends excluded."""
    region = np.zeros(shape, dtype=bool)
    region[top:bottom, left:right] = True
    return region


def find(region, pictures=(1, 4), confidence=0.75):
    """A find that all its pictures but the first show on the whole region."""
    masks = np.stack([region] * len(pictures))
    row, column = np.argwhere(region)[0]
    masks[0, row, column] = False
    return Occluder(region, pictures, masks, confidence)


class TestPlace:
    @pytest.mark.parametrize(
        ("corners", "place"),
        [
            ((0, 0, 2, 2), "upper left"),
            ((0, 8, 2, 10), "upper"),
            ((0, 16, 2, 18), "upper right"),
            ((5, 0, 7, 2), "middle left"),
            ((5, 8, 7, 10), "middle"),
            ((5, 16, 7, 18), "middle right"),
            ((10, 0, 12, 2), "lower left"),
            ((10, 8, 12, 10), "lower"),
            ((10, 16, 12, 18), "lower right"),
            # What is as wide as the frame is on no side.
            ((8, 0, 12, 18), "lower"),
            ((0, 0, 12, 18), "middle"),
        ],
    )
    def test_it_is_that_of_the_middle(self, corners, place):
        assert find(box(*corners)).place == place

    @pytest.mark.parametrize(
        ("corners", "place"),
        [
            # Pixels 3 and 4 of twelve lie on either side of a third, 7 and 8 of two thirds.
            ((3, 9, 4, 10), "upper"),
            ((4, 9, 5, 10), "middle"),
            ((7, 9, 8, 10), "middle"),
            ((8, 9, 9, 10), "lower"),
            ((6, 5, 7, 6), "middle left"),
            ((6, 6, 7, 7), "middle"),
            ((6, 11, 7, 12), "middle"),
            ((6, 12, 7, 13), "middle right"),
        ],
    )
    def test_every_third_begins_where_the_last_one_ends(self, corners, place):
        assert find(box(*corners)).place == place

    @pytest.mark.parametrize("shape", [(12, 18), (13, 17)])
    def test_a_picture_upside_down_has_the_opposite_place(self, shape):
        upper = find(box(1, 2, 3, 5, shape))
        assert upper.place == "upper left"
        assert find(upper.region[::-1, ::-1]).place == "lower right"


class TestSentence:
    def test_it_says_how_many_where_how_large_who_and_how_to_keep_it(self):
        assert find(box(8, 0, 12, 18)).sentence(NAMES) == (
            "2 of 6 pictures have something in front of them in the lower part, 33% of the frame, "
            "which was taken out and filled in (shared=0 keeps it): b.png, e.png."
        )

    def test_of_many_pictures_the_first_are_named(self):
        names = [f"{k}.png" for k in range(40)]
        said = find(box(8, 0, 12, 18), tuple(range(0, 40, 2))).sentence(names)
        assert said.startswith("20 of 40 pictures")
        assert "keeps it): 0.png, 2.png, 4.png, " in said
        assert said.endswith("22.png and 8 more.")

    def test_values_are_plain(self):
        one = find(box(8, 0, 12, 18))
        value = json.loads(json.dumps(one.as_dict(NAMES), allow_nan=False))
        assert value == {
            "pictures": ["b.png", "e.png"],
            "place": "lower",
            "share_of_frame": pytest.approx(1 / 3),
            "confidence": 0.75,
            "sentence": one.sentence(NAMES),
        }


class TestColumns:
    def check(self, found, count):
        columns = as_columns(found, count)
        assert all(isinstance(column, np.ndarray) for column in columns.values())
        again = from_columns(columns)
        assert len(again) == len(found)
        for one, other in zip(again, found, strict=True):
            assert one.pictures == other.pictures
            assert {type(k) for k in one.pictures} == {int}
            assert one.confidence == other.confidence
            assert type(one.confidence) is float
            np.testing.assert_array_equal(one.region, other.region)
            np.testing.assert_array_equal(one.masks, other.masks)
            assert one.region.dtype == one.masks.dtype == bool

    def test_one_find_comes_back(self):
        self.check([find(box(8, 0, 12, 18))], 6)

    def test_several_finds_on_different_numbers_of_pictures_come_back(self):
        found = [
            find(box(8, 0, 12, 18), (0, 2, 5), 0.9),
            find(box(2, 3, 5, 15), (1,), 0.8),
            # On a picture that another one is on, too.
            find(box(0, 0, 2, 18), (2, 3), 1 / 3),
        ]
        self.check(found, 6)

    def test_without_finds_nothing_is_stored(self):
        assert as_columns([], 6) == {}
        assert from_columns({}) == ()
