"""Compare results with those of an earlier version of the code, to the last bit.

    python tests/equalities/bits.py record FILE.npz     # with the old code
    python tests/equalities/bits.py compare FILE.npz    # with the new code: size of differences

FILE.npz holds the arrays themselves. ``digests`` instead of ``record`` writes only their digests
as JSON, which is small enough to be kept, and ``add`` those of cases that a file has not.
``test_recorded_bits.py`` holds the code to ``recorded_bits.json`` on a machine of the same kind.
The record of version 0.1 led here through the changes for which there was a reason; it was written
anew, by the same code, when the name of a processor turned out to stand for several generations.

Last bits depend on the processor and on the libraries, so a comparison means something only where
:func:`fingerprint` is the same.
"""

import hashlib
import json
import platform
import sys
import warnings
from pathlib import Path

import numpy as np

# What Linux says of a processor.
KIND = ("model name", "cpu family", "model")
ARRAYS = ("transforms", "aligned", "low_rank", "sparse", "valid", "singular_values")


def fingerprint() -> str:
    """What last bits depend on: the processor and the numerical libraries."""
    import numba
    import scipy

    processor = platform.processor() or platform.machine()
    described = Path("/proc/cpuinfo")
    if described.is_file():
        # Machines of one name may have processors of several generations, that round differently.
        facts = (line.partition(":") for line in described.read_text().splitlines())
        first = {name.strip(): value.strip() for name, _, value in reversed(list(facts))}
        processor = " ".join(first.get(name, "") for name in KIND)
    versions = [f"{lib.__name__} {lib.__version__}" for lib in (np, scipy, numba)]
    return "; ".join([processor, *versions])


def batches():
    """Seeded pictures, each with what ``align`` needs to know of them."""
    from rankfold.datasets import cells, facade, rendered_heads

    heads = rendered_heads(10, occluded=0.3, seed=4)
    yield "heads", heads.images, {"frame": heads.frame, "init": heads.start}

    coloured = rendered_heads(8, occluded=0.3, seed=5)
    tints = np.array([1.0, 0.8, 0.6])
    pictures = [(255 * picture[..., None] * tints).astype(np.uint8) for picture in coloured.images]
    yield "colour", pictures, {"frame": coloured.frame, "init": coloured.start}

    masked = rendered_heads(8, occluded=0.3, seed=6)
    rng = np.random.default_rng(6)
    masks = [rng.random(picture.shape) > 0.02 for picture in masked.images]
    yield "masks", masked.images, {"frame": masked.frame, "init": masked.start, "masks": masks}

    wall = facade(7, frame=(40, 40), seed=7)
    # Version 0.1 took given matrices as the start. "auto" would match keypoints first, but only
    # where OpenCV is there.
    options = {"frame": wall.frame, "init": wall.start, "family": "homography", "start": "given"}
    yield "facade", wall.images, options

    stack = cells(9, frame=(50, 60), seed=8)
    options = {"frame": stack.frame, "init": stack.start, "family": "translation"}
    yield "cells", stack.images, options

    far = rendered_heads(9, occluded=0.2, seed=9)
    yield "centred", far.images, {"frame": far.frame, "coarse": True}


def methods():
    """Options by name. MeADMM as published has nothing that 0.1 did not have.

    None of them by MeADMM takes out what pictures share, so that a find would not hide what has
    changed before it.
    """
    return {
        "rpca": {"method": "rpca", "schedule": "published"},
        "rpca-certified": {"method": "rpca", "schedule": "certified"},
        "rasl": {"method": "rasl", "schedule": "published"},
        "rasl-certified": {"method": "rasl", "schedule": "certified"},
        "meadmm": {
            "method": "meadmm",
            "schedule": "published",
            "shared": 0,
            "settings": without_grains(),
        },
        "meadmm-rough": {"method": "meadmm", "schedule": "rough", "shared": 0},
    }


def without_grains():
    """Settings under which the regression votes as it did in 0.1."""
    import rankfold as rf

    return rf.AlignSettings().changed({"manifold.grains": 0.0})


