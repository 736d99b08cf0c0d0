"""A process that compiles gives the same bits as one that finds its kernels in the cache."""

import os
import subprocess
import sys

PROGRAM = """
import hashlib
import numpy as np
import rankfold as rf
from rankfold.admm import Problem, Settings, solve
from rankfold.datasets import rendered_heads
from rankfold.warp import linearise, prepare
from rankfold.warp.linearisation import Motion

heads = rendered_heads(4, seed=0)
sampler = prepare(rf.Stack.of(heads.images), heads.frame, heads.start, np.float32)
family = rf.FAMILIES["similarity"]
local = linearise(sampler, Motion.starting_at(heads.start, family, heads.frame.centre))
solution = solve(Problem(local.data, 0.02, basis=local.basis), Settings(max_iter=20))
arrays = [local.data, local.basis, local.to_parameters, solution.low_rank, solution.sparse]
print([hashlib.sha256(array.tobytes()).hexdigest() for array in arrays])
"""


def test_the_first_run_has_the_bits_of_the_second(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    printed = []
    for _ in range(2):
        outcome = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        printed.append(outcome.stdout)
    assert list((tmp_path / "cache").rglob("*.nbc"))
    assert printed[0] == printed[1]
