"""The confirmed share: tiles against a prediction, groups that grow, and who is confirmed."""

from dataclasses import replace

import numpy as np
import pytest

from oracles import tile_test
from rankfold.align.agreement import confirmation, rows_at
from rankfold.align.confirmation import (
    FeatureRows,
    Others,
    Tiles,
    confirm,
    confirmed,
    edges,
    far_shifts,
    linked_group,
    tiles_of,
)
from rankfold.align.job import Job
from rankfold.align.kernels import LANES, REACH, tile_peaks
from rankfold.align.settings import VerdictSettings
from rankfold.datasets import rendered_heads
from rankfold.families import shift
from rankfold.scale import Serial, Threads, executors
from rankfold.stack import Frame
from samples import request_of

NUMBERS = VerdictSettings()
AWAY = np.array([6.0, -5.0])


@pytest.fixture(scope="module")
def heads():
    return rendered_heads(16, lights=35, seed=3)


def job_of(batch):
    return Job(request_of(batch.images, frame=batch.frame, init=batch.start), Serial())


def confirmation_at(batch, transforms):
    return confirmation(job_of(batch), transforms)


def noise_rows(n, frame=(40, 44), seed=0):
    """Pictures that have nothing in common."""
    grid = Frame(*frame)
    size = grid.height * grid.width
    values = 1 + np.random.default_rng(seed).standard_normal((n, size))
    return FeatureRows.of(values, np.ones((n, size), bool), grid, NUMBERS)


def some_of(rows, indices):
    """Some of the pictures, in another order, or one of them several times."""
    return replace(rows, values=rows.values[indices], valid=rows.valid[indices])