def alignments():
    """Every batch by every method, and single precision for some."""
    import rankfold as rf

    for name, images, given in batches():
        for method, chosen in methods().items():
            # Robust PCA moves nothing, and refuses stages that do.
            still = chosen["method"] == "rpca"
            options = {key: value for key, value in given.items() if key != "coarse" or not still}
            yield f"align {name} {method}", rf.align(images, **options, **chosen, n_jobs=2)
            if name in ("heads", "colour", "masks"):
                single = rf.align(images, **options, **chosen, dtype=np.float32)
                yield f"align {name} {method} float32", single
            if name == "colour":
                joint = rf.align(images, **options, **chosen, channels="joint")
                yield f"align {name} {method} joint", joint


def decompositions():
    """Matrices, pictures and missing values, by every schedule."""
    import rankfold as rf
    from rankfold.datasets import low_rank_plus_sparse, street

    data = low_rank_plus_sparse(40, 300, rank=3, corrupted=0.1, seed=1).data
    tall = low_rank_plus_sparse(400, 60, rank=3, corrupted=0.1, seed=2).data
    holes = data.copy()
    holes[np.random.default_rng(3).random(data.shape) < 0.1] = np.nan
    scene = np.stack(street(12, frame=(30, 40), seed=4).images)
    for name, X in (("matrix", data), ("tall", tall), ("holes", holes), ("scene", scene)):
        yield f"decompose {name} certified", rf.decompose(X)
        published = {"schedule": "published"}
        yield f"decompose {name} published", rf.decompose(X, **published, tol=1e-6)
        single = rf.decompose(X, **published, tol=1e-4, dtype=np.float32)
        yield f"decompose {name} float32", single
        former = {"method": "meadmm", "tol": 1e-6, "shared": 0, "settings": without_grains()}
        yield f"decompose {name} meadmm", rf.decompose(X, **former)
    yield "decompose scene grains", rf.decompose(scene, method="meadmm", tol=1e-6, shared=0)
    # more values than one slab holds
    large = low_rank_plus_sparse(210, 10_500, rank=4, corrupted=0.05, seed=5).data
    yield "decompose large certified", rf.decompose(large)
    yield "decompose large published", rf.decompose(large, schedule="published", tol=1e-6)
    yield "decompose large meadmm", rf.decompose(large, method="meadmm", tol=1e-6)


def results():
    """Arrays by "case / name"; the generators' products too are made by one thread."""
    from threadpoolctl import threadpool_limits

    found = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source in (alignments, decompositions):
            for case, result in source():
                for name in ARRAYS:
                    if hasattr(result, name):
                        found[f"{case} / {name}"] = np.ascontiguousarray(getattr(result, name))
    return found


def digest(array) -> str:
    """Of type, shape and bytes."""
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(head + array.tobytes()).hexdigest()[:16]


def differences(old, new):
    """Lines that say by how much an array differs from the recorded one."""
    for key in sorted(old):
        if key not in new:
            yield f"{key}: not there"
        elif digest(old[key]) != digest(new[key]):
            one, two = (array.astype(np.float64) for array in (old[key], new[key]))
            if one.shape != two.shape:
                yield f"{key}: shape {one.shape}, now {two.shape}"
                continue
            largest = np.nanmax(np.abs(one - two), initial=0.0)
            yield f"{key}: differs by up to {largest:.1e}, of up to {np.nanmax(np.abs(one)):.1e}"


def main(action: str, path: str) -> int:
    """Record, or compare; the exit code is 1 where anything differs."""
    new = results()
    if action == "record":
        np.savez_compressed(path, **new)
    elif action in ("digests", "add"):
        found = {key: digest(array) for key, array in new.items()}
        if action == "add":
            found |= json.loads(Path(path).read_text(encoding="utf-8"))["digests"]
        record = {"fingerprint": fingerprint(), "digests": found}
        Path(path).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    elif action == "compare":
        with np.load(path, allow_pickle=False) as stored:
            old = {name: stored[name] for name in stored.files}
        lines = list(differences(old, new))
        sys.stdout.writelines(line + "\n" for line in lines)
        sys.stdout.write(f"{len(old)} arrays, {len(lines)} differ\n")
        return int(bool(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
