"""Small problems that several tests start from."""

import inspect

import numpy as np

import rankfold as rf
from rankfold.align.request import resolve
from rankfold.datasets import low_rank_plus_sparse
from rankfold.manifold import Context
from rankfold.scale import Serial


def subspace(n=20, m=300, rank=4, seed=0):
    """Rows (n, m) that lie in a random linear subspace."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m))


def with_basis(n=40, m=400, p=4, seed=0):
    """Data that are low rank + sparse only after a correction in the span of a random basis."""
    rng = np.random.default_rng(seed)
    truth = low_rank_plus_sparse(n, m, 3, 0.05, seed)
    Q = np.linalg.qr(rng.standard_normal((n, m, p)))[0].transpose(0, 2, 1)
    return truth.data + np.einsum("npm,np->nm", Q, 3 * rng.standard_normal((n, p))), Q


def with_holes(D, Q, seed, share=0.1):
    """The same data and basis with a share of missing values, and the weights Ω (n, m)."""
    W = (np.random.default_rng(seed).random(D.shape) > share).astype(float)
    Q = np.linalg.qr((Q * W[:, None]).transpose(0, 2, 1))[0].transpose(0, 2, 1)
    return D * W, Q, W


def context_of(A, E=None, V=None, valid=None, units=None, shape=None, executor=None):
    """What a projector is given, with plain values for what does not matter."""
    E = np.zeros_like(A) if E is None else E
    return Context(
        low_rank=A,
        sparse=E,
        target=A + E if V is None else V,
        valid=valid,
        # In double precision for single precision too, as the solver gives it.
        gram=np.asarray(A @ A.T, dtype=np.float64),
        units=np.ones(len(A)) if units is None else units,
        shape=shape or (1, 1, A.shape[1]),
        executor=executor or Serial(),
    )


def request_of(images, **options):
    """A checked request with the defaults of ``align``."""
    wanted = inspect.signature(resolve).parameters
    known = inspect.signature(rf.align).parameters
    defaults = {name: known[name].default for name in wanted if name != "images"}
    return resolve(images, **{**defaults, **options})
