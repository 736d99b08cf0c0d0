"""Pictures of every type and unit at full size: the same answer, or a sentence."""

import warnings

import numpy as np
import pytest

import rankfold as rf


def views(n=6, height=24, width=28):
    """Pictures of one pattern, a little apart, each with a bright card somewhere."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:height, :width]
    found = []
    for _ in range(n):
        dx, dy = rng.uniform(-1, 1, 2)
        picture = 0.5 + 0.2 * np.sin((x + dx) / 2.3) + 0.2 * np.cos((y + dy) / 1.9 + (x + dx) / 10)
        i, j = rng.integers(2, height - 8), rng.integers(2, width - 8)
        picture[i : i + 5, j : j + 5] = 0.98
        found.append(picture)
    return np.stack(found)


VIEWS = views()
WORDS = {"method": "rasl", "max_outer": 2, "frame": (20, 24)}


@pytest.fixture(scope="module")
def result():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.ConvergenceWarning)
        return rf.align(VIEWS, **WORDS)


MAKERS = {
    "plate": lambda result, given: result.plate(given).picture,
    "mask": lambda result, given: result.mask(given).masks,
    "restore": lambda result, given: [one.picture for one in result.restore(given)],
    "foreground": lambda _, given: rf.foreground(given, camera="still").masks,
}


# Of these, the answer is in the unit of the pictures; of the others it is a mask.
IN_THEIR_UNIT = ("plate", "restore")


@pytest.mark.parametrize("name", MAKERS)
class TestUnits:
    @pytest.mark.parametrize("first", [0.0, np.nan])
    @pytest.mark.parametrize("size", [2.0**-100, 2.0**100])
    def test_a_blank_picture_tells_no_unit(self, result, name, first, size):
        """The unit was that of the first picture alone."""
        given = VIEWS.copy()
        given[0] = first
        plain = np.asarray(MAKERS[name](result, given), float)
        found = np.asarray(MAKERS[name](result, size * given), float)
        unit = size if name in IN_THEIR_UNIT else 1.0
        # The run is in another unit than these, and its light in single precision.
        np.testing.assert_allclose(found / unit, plain, rtol=1e-4, atol=1e-5)

    def test_a_pixel_that_is_no_light_is_left_out(self, result, name):
        """Its square was the noise of all the others."""
        given = VIEWS.copy()
        given[3, 2, 2] = 1e300
        hidden = VIEWS.copy()
        hidden[3, 2, 2] = np.nan
        for found, expected in zip(
            MAKERS[name](result, given), MAKERS[name](result, hidden), strict=True
        ):
            seen = np.isfinite(np.asarray(expected, float)) & (np.abs(found) < 1e300)
            np.testing.assert_allclose(found[seen], expected[seen])

    def test_the_largest_values_of_single_precision(self, result, name):
        given = VIEWS.astype(np.float32) * np.float32(3e38)
        assert np.isfinite(np.asarray(MAKERS[name](result, given), float)).all()

    @pytest.mark.parametrize(
        ("first", "types"),
        [
            ((255 * VIEWS[0]).astype(np.uint8), "float64, uint8"),
            (VIEWS[0] > 0.5, "bool, float64"),
        ],
    )
    def test_types_with_different_whites_are_refused(self, result, name, first, types):
        """A picture of eight bits was black beside one of sixteen."""
        with pytest.raises(rf.InputError, match=f"different types \\({types}\\), whose white"):
            MAKERS[name](result, [first, *VIEWS[1:]])


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
def test_bytes_in_wide_integers_are_as_good_as_bytes(dtype):
    """In 64 bits, no batch was ever placed."""
    values = np.rint(255 * VIEWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.ConvergenceWarning)
        wide = rf.align(values.astype(dtype), **WORDS)
        plain = rf.align(values, **WORDS)
    assert wide.verdict == plain.verdict == "good"
    np.testing.assert_array_equal(wide.transforms, plain.transforms)
    np.testing.assert_array_equal(
        wide.plate(values.astype(dtype)).picture, np.rint(plain.plate(values).picture)
    )


@pytest.mark.parametrize("name", ["plate", "mask", "restore"])
def test_more_pictures_in_memory_than_in_the_run(result, name):
    """The first of them were taken for those of the run."""
    with pytest.raises(rf.InputError, match="has 8 pictures, the run 6 transforms"):
        MAKERS[name](result, views(8))


def test_masks_of_a_matrix():
    parts = rf.decompose(np.random.default_rng(0).random((8, 12)))
    with pytest.raises(rf.InputError, match="this is the decomposition of a matrix"):
        parts.mask()
