"""What several pictures share and does not belong: prediction, evidence, finds and the stage."""

from dataclasses import replace

import numpy as np
import pytest

import rankfold as rf
from rankfold.align.occluders.candidates import Sizes, overlap, smallest
from rankfold.align.occluders.evidence import margin, vote
from rankfold.align.occluders.grid import Grid, grown
from rankfold.align.occluders.prediction import Context, Coordinates
from rankfold.align.occluders.search import enlarged, shrunk
from rankfold.align.settings import OccluderSettings
from rankfold.datasets import rendered_heads
from rankfold.errors import InputError

NUMBERS = OccluderSettings()


def low_rank_pictures(n=9, rank=4, shape=(1, 12, 18), seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, int(np.prod(shape))))


class TestPrediction:
    def setup_method(self):
        self.shape = (12, 18)
        self.rows = low_rank_pictures()
        self.coordinates = Coordinates.of(self.rows)
        self.grid = Grid(3, self.shape)
        self.cells = np.zeros((3, 3), dtype=bool)
        self.cells[1:, 1] = True
        basis = self.coordinates.basis.reshape(-1, 1, *self.shape)
        self.shown = self.grid.shown(basis)
        inside = self.shown[self.cells].sum(axis=0)
        self.context = Context.outside(self.coordinates.points, (np.eye(4) - inside)[None])
        self.outside = ~self.grid.pixels(self.cells).ravel()

    def test_coordinates_give_the_rows_back(self):
        points, basis = self.coordinates.points, self.coordinates.basis
        assert points.shape == (9, 4)
        np.testing.assert_allclose(points @ basis, self.rows, atol=1e-10)
        np.testing.assert_allclose(basis @ basis.T, np.eye(4), atol=1e-12)

    def test_all_cells_together_show_everything(self):
        np.testing.assert_allclose(self.shown.sum(axis=(0, 1)), np.eye(4), atol=1e-12)

    def test_contexts_have_the_inner_products_of_the_pixels_outside(self):
        seen = self.rows[:, self.outside]
        seen = seen / np.linalg.norm(seen, axis=1, keepdims=True)
        rows = self.context.rows[0]
        np.testing.assert_allclose(rows @ rows.T, seen @ seen.T, atol=1e-10)

    def test_a_donor_is_predicted_as_if_it_were_none(self):
        """The closed form of leaving one out, against leaving it out."""
        ridge = 0.03
        donors = np.arange(9) < 7
        rest, misfit = self.context.predict(donors[None], ridge)
        seen = self.rows[:, self.outside]
        norms = np.linalg.norm(seen, axis=1, keepdims=True)
        contexts = seen / norms
        wholes = self.rows / norms
        for i in range(9):
            others = donors & (np.arange(9) != i)
            gram = contexts[others] @ contexts[others].T + ridge * np.eye(others.sum())
            weights = np.linalg.solve(gram, contexts[others] @ contexts[i])
            expected = wholes[i] - weights @ wholes[others]
            np.testing.assert_allclose(rest[0, i] @ self.coordinates.basis, expected, atol=1e-9)
            left = np.linalg.norm(contexts[i] - weights @ contexts[others])
            assert misfit[0, i] == pytest.approx(left, abs=1e-9)

    def test_the_nearest_are_those_with_the_most_similar_context(self):
        seen = self.rows[:, self.outside]
        seen = seen / np.linalg.norm(seen, axis=1, keepdims=True)
        likeness = seen @ seen.T - 3 * np.eye(9)
        expected = np.sort(np.argsort(-likeness, axis=1)[:, :3], axis=1)
        found = np.sort(self.context.nearest(3)[0], axis=1)
        np.testing.assert_array_equal(found, expected)


class TestGrid:
    def test_every_pixel_is_in_one_cell(self):
        grid = Grid(6, (45, 42))
        count = np.zeros((45, 42), dtype=int)
        for y in range(6):
            for x in range(6):
                cells = np.zeros((6, 6), dtype=bool)
                cells[y, x] = True
                count += grid.pixels(cells)
        np.testing.assert_array_equal(count, 1)

    def test_all_rectangles_of_a_size_are_there_once(self):
        found = Grid(3, (9, 9)).rectangles(2, 3)
        assert {tuple(cells.ravel()) for cells in found}.__len__() == len(found)
        # Of two cells 6 across and 6 down, of three 3 and 3.
        assert len(found) == 18

    def test_cells_grow_by_their_neighbours(self):
        cells = np.zeros((5, 5), dtype=bool)
        cells[2, 0] = True
        expected = np.zeros((5, 5), dtype=bool)
        expected[1:4, :2] = True
        np.testing.assert_array_equal(grown(cells), expected)

    def test_means_over_blocks_are_exact(self):
        rng = np.random.default_rng(1)
        pictures = rng.random((3, 2, 8, 12))
        small = shrunk(pictures.reshape(3, -1), (2, 8, 12), (4, 6))
        expected = pictures.reshape(3, 2, 4, 2, 6, 2).mean(axis=(3, 5))
        np.testing.assert_allclose(small, expected, atol=1e-14)

    def test_a_mask_is_enlarged_to_the_same_blocks(self):
        mask = np.zeros((2, 4, 6), dtype=bool)
        mask[1, 2, 3] = True
        large = enlarged(mask, (8, 12))
        assert large.shape == (2, 8, 12)
        expected = np.zeros((8, 12), dtype=bool)
        expected[4:6, 6:8] = True
        np.testing.assert_array_equal(large[1], expected)
        assert not large[0].any()


