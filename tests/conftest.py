"""What several tests look at: a small batch, aligned once."""

import pytest


@pytest.fixture(scope="session")
def heads():
    """A small batch of rendered heads, aligned once for all tests that only look at a result."""
    from rankfold.datasets import rendered_heads

    return rendered_heads(8, seed=3)


@pytest.fixture(scope="session")
def aligned(heads):
    import rankfold as rf

    return rf.align(heads.images, method="rasl", frame=heads.frame, init=heads.start)
