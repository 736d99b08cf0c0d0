"""Where the real data are, if they are: RANKFOLD_DATA, or the shared folder beside the checkout."""

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).resolve().parents[2] / "shared"
DATA = Path(os.environ.get("RANKFOLD_DATA", BESIDE / "data"))
REFERENCE = DATA.parent / "reference" / "rasl_toolbox.json"

needs_rasl_sets = pytest.mark.skipif(
    not (DATA / "rasl").is_dir() or not REFERENCE.is_file(),
    reason=f"needs the RASL sets in {DATA / 'rasl'} and the published figures; set RANKFOLD_DATA to their folder",
)


@pytest.fixture(scope="session")
def heads():
    """A small batch of rendered heads, aligned once for all tests that only look at a result."""
    from rankfold.datasets import rendered_heads

    return rendered_heads(8, seed=3)


@pytest.fixture(scope="session")
def aligned(heads):
    import rankfold as rf

    return rf.align(heads.images, method="rasl", frame=heads.frame, init=heads.start)
