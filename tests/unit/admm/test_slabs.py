"""Where the pixels are: how a problem is cut, and that what is cut can be put together again."""

import numpy as np
import pytest

from rankfold.admm import Problem, Settings, layout, solve
from rankfold.admm import blocks as admm_blocks
from rankfold.admm.blocks import Pixels, joined, project_onto
from rankfold.admm.layout import ALL, copy_slabs, cut, pieces
from rankfold.admm.slabs import Slabs
from rankfold.manifold import get_projector
from rankfold.scale import Serial
from samples import with_basis, with_holes

LAM = 0.05


def problem_of(n=12, m=90, missing=True):
    D, Q = with_basis(n, m, p=2)
    if not missing:
        return Problem(D, LAM, basis=Q)
    D, Q, W = with_holes(D, Q, seed=0)
    return Problem(D, LAM, W, Q)


@pytest.mark.parametrize("size", [1, 7, 64, 65])
@pytest.mark.parametrize("length", [1, 7, 64, 100])
def test_pieces_cover_an_axis_in_order_and_none_is_longer_than_asked_for(size, length):
    covered = [k for piece in pieces(size, length) for k in range(piece.start, piece.stop)]
    assert covered == list(range(size))
    lengths = [piece.stop - piece.start for piece in pieces(size, length)]
    assert max(lengths) <= length
    assert set(lengths[:-1]) <= {length}


class TestCutting:
    def test_a_small_problem_is_one_slab_that_is_swept_at_once(self):
        (slab,) = cut(problem_of())
        assert (slab.rows, slab.columns) == (ALL, ALL)
        assert slab.runs == [ALL]
        assert slab.independent

    def test_a_larger_one_is_one_slab_that_is_swept_in_runs_of_rows(self, monkeypatch):
        monkeypatch.setattr(layout, "SLAB_VALUES", 500)
        monkeypatch.setattr(layout, "SLAB_MIN", 40)
        (slab,) = cut(problem_of())
        assert slab.runs == pieces(12, 3)
        assert slab.blocks == pieces(90, 41)

    def test_a_large_one_is_cut_along_the_pixels(self, monkeypatch):
        monkeypatch.setattr(layout, "SLAB_VALUES", 500)
        monkeypatch.setattr(layout, "SLAB_MIN", 40)
        monkeypatch.setattr(layout, "WHOLE_VALUES", 1000)
        slabs = cut(problem_of())
        assert [slab.columns for slab in slabs] == pieces(90, 41)
        # δ needs the products of all of them, ...
        assert not any(slab.independent for slab in slabs)
        # unless nothing moves.
        still = Problem(problem_of().data, LAM)
        assert all(slab.independent for slab in cut(still))

    def test_more_images_than_pixels_are_cut_along_the_images(self, monkeypatch):
        monkeypatch.setattr(layout, "SLAB_VALUES", 500)
        monkeypatch.setattr(layout, "SLAB_MIN", 40)
        slabs = cut(problem_of(90, 12))
        assert [slab.rows for slab in slabs] == pieces(90, 41)
        assert all(slab.columns == ALL and slab.independent for slab in slabs)

    def test_no_slab_is_shorter_than_twice_the_short_axis(self, monkeypatch):
        monkeypatch.setattr(layout, "SLAB_VALUES", 1)
        monkeypatch.setattr(layout, "SLAB_MIN", 1)
        monkeypatch.setattr(layout, "WHOLE_VALUES", 0)
        lengths = [slab.V.shape[1] for slab in cut(problem_of())]
        assert lengths == [24, 24, 24, 18]

    def test_a_slab_is_a_copy_in_the_precision_of_the_data(self):
        problem = problem_of()
        single = Problem(problem.data.astype(np.float32), LAM, problem.weights > 0, problem.basis)
        (slab,) = copy_slabs(single, [(slice(2, 5), slice(10, 30))])
        for name in "VQWXAEYP":
            assert getattr(slab, name).dtype == np.float32
        np.testing.assert_array_equal(slab.V, single.data[2:5, 10:30])
        np.testing.assert_array_equal(slab.W, problem.weights[2:5, 10:30])
        slab.V[...] = 0
        assert single.data[2:5, 10:30].any()


def filled(problem, by, length):
    """Slabs cut along columns or rows, with A, E and V that tell every value from the others."""
    n, m = problem.data.shape
    if by == "columns":
        slabs = copy_slabs(problem, [(ALL, columns) for columns in pieces(m, length)])
    else:
        slabs = copy_slabs(problem, [(rows, ALL) for rows in pieces(n, length)])
    rng = np.random.default_rng(1)
    whole = {name: rng.standard_normal((n, m)) for name in "AEV"}
    for slab in slabs:
        for name, values in whole.items():
            getattr(slab, name)[...] = values[slab.rows, slab.columns]
    return slabs, whole


