"""The Jacobian against central differences of the warp itself."""

import numpy as np
import pytest

from rankfold import FAMILIES, Frame, InputError, Stack
from rankfold.families import shift
from rankfold.warp import linearise, prepare
from rankfold.warp.linearisation import Motion, warp_normalised
from rankfold.warp.orthonormal import diagonalise, orthonormalise

FRAME = Frame(16, 18)
ZOOM = 1.3


def texture(rng, shape=(60, 64)):
    from scipy.ndimage import gaussian_filter

    return 0.5 + gaussian_filter(rng.standard_normal(shape), 1.5)


def case(family, rng, colour=False):
    """One picture, a random start of the frame over it, random parameters of the family on top."""
    image = np.stack([texture(rng) for _ in range(3)], axis=2) if colour else texture(rng)
    stack = Stack.of([image, image])
    start = stack.centred(FRAME, ZOOM) @ shift(rng.uniform(-2, 2, 2))
    motion = Motion.starting_at(start, family, FRAME.centre)
    moves = [
        family.fit(FRAME.corners, FRAME.corners + rng.normal(0, 1.5, (4, 2))) for _ in range(2)
    ]
    parameters = np.stack(
        [family.parameters(shift(-FRAME.centre) @ M @ shift(FRAME.centre)) for M in moves]
    )
    return prepare(stack, FRAME, start, np.float64), motion.with_parameters(parameters)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("colour", [False, True])
def test_jacobian_of_the_normalised_warp_at_50_random_transforms(name, colour):
    family = FAMILIES[name]
    worst = 0.0
    for seed in range(50):
        sampler, motion = case(family, np.random.default_rng(seed), colour)
        local = linearise(sampler, motion)
        assert local.valid.all()
        # Q and R^-1 are J in another form: J = (R^-1)^-1 Q
        J = np.einsum("npm,npq->nqm", local.basis, np.linalg.inv(local.to_parameters))
        for k in range(family.size):
            step = np.zeros(family.size)
            # about 1e-4 px at the corners, whatever the parameter's unit
            step[k] = 1e-4 / np.abs(motion.jacobian(FRAME.corners)[0, :, :, k]).max()
            ahead, behind = (
                warp_normalised(sampler, motion.with_parameters(motion.parameters + s).transforms)[
                    0
                ]
                for s in (step, -step)
            )
            difference = (ahead - behind) / (2 * step[k])
            worst = max(worst, np.linalg.norm(J[:, k] - difference) / np.linalg.norm(difference))
    assert worst < 1e-4


def test_where_pixels_are_missing_the_rest_is_still_the_derivative():
    family = FAMILIES["affine"]
    rng = np.random.default_rng(1)
    image = texture(rng, (24, 24))
    stack = Stack.of([image])
    start = stack.centred(FRAME) @ shift(np.array([6.3, 4.4]))
    sampler = prepare(stack, FRAME, start, np.float64)
    motion = Motion.starting_at(start, family, FRAME.centre)

    def at(step):
        matrices, derivatives = motion.with_parameters(motion.parameters + step).differentials
        m = FRAME.height * FRAME.width
        values, slopes, valid = np.empty(m), np.empty((family.size, m)), np.empty(m, bool)
        sampler.differentiate(0, matrices[0], derivatives[0], values, slopes, valid)
        return values, slopes, valid

    _, jacobian, valid = at(0)
    assert 0.3 < valid.mean() < 0.9
    assert (jacobian[:, ~valid] == 0).all()
    for k in range(family.size):
        step = np.zeros((1, family.size))
        step[0, k] = 1e-6
        difference = ((at(step)[0] - at(-step)[0]) / 2e-6)[valid]
        assert np.linalg.norm(jacobian[k, valid] - difference) < 1e-4 * np.linalg.norm(difference)