class TestParts:
    def test_a_minority_is_between_a_fifth_and_the_share_that_was_asked_for(self):
        assert Sizes.of(40, 0.5, NUMBERS) == Sizes(8, 19)
        assert Sizes.of(13, 0.25, NUMBERS) == Sizes(3, 3)

    def test_the_overlap_of_sets(self):
        one = np.array([True, True, False, False])
        two = np.array([False, True, True, False])
        assert overlap(one, two) == pytest.approx(1 / 3)
        assert overlap(one, one) == 1

    def test_the_smallest_of_each_row(self):
        values = np.array([[3.0, 1.0, 2.0], [1.0, 5.0, 0.0]])
        expected = [[False, True, True], [True, False, True]]
        np.testing.assert_array_equal(smallest(values, 2), expected)

    def test_the_margin_is_between_the_tenths(self):
        members = np.arange(20) < 10
        share = np.where(members, np.linspace(0.8, 1.0, 20), 0.0)
        share[19] = 0.3
        low = np.quantile(share[:10], 0.1)
        high = np.quantile(share[10:], 0.9)
        assert margin(share, members) == pytest.approx(low - high)

    def test_a_vote_takes_the_majority_of_a_window(self):
        flags = np.zeros((1, 9, 9), dtype=np.float32)
        flags[0, 3:6, 3:6] = 1
        flags[0, 0, 8] = 1
        voted = vote(flags, 3)
        assert voted[0, 4, 4]
        assert voted[0, 3, 4]
        assert not voted[0, 0, 8]
        assert not voted[0, 2, 2]


@pytest.fixture(scope="module")
def wearers():
    return rendered_heads(40, lights=45.0, worn={"glasses": 0.25, "scarf": 0.4}, seed=4)


@pytest.fixture(scope="module")
def found(wearers):
    return rf.align(wearers.images, frame=wearers.frame, init=wearers.start, n_jobs=2)


def true_masks(result, batch):
    """Where something is in front of each picture, in the frame."""
    hidden = [mask.astype(float) for mask in batch.hidden]
    return np.nan_to_num(result.apply(hidden)) > 0.5