@pytest.mark.parametrize(("by", "length"), [("columns", 7), ("columns", 90), ("rows", 5)])
class TestPixels:
    def test_any_columns_can_be_read(self, by, length):
        slabs, whole = filled(problem_of(), by, length)
        pixels = Pixels(slabs, 90)
        for low, high in ((0, 90), (3, 4), (6, 8), (13, 50), (85, 90)):
            for name, values in whole.items():
                np.testing.assert_array_equal(pixels.read(name, low, high), values[:, low:high])

    def test_a_block_brings_the_pixels_around_it_along_as_far_as_there_are_any(self, by, length):
        problem = problem_of()
        slabs, whole = filled(problem, by, length)
        pixels = Pixels(slabs, problem.data.shape[1])
        for columns in (slice(0, 7), slice(21, 28), slice(84, 90)):
            block = pixels.block(columns, 10, Serial())
            first = max(columns.start - 10, 0)
            last = min(columns.stop + 10, 90)
            np.testing.assert_array_equal(block.sparse, whole["E"][:, first:last])
            np.testing.assert_array_equal(block.low_rank, whole["A"][:, columns])
            np.testing.assert_array_equal(block.target, whole["V"][:, columns])
            np.testing.assert_array_equal(block.valid, problem.weights[:, columns] > 0)
            assert block.first == columns.start
            assert block.before == columns.start - first
            assert block.size == columns.stop - columns.start

    def test_the_blocks_cover_all_pixels_and_give_the_gram_matrix(self, by, length):
        slabs, whole = filled(problem_of(), by, length)
        pixels = Pixels(slabs, 90)
        covered = [k for piece in pixels.columns for k in range(piece.start, piece.stop)]
        assert covered == list(range(90))
        np.testing.assert_allclose(pixels.gram(), whole["A"] @ whole["A"].T, atol=1e-12)


class TestJoined:
    """Neighbouring pieces become one, where they are short."""

    @pytest.mark.parametrize("least", [0, 1, 7, 8, 20, 64, 65, 1000])
    @pytest.mark.parametrize("length", [1, 7, 64])
    def test_they_cover_the_same_columns_and_all_but_the_last_are_long_enough(self, length, least):
        columns = pieces(65, length)
        found = joined(columns, least)
        covered = [k for piece in found for k in range(piece.start, piece.stop)]
        assert covered == list(range(65))
        assert all(piece.stop - piece.start >= least for piece in found[:-1])
        # Only whole pieces are joined, and no more of them than it takes.
        assert {piece.stop for piece in found} <= {piece.stop for piece in columns}
        longest = max(least, 1) + length - 1
        assert all(piece.stop - piece.start <= longest for piece in found)

    def test_pieces_that_are_long_enough_stay_as_they_are(self):
        columns = pieces(65, 7)
        assert joined(columns, 7) == columns
        assert joined(columns, 8) == [slice(k, min(k + 14, 65)) for k in range(0, 65, 14)]
        assert joined([], 3) == []

    @pytest.mark.parametrize("missing", [False, True])
    @pytest.mark.parametrize(("by", "length"), [("columns", 24), ("rows", 5)])
    def test_a_projection_is_the_same_whatever_is_surveyed_together(
        self, by, length, missing, monkeypatch
    ):
        """The statistics are sums over pixels, so only their last digits depend on the pieces."""
        monkeypatch.setattr(admm_blocks, "COLUMNS", 24)
        # Windows of 3 px reach into the rows before and after: a halo of 40 px.
        projector = get_projector("regression", 4, window=0.3)
        problem = problem_of(12, 240, missing)
        problem = Problem(problem.data, LAM, problem.weights, shape=(1, 12, 20))
        found = []
        counts = []
        for halos in (0, 1, 4, 1000):
            monkeypatch.setattr(admm_blocks, "HALOS", halos)
            slabs, _ = filled(problem, by, length)
            for slab in slabs:
                # Pixels in error and others, so that the vote around each of them matters.
                slab.E[np.abs(slab.E) < 0.7] = 0
            counting = Counting()
            project_onto(projector, problem, slabs, None, counting)
            counts.append(counting.counts[0])
            found.append(Pixels(slabs, problem.data.shape[1]).read("P", 0, 240))
        assert counts == [10, 5, 2, 1]
        for other in found[1:]:
            np.testing.assert_allclose(other, found[0], rtol=1e-9, atol=1e-12)


class Counting(Serial):
    """How many pieces are run at a time."""

    def __init__(self):
        self.counts = []

    def run(self, function, slabs, *shared):
        self.counts.append(len(slabs))
        return super().run(function, slabs, *shared)


@pytest.mark.parametrize("whole", [layout.WHOLE_VALUES, 0])
@pytest.mark.parametrize("shape", [(12, 90), (90, 12)])
def test_the_pieces_are_put_together_to_arrays_like_the_data(shape, whole, monkeypatch):
    monkeypatch.setattr(layout, "SLAB_VALUES", 1)
    monkeypatch.setattr(layout, "SLAB_MIN", 1)
    monkeypatch.setattr(layout, "WHOLE_VALUES", whole)
    problem = problem_of(*shape)
    slabs = Slabs(problem, Serial())
    slabs.start(divisor=4.0, mu=1.0)
    A, E, Y = (slabs.result(name) for name in "AEY")
    assert A.shape == E.shape == shape
    np.testing.assert_array_equal(Y, problem.data / 4.0)
    solution = solve(problem, Settings(tol=1e-5))
    shown = problem.weights > 0
    rest = problem.data + np.einsum("npm,np->nm", problem.basis, solution.delta)
    difference = (solution.low_rank + solution.sparse - rest)[shown]
    assert np.abs(difference).max() < 1e-3 * np.abs(problem.data).max()