def test_rows_have_unit_norm_over_valid_pixels_and_are_zero_elsewhere():
    rng = np.random.default_rng(2)
    stack = Stack.of([texture(rng, (20, 20)) for _ in range(4)])
    start = stack.centred(FRAME) @ shift(np.array([4.0, 5.0]))
    local = linearise(
        prepare(stack, FRAME, start, np.float64),
        Motion.starting_at(start, FAMILIES["affine"], FRAME.centre),
    )
    assert not local.valid.all()
    np.testing.assert_allclose(np.linalg.norm(local.data, axis=1), 1)
    assert (local.data[~local.valid] == 0).all()
    products = np.einsum("npm,nqm->npq", local.basis, local.basis)
    np.testing.assert_allclose(products, np.tile(np.eye(6), (4, 1, 1)), atol=1e-12)


def test_directions_that_do_not_change_the_picture_get_no_increment():
    rng = np.random.default_rng(3)
    J = rng.standard_normal((4, 50))
    J[3] = 2 * J[0] - J[1]
    reach = rng.uniform(0.1, 50, 4)
    Q, to_parameters = J.copy(), np.empty((4, 4))
    orthonormalise(Q, reach, 1e-15, to_parameters)
    assert np.count_nonzero(np.linalg.norm(Q, axis=1) > 0.5) == 3
    assert np.isfinite(to_parameters).all()
    # what the basis can express, R^-1 turns back into parameters that give the same change
    change = J.T @ rng.standard_normal(4)
    np.testing.assert_allclose(J.T @ (to_parameters @ (Q @ change)), change, atol=1e-9)
    flat = 1e-9 * rng.standard_normal((4, 50))  # noise of a flat picture
    orthonormalise(flat, np.ones(4), 1e-15, to_parameters)
    assert not to_parameters.any()
    assert not flat.any()


@pytest.mark.parametrize("p", [1, 2, 4, 8])
def test_rotations_find_the_eigenvalues_and_eigenvectors_that_lapack_does(p):
    rng = np.random.default_rng(p)
    root = rng.standard_normal((p, p)) * 10.0 ** rng.uniform(-4, 4, p)
    twins = np.linalg.qr(rng.standard_normal((p, p)))[0] * np.array([2.0, 2, 2, 1, 1, 1, 0, 0])[:p]
    for matrix in (root @ root.T, twins @ twins.T, np.zeros((p, p)), np.eye(p) + 1e-15):
        G, U = matrix.copy(), np.empty((p, p))
        diagonalise(G, U)
        size = np.abs(matrix).max() + 1e-300
        np.testing.assert_allclose(
            np.sort(np.diag(G)), np.linalg.eigvalsh(matrix), atol=1e-14 * size * p
        )
        np.testing.assert_allclose(U.T @ U, np.eye(p), atol=1e-14 * p)
        np.testing.assert_allclose(U * np.diag(G) @ U.T, matrix, atol=1e-14 * size * p)


def test_motion_starts_where_it_is_told_and_gauge_is_composition():
    rng = np.random.default_rng(4)
    start = np.stack([np.diag([1.7, 1.7, 1]) @ shift(rng.uniform(-5, 5, 2)) for _ in range(3)])
    for family in FAMILIES.values():
        motion = Motion.starting_at(start, family, FRAME.centre)
        np.testing.assert_allclose(motion.transforms, start)
        G = family.fit(FRAME.corners, FRAME.corners + rng.normal(0, 1, (4, 2)))
        expected = start @ np.linalg.inv(G)
        np.testing.assert_allclose(
            motion.after(G).transforms, expected / expected[:, 2:, 2:], atol=1e-9
        )


def test_a_frame_that_sees_nothing_of_a_picture_names_it():
    stack = Stack.of([np.random.default_rng(5).random((20, 20))] * 2, names=["a.png", "b.png"])
    start = stack.centred(FRAME)
    start[1] = shift(np.array([500.0, 0]))
    with pytest.raises(
        InputError, match=r"the 16x18 frame sees nothing of b.png .* use a smaller frame"
    ):
        linearise(
            prepare(stack, FRAME, start, np.float64),
            Motion.starting_at(start, FAMILIES["affine"], FRAME.centre),
        )