class TestFinds:
    def test_glasses_and_scarf_are_found_where_they_are(self, wearers, found):
        truth = true_masks(found, wearers)
        assert len(found.occluders) == 2
        mask = np.zeros_like(truth)
        for one in found.occluders:
            mask[list(one.pictures)] |= one.masks
        assert truth[mask].mean() >= 0.9  # precision
        assert mask[truth].mean() >= 0.9  # recall
        assert {one.place for one in found.occluders} == {"middle", "lower"}
        wearing = {k for k in range(40) if wearers.hidden[k].any()}
        assert set().union(*(one.pictures for one in found.occluders)) == wearing

    def test_what_they_hide_is_filled_in(self, wearers, found):
        kept = rf.align(wearers.images, frame=wearers.frame, init=wearers.start, n_jobs=2, shared=0)
        clean = found.apply(wearers.clean)
        truth = true_masks(found, wearers) & found.valid
        off = np.linalg.norm((found.low_rank - clean)[truth])
        off_kept = np.linalg.norm((kept.low_rank - clean)[truth])
        assert off < 0.5 * off_kept
        assert not kept.occluders

    def test_the_parts_still_add_up(self, found):
        total = found.low_rank + found.sparse
        np.testing.assert_allclose(total[found.valid], found.aligned[found.valid], atol=1e-6)

    def test_confidence_and_region_are_plain(self, found):
        for one in found.occluders:
            assert 0 < one.confidence <= 1
            assert one.region.shape == found.frame.shape
            assert one.masks.shape == (len(one.pictures), *found.frame.shape)
            assert f"{len(one.pictures)} of 40 pictures" in one.sentence(found.names)

    def test_finds_are_kept_with_a_result(self, found, tmp_path):
        found.save(tmp_path / "run")
        again = rf.load(tmp_path / "run")
        assert len(again.occluders) == len(found.occluders)
        for one, other in zip(again.occluders, found.occluders, strict=True):
            assert one.pictures == other.pictures
            assert one.confidence == other.confidence
            np.testing.assert_array_equal(one.region, other.region)
            np.testing.assert_array_equal(one.masks, other.masks)

    def test_a_crop_takes_its_part_of_them(self, found):
        from rankfold.crop import crop

        height, width = found.frame.shape
        lower = crop(found, height // 2, 0, height, width)
        assert [one.place for one in lower.occluders]
        for one in lower.occluders:
            assert one.region.shape == lower.frame.shape
            assert one.region.any()

    def test_a_decomposition_of_pictures_finds_them_too(self, wearers, found):
        pictures = np.nan_to_num(found.aligned)
        result = rf.decompose(pictures, "meadmm", n_jobs=2)
        members = set().union(*(one.pictures for one in result.occluders))
        assert len(result.occluders) == 2
        assert members == {k for k in range(40) if wearers.hidden[k].any()}
        rows = rf.decompose(pictures.reshape(40, -1), "meadmm", n_jobs=2)
        assert not rows.occluders


class TestNothingToFind:
    def test_the_result_is_the_same_to_the_last_bit(self):
        batch = rendered_heads(24, occluded=0.3, seed=5)
        options = {"frame": batch.frame, "init": batch.start, "n_jobs": 2}
        looked = rf.align(batch.images, **options)
        not_looked = rf.align(batch.images, shared=0, **options)
        assert looked.occluders == ()
        np.testing.assert_array_equal(looked.low_rank, not_looked.low_rank)
        np.testing.assert_array_equal(looked.sparse, not_looked.sparse)
        np.testing.assert_array_equal(looked.transforms, not_looked.transforms)

    @pytest.mark.parametrize("n", [13, 20, 30])
    @pytest.mark.parametrize("seed", [40, 41])
    def test_strong_shadows_are_nothing_in_front(self, n, seed):
        batch = rendered_heads(n, lights=60.0, seed=seed)
        result = rf.align(batch.images, frame=batch.frame, init=batch.start, n_jobs=2)
        assert result.occluders == ()

    def test_fewer_than_ten_pictures_say_nothing(self, wearers):
        few = [k for k in range(40) if wearers.hidden[k].any()][:3]
        free = [k for k in range(40) if not wearers.hidden[k].any()][:6]
        chosen = few + free
        result = rf.align(
            [wearers.images[k] for k in chosen],
            frame=wearers.frame,
            init=wearers.start[chosen],
            n_jobs=2,
        )
        assert result.occluders == ()

    def test_what_more_pictures_have_than_was_allowed_stays(self, wearers):
        result = rf.align(
            wearers.images, frame=wearers.frame, init=wearers.start, shared=0.3, n_jobs=2
        )
        assert all(len(one.pictures) <= 12 for one in result.occluders)

    @pytest.mark.parametrize("shared", [-0.1, 0.7, float("nan")])
    def test_a_share_that_makes_no_sense_is_refused(self, shared):
        with pytest.raises(InputError, match=r"between 0 and 0\.5"):
            rf.align(np.random.default_rng(0).random((4, 20, 20)), shared=shared)
        with pytest.raises(InputError, match=r"between 0 and 0\.5"):
            rf.decompose(np.random.default_rng(0).random((4, 20, 20)), shared=shared)


def test_of_many_pictures_a_sample_is_searched_and_all_are_asked():
    """The find in a sample of the pictures is the one in all of them."""
    batch = rendered_heads(60, lights=45.0, rotation=0, translation=0, worn={"scarf": 0.3}, seed=4)
    settings = rf.AlignSettings().changed({"occluders.sample": 36})
    result = rf.decompose(np.stack(batch.images), "meadmm", settings=settings, n_jobs=2)
    (one,) = result.occluders
    assert set(one.pictures) == {k for k in range(60) if batch.hidden[k].any()}
    assert len(one.masks) == len(one.pictures)


def test_colour_is_looked_at_in_all_channels(found, wearers):
    grey = np.nan_to_num(found.aligned)
    colour = np.stack([grey, 0.8 * grey, 0.6 * grey], axis=3)
    result = rf.decompose(colour, "meadmm", n_jobs=2)
    members = set().union(*(one.pictures for one in result.occluders))
    assert members == {k for k in range(40) if wearers.hidden[k].any()}


def test_an_observer_that_stops_gets_no_second_decomposition(wearers):
    result = rf.align(
        wearers.images, frame=wearers.frame, init=wearers.start, observe=lambda _: True
    )
    assert result.occluders == ()


def test_a_find_without_its_pixels_is_left_out_of_a_crop(found):
    from rankfold.crop import crop

    height, width = found.frame.shape
    emptied = replace(found.occluders[0], region=np.zeros((height, width), dtype=bool))
    result = replace(found, occluders=(emptied,))
    assert crop(result, 0, 0, height, width).occluders == ()