def valid_pixels(shape, missing, rng):
    """All of them, all but one edge of the frame, or all but some that lie anywhere."""
    valid = np.ones(shape, bool)
    if missing == "an edge":
        valid[:, : shape[1] // 3] = False
        # Of the tiles beside it, one is not whole and the others are.
        valid[0, shape[1] - 2] = False
    elif missing == "some":
        valid = rng.random(shape) >= 0.3
    return valid


def peaks_of(picture, valid, predicted, rows, columns, floor=NUMBERS.floor):
    """What the kernel writes for the tiles of one picture: peaks, distances, energies."""
    padded = np.pad(predicted, ((REACH, REACH), (REACH, LANES - 1 - REACH)))
    squares = padded**2
    totals = np.pad(squares.cumsum(0, np.float64).cumsum(1), ((1, 0), (1, 0)))
    seen = valid.astype(picture.dtype)
    found = np.full((3, len(rows) - 1, len(columns) - 1), np.nan)
    tile_peaks(picture, seen, padded, squares, totals, rows, columns, floor, *found)
    return found


class TestTiles:
    # The smallest frame that settings allow, one with odd sides, and one as verdicts see it.
    @pytest.mark.parametrize("shape", [(16, 16), (23, 31), (45, 42)])
    @pytest.mark.parametrize("missing", ["nothing", "an edge", "some"])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_peaks_are_those_of_a_plain_search(self, shape, missing, dtype):
        rng = np.random.default_rng(1)
        predicted = rng.standard_normal(shape).astype(dtype)
        picture = np.roll(predicted, (2, -1), axis=(0, 1)) + 0.5 * rng.standard_normal(shape)
        valid = valid_pixels(shape, missing, rng)
        picture = np.where(valid, picture, 0).astype(dtype)
        rows = edges(shape[0], NUMBERS)
        columns = edges(shape[1], NUMBERS)
        found = peaks_of(picture, valid, predicted, rows, columns)
        whole = []
        for i in range(len(rows) - 1):
            for j in range(len(columns) - 1):
                tile = (rows[i], rows[i + 1], columns[j], columns[j + 1])
                expected = tile_test.peak(picture, valid, predicted, *tile, REACH, NUMBERS.floor)
                np.testing.assert_allclose(found[:, i, j], expected, rtol=1e-4)
                whole.append(valid[tile[0] : tile[1], tile[2] : tile[3]].all())
        # Whole tiles take their powers from running totals, the others do not.
        assert set(whole) == {"nothing": {True}, "an edge": {True, False}, "some": {False}}[missing]

    # Sides that leave none to three pixels over where four are taken at a time.
    @pytest.mark.parametrize("width", range(1, 10))
    @pytest.mark.parametrize("whole", [True, False])
    def test_tiles_of_any_width_are_summed_to_their_last_pixel(self, width, whole):
        rng = np.random.default_rng(width)
        shape = (12, 20 + width)
        predicted = rng.standard_normal(shape)
        valid = np.ones(shape, bool)
        # Beside the tile, or its first pixel.
        valid[5, 11 + width if whole else 11] = False
        picture = np.where(valid, rng.standard_normal(shape), 0)
        place = (3, 8, 11, 11 + width)
        found = peaks_of(picture, valid, predicted, np.array(place[:2]), np.array(place[2:]))
        expected = tile_test.peak(picture, valid, predicted, *place, REACH, NUMBERS.floor)
        np.testing.assert_allclose(found[:, 0, 0], expected, rtol=1e-12)

    def test_a_bright_neighbourhood_does_not_spoil_the_power_of_a_whole_tile(self):
        """The totals run over all pixels above and to the left, so they need double precision."""
        rng = np.random.default_rng(3)
        frame = Frame(45, 42)
        values = rng.standard_normal((2, *frame.shape)).astype(np.float32)
        predicted = rng.standard_normal((2, *frame.shape)).astype(np.float32)
        predicted[:, :20] *= 300
        valid = np.ones(values.shape, bool)
        # Of the second picture the last tile is not whole.
        valid[1, -1, -1] = False
        values[~valid] = 0
        flat = [array.reshape(2, -1) for array in (values, valid, predicted)]
        tiles = tiles_of(FeatureRows(*flat[:2], frame), flat[2], NUMBERS, None)
        rows = edges(frame.height, NUMBERS)
        columns = edges(frame.width, NUMBERS)
        last = (*rows[-2:], *columns[-2:])
        for i in range(2):
            expected = tile_test.peak(
                values[i], valid[i], predicted[i], *last, REACH, NUMBERS.floor
            )
            found = [tiles.peaks[i, -1], tiles.distances[i, -1], tiles.energies[i, -1]]
            np.testing.assert_allclose(found, expected, rtol=1e-4)

    def test_what_lies_under_a_mask_does_not_matter(self):
        rng = np.random.default_rng(2)
        values = 1 + rng.standard_normal((3, 30 * 30))
        valid = rng.random(values.shape) > 0.2
        wild = np.where(valid, values, 1e6 * rng.standard_normal(values.shape))
        grid = Frame(30, 30)
        one = FeatureRows.of(values, valid, grid, NUMBERS)
        two = FeatureRows.of(wild, valid, grid, NUMBERS)
        np.testing.assert_array_equal(one.values, two.values)
        assert (one.values[~valid] == 0).all()
        np.testing.assert_allclose(np.linalg.norm(one.values, axis=1), 1, rtol=1e-6)

    def test_a_tile_without_a_valid_pixel_says_nothing(self):
        rows = noise_rows(2, (30, 30))
        valid = rows.valid.reshape(2, 30, 30).copy()
        valid[0, :15, :15] = False
        masked = FeatureRows(rows.values * valid.reshape(2, -1), valid.reshape(2, -1), rows.frame)
        tiles = tiles_of(masked, rows.values, NUMBERS, None)
        assert tiles.energies[0, 0] == tiles.peaks[0, 0] == 0
        assert np.isinf(tiles.distances[0, 0])
        # The rest of the picture is where its prediction says.
        np.testing.assert_array_equal(confirmed(tiles, NUMBERS.near, NUMBERS), 1)

    def test_a_picture_is_confirmed_by_itself_and_not_by_itself_three_pixels_away(self):
        rows = noise_rows(4)
        here = tiles_of(rows, rows.values, NUMBERS, None)
        np.testing.assert_allclose(here.distances, 0)
        np.testing.assert_array_equal(confirmed(here, NUMBERS.near, NUMBERS), 1)
        pictures = rows.values.reshape(-1, *rows.frame.shape)
        moved = np.roll(pictures, (0, 3), axis=(1, 2)).reshape(len(rows), -1)
        there = tiles_of(rows, moved, NUMBERS, None)
        assert np.median(there.distances) == 3
        assert confirmed(there, NUMBERS.near, NUMBERS).max() < 0.3

    def test_the_share_is_the_weight_of_the_tiles_that_agree(self):
        rng = np.random.default_rng(4)
        peaks = rng.random((6, 12))
        distances = rng.uniform(0, 4, (6, 12))
        energies = rng.random((6, 12)) ** 3
        # A picture without anything to see has no confirmed share.
        peaks[5] = 0
        shares = confirmed(Tiles(peaks, distances, energies), 1.5, NUMBERS)
        for k in range(6):
            expected = tile_test.share(peaks[k], distances[k], energies[k], 1.5, NUMBERS.faint)
            assert shares[k] == pytest.approx(expected)
        assert shares[5] == 0
        assert 0 < shares[:5].min() < shares[:5].max() < 1

    @pytest.mark.parametrize(("size", "count"), [(16, 2), (25, 2), (45, 4), (60, 5), (600, 5)])
    def test_a_side_is_cut_into_two_to_five_tiles(self, size, count):
        cuts = edges(size, NUMBERS)
        assert len(cuts) == count + 1
        assert cuts[0] == 0
        assert cuts[-1] == size
        assert np.ptp(np.diff(cuts)) <= 1


class TestGroups:
    def test_everyone_in_place_is_confirmed(self, heads):
        found = confirmation_at(heads, heads.truth)
        assert found.group.all()
        assert found.share.min() > NUMBERS.agrees
        assert found.share.max() <= 1

    def test_one_that_is_moved_is_not_and_the_others_do_not_suffer(self, heads):
        moved = heads.truth.copy()
        moved[5] = moved[5] @ shift(AWAY)
        found = confirmation_at(heads, moved)
        assert np.flatnonzero(~found.group).tolist() == [5]
        assert found.share[5] < NUMBERS.doubtful
        assert np.delete(found.share, 5).min() > NUMBERS.agrees

    @pytest.mark.parametrize("astray", [(2, 9), (2, 3, 4, 9, 10, 11)])
    def test_those_that_are_moved_together_do_not_confirm_each_other(self, heads, astray):
        moved = heads.truth.copy()
        moved[list(astray)] = moved[list(astray)] @ shift(AWAY)
        found = confirmation_at(heads, moved)
        assert np.flatnonzero(~found.group).tolist() == list(astray)
        assert found.share[list(astray)].max() < NUMBERS.doubtful

    def test_of_noise_nothing_is_confirmed(self):
        rows = noise_rows(12)
        assert linked_group(rows, NUMBERS).sum() == 1
        found = confirm(rows, NUMBERS, Serial())
        assert found.share.max() < NUMBERS.doubtful
        assert found.rough.max() < 0.5

    @pytest.mark.parametrize("same", [True, False])
    def test_two_pictures_confirm_each_other_if_they_are_alike(self, same):
        rows = noise_rows(2)
        if same:
            rows = some_of(rows, [0, 0])
        found = confirm(rows, NUMBERS, Serial())
        assert np.isfinite(found.share).all()
        assert (found.share >= NUMBERS.agrees).all() == same
        assert (found.rough >= NUMBERS.agrees).all() == same

    def test_a_picture_of_nothing_is_not_confirmed(self):
        rows = noise_rows(6)
        same = FeatureRows(np.tile(rows.values[0], (6, 1)), rows.valid, rows.frame)
        same.values[4] = 0
        found = confirm(same, NUMBERS, Serial())
        assert np.flatnonzero(~found.group).tolist() == [4]
        assert found.share[4] == 0

    def test_pictures_that_are_all_missing_end_without_a_number_that_is_none(self):
        grid = Frame(20, 20)
        nothing = FeatureRows.of(np.ones((3, 400)), np.zeros((3, 400), bool), grid, NUMBERS)
        found = confirm(nothing, NUMBERS, Serial())
        np.testing.assert_array_equal(found.share, 0)
        np.testing.assert_array_equal(found.rough, 0)

    def test_the_order_of_the_pictures_does_not_matter(self, heads):
        moved = heads.truth.copy()
        moved[5] = moved[5] @ shift(AWAY)
        found = confirmation_at(heads, moved)
        back = confirm(some_of(found.rows, np.arange(16)[::-1]), NUMBERS, Serial())
        np.testing.assert_array_equal(back.group[::-1], found.group)
        np.testing.assert_allclose(back.share[::-1], found.share, atol=0.02)

    def test_threads_give_the_same_bits(self, heads, monkeypatch):
        monkeypatch.setattr(executors, "WORTH_A_THREAD", 0)
        rows = confirmation_at(heads, heads.start).rows
        alone = confirm(rows, NUMBERS, Serial())
        with Threads(3) as threads:
            together = confirm(rows, NUMBERS, threads)
        np.testing.assert_array_equal(together.share, alone.share)
        np.testing.assert_array_equal(together.rough, alone.rough)

    def test_shifts_that_measure_chance_are_far_from_none(self):
        shifts = list(far_shifts(40, 60, 8))
        assert len(set(shifts)) == 8
        for down, across in shifts:
            assert 10 <= down <= 30
            assert 15 <= across <= 45


class TestOthers:
    def test_a_prediction_is_made_without_the_picture(self):
        """Three that are alike and one that is not: nothing predicts it."""
        rows = some_of(noise_rows(4), [0, 0, 0, 3])
        others = Others.of(rows, np.ones(4, bool), rank=1, folds=20)
        predicted = others.predict(rows.values, np.arange(4), 4)
        assert np.linalg.norm(predicted[3]) < 0.1
        assert np.linalg.norm(predicted[0] - rows.values[0]) < 0.1

    @pytest.mark.parametrize("rank", [1, 3])
    def test_it_is_the_projection_on_the_leading_singular_vectors_of_the_rest(self, rank):
        rng = np.random.default_rng(5)
        grid = Frame(20, 20)
        features = 1 + rng.standard_normal((9, 4)) @ rng.standard_normal((4, 400)) / 2
        features += 0.05 * rng.standard_normal(features.shape)
        rows = FeatureRows.of(features, np.ones(features.shape, bool), grid, NUMBERS)
        group = np.arange(9) != 4
        others = Others.of(rows, group, rank, folds=20)
        predicted = others.predict(rows.values, np.arange(9), 9)
        for i in range(9):
            rest = rows.values[group & (np.arange(9) != i)].astype(float)
            basis = np.linalg.svd(rest, full_matrices=False)[2][:rank]
            # Only what the group's rows span is looked at, picture 4 is not among them.
            expected = rows.values[i] @ basis.T @ basis
            np.testing.assert_allclose(predicted[i], expected, atol=1e-3)

    def test_a_group_of_one_predicts_nothing_of_its_own_picture(self):
        rows = noise_rows(4)
        others = Others.of(rows, np.arange(4) == 2, rank=1, folds=20)
        predicted = others.predict(rows.values, np.arange(4), 4)
        np.testing.assert_array_equal(predicted[2], 0)


class TestElsewhere:
    @pytest.mark.parametrize("rough", [False, True])
    def test_where_it_is_the_share_is_the_same(self, heads, rough):
        job = job_of(heads)
        found = confirmation(job, heads.truth)
        everyone = np.arange(16)
        again = found.share_elsewhere(
            rows_at(job, list(enumerate(heads.truth))), everyone, NUMBERS, rough
        )
        np.testing.assert_allclose(again, found.rough if rough else found.share, atol=1e-5)

    def test_back_in_its_place_more_of_a_picture_is_confirmed_and_elsewhere_less(self, heads):
        moved = heads.truth.copy()
        moved[5] = moved[5] @ shift(AWAY)
        job = job_of(heads)
        found = confirmation(job, moved)
        places = [(5, heads.truth[5]), (5, heads.truth[5] @ shift(-AWAY)), (6, moved[5])]
        shares = found.share_elsewhere(
            rows_at(job, places), np.array([5, 5, 6]), NUMBERS, rough=False
        )
        assert shares[0] > NUMBERS.agrees
        assert shares[1:].max() < NUMBERS.doubtful
