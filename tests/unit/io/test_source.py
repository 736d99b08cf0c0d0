"""Reading into memory, errors of decoders, and values in the type of a file."""

import numpy as np
import pytest

import rankfold as rf
from rankfold.io import open_pictures, write_picture
from rankfold.io.source import Source, as_type
from unit.io.samples import noise, np_file

RNG = np.random.default_rng(0)


def test_read_one_at_a_time_equals_read_at_once(tmp_path):
    values = noise((4, 16, 20), np.uint16)
    source = open_pictures(np_file(tmp_path, values))
    one, all_ = source.stack(2), rf.Stack.of(values).reduced(2)
    for a, b in zip(one.sources, all_.sources, strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.reduction == 2


def test_floats_of_any_size_get_one_unit(tmp_path):
    values = RNG.random((4, 16, 20)) * np.array([1.0e6, 1.1e6, 0.9e6, 1.2e6])[:, None, None]
    one, all_ = open_pictures(np_file(tmp_path, values)).stack(), rf.Stack.of(values)
    np.testing.assert_array_equal(one.units, all_.units)
    np.testing.assert_array_equal(one.sources[0], all_.sources[0])


def test_types_are_rounded_and_clipped():
    given = np.array([-3.0, 1.6, 300.0, np.nan])
    np.testing.assert_array_equal(as_type(given, np.uint8), [0, 2, 255, 0])
    np.testing.assert_array_equal(as_type(given, bool), [False, True, True, False])
    assert as_type(np.array([1e30]), np.int64)[0] > 2**62


class TestFlatPictures:
    def test_one_that_is_the_same_everywhere_is_left_out(self, tmp_path):
        values = noise((5, 16, 20), np.uint8)
        values[2] = 0
        source = open_pictures(np_file(tmp_path, values)).alignable()
        assert len(source) == 4
        assert source.left_out == (open_pictures(np_file(tmp_path, values)).names[2],)
        for picture, expected in zip(source.pictures(), values[[0, 1, 3, 4]], strict=True):
            np.testing.assert_array_equal(picture.values, expected)

    def test_nothing_changes_where_every_picture_shows_something(self, tmp_path):
        source = open_pictures(np_file(tmp_path, noise((3, 16, 20), np.uint8)))
        assert source.alignable() is source

    @pytest.mark.parametrize("look", [Source.alignable, Source.without_bad])
    def test_how_far_it_has_looked_is_told(self, tmp_path, look):
        source = open_pictures(np_file(tmp_path, noise((3, 16, 20), np.uint8)))
        looked_at = []
        look(source, lambda: looked_at.append(len(looked_at)))
        assert looked_at == [0, 1, 2]

    def test_one_flat_colour_and_nothing_but_holes(self, tmp_path):
        values = RNG.random((4, 16, 20, 3))
        values[1] = [0.2, 0.4, 0.6]
        values[3] = np.nan
        values[0, :8] = np.nan
        source = open_pictures(np_file(tmp_path, values)).alignable()
        assert len(source) == 2

    def test_infinite_values(self, tmp_path):
        """One such pixel stopped all pictures, as a black frame did."""
        values = RNG.random((4, 16, 20))
        values[2, 5, 5] = np.inf
        source = open_pictures(np_file(tmp_path, values)).alignable()
        assert source.left_out == (open_pictures(tmp_path / "in.npy").names[2],)

    def test_all_of_them(self, tmp_path):
        source = open_pictures(np_file(tmp_path, np.zeros((3, 16, 20), np.uint8)))
        with pytest.raises(rf.FormatError, match=r"none of the 3 pictures in .* can be used"):
            source.alignable()

    def test_one_that_cannot_be_read_stays_and_says_so(self, tmp_path):
        bad = rf.FormatError("a page is missing")
        source = open_pictures(np_file(tmp_path, noise((3, 16, 20), np.uint8)))
        assert len(source.changed(lambda _: bad).alignable()) == 3


class TestForAlignment:
    """One rule for the commands, many batches and Python."""

    def test_frames_of_one_file_are_looked_at(self, tmp_path):
        values = noise((4, 16, 20), np.uint8)
        values[1] = 7
        assert len(open_pictures(np_file(tmp_path, values)).for_alignment()) == 3

    def test_files_of_one_picture_each_are_only_on_demand(self, tmp_path):
        for k in range(3):
            write_picture(tmp_path / f"{k}.png", noise((16, 20)).astype(float))
        write_picture(tmp_path / "3.png", np.zeros((16, 20)))
        (tmp_path / "4.png").write_bytes(b"no picture")
        source = open_pictures(tmp_path)
        assert source.for_alignment() is source
        looked_at = []
        left = source.for_alignment(skip_bad=True, watch=lambda: looked_at.append(1))
        assert left.left_out == ("3.png", "4.png")
        assert len(looked_at) == 5


class TestNamed:
    def test_pictures_of_some_names(self, tmp_path):
        source = open_pictures(np_file(tmp_path, noise((5, 16, 20), np.uint8)))
        some = source.named([source.names[3], source.names[1]])
        assert some.names == (source.names[1], source.names[3])

    def test_all_where_a_name_is_not_there(self, tmp_path):
        source = open_pictures(np_file(tmp_path, noise((3, 16, 20), np.uint8)))
        assert source.named(["other"]) is source
        assert source.named(source.names) is source
