"""Attempts at reading: damaged files of every format, and headers that ask for the impossible."""

import csv
import json
import shutil
import zlib
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image

import bombs
import rankfold as rf
from campaign.damage import damaged
from rankfold.io import open_pictures, write_picture, write_pictures
from rankfold.runs.points import read_points_csv

SIZE = (18, 24)
COUNT = 4
# Of each source so many pictures are read, and their masks and notes.
READ = 4
# Of each source so many are looked at.
MOST = 100

# A seed by its format: how many of the attempts at damage it gets.
PICTURES = ("png", "jpg", "bmp", "pgm", "ppm", "webp", "tif")
VIDEOS = ("mp4", "avi", "mkv", "webm", "mov", "mpg", "wmv", "gif")
TABLES = ("csv",)


def noise(seed=0, channels=3, count=COUNT, dtype=np.uint8):
    """Smooth pictures with a little noise, so that every coder has something to do."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    top = np.iinfo(dtype).max
    waves = [np.sin(x / 5 + k) * np.cos(y / 4) for k in range(count)]
    values = 0.5 + 0.4 * np.stack(waves)[..., None] + 0.05 * rng.standard_normal((*SIZE, channels))
    return (
        (top * np.clip(values, 0, 1)).astype(dtype).squeeze(-1)
        if channels == 1
        else (top * np.clip(values, 0, 1)).astype(dtype)
    )


@cache
def garden(place):
    """Write a good file of every format and kind; their paths, by a name each."""
    place = Path(place)
    place.mkdir(parents=True, exist_ok=True)
    seeds = {}

    def add(name):
        seeds[name] = place / name
        return seeds[name]

    grey = noise(channels=1, count=1)[0]
    colours = noise(count=1)[0]
    deep = noise(count=1, dtype=np.uint16)[0]
    holes = colours.astype(float)
    holes[2:5] = np.nan
    notes = Image.Exif()
    notes[0x0112] = 6
    notes[0x010F] = "camera"
    for ending in ("png", "jpg", "bmp", "ppm", "webp", "tif"):
        write_picture(add(f"colours.{ending}"), colours.astype(float))
    write_picture(add("grey.pgm"), grey.astype(float))
    write_picture(add("deep.png"), deep.astype(float), np.uint16)
    write_picture(add("deep.ppm"), deep.astype(float), np.uint16)
    write_picture(add("holes.png"), holes)
    Image.fromarray(colours).convert("P").save(add("palette.png"))
    Image.fromarray(colours).save(add("notes.jpg"), exif=notes, dpi=(72, 72), progressive=True)
    Image.fromarray(colours).save(add("notes.png"), exif=notes)
    Image.fromarray(colours).save(
        add("two.jpg"), "MPO", save_all=True, append_images=[Image.fromarray(colours)]
    )
    Image.fromarray(colours).save(add("lossy.webp"), quality=60)
    Image.fromarray(colours).save(add("lzw.tif"), compression="tiff_lzw")
    Image.fromarray(colours).save(add("jpeg.tif"), compression="jpeg")
    stack = noise(channels=1)
    tifffile.imwrite(add("stack.tif"), stack, photometric="minisblack")
    tifffile.imwrite(add("one-header.tif"), stack, photometric="minisblack", truncate=True)
    tifffile.imwrite(add("tiles.tif"), stack, tile=(16, 16), compression="zlib")
    tifffile.imwrite(add("big.tif"), stack, bigtiff=True, photometric="minisblack")
    tifffile.imwrite(add("imagej.tif"), stack, imagej=True)
    tifffile.imwrite(add("stack.ome.tif"), stack, metadata={"axes": "TYX"}, ome=True)
    tifffile.imwrite(
        add("floats.tif"), stack.astype(np.float32) / 255, predictor=True, compression="zlib"
    )
    np.save(add("stack.npy"), stack)
    np.save(add("fortran.npy"), np.asfortranarray(stack))
    np.savez(add("stack.npz"), a=stack)
    np.savez_compressed(add("packed.npz"), a=stack, b=stack)
    source = open_pictures(seeds["stack.npy"])
    for ending in VIDEOS:
        if ending == "gif":
            frames = [Image.fromarray(one) for one in noise()]
            frames[0].save(add("film.gif"), save_all=True, append_images=frames[1:])
            continue
        like = rf.io.open_pictures(seeds["stack.npy"])
        like = _as_video(like, f"x.{ending}")
        add(f"film.{ending}")
        write_pictures(place / "film", source.names, noise().astype(float), like, "video")
    import zarr

    for version in (2, 3):
        array = zarr.create_array(
            str(add(f"v{version}.zarr")),
            shape=stack.shape,
            chunks=(1, *SIZE),
            dtype="u1",
            zarr_format=version,
            overwrite=True,
        )
        array[:] = stack
    group = zarr.open_group(str(add("group.zarr")), mode="w")
    group.create_array("a", data=stack)
    with add("points.csv").open("w", newline="") as file:
        rows = [["name", "x1", "y1", "x2", "y2"], ["frame", 1, 2, 3, 4], ["a.png", 1, 2, 3.5, 4]]
        csv.writer(file).writerows(rows)
    return seeds


def prepare(shared):
    """Write the good files."""
    garden(str(shared / "garden"))


def _as_video(source, path):
    """The source as if it had been a video at ``path``."""
    from dataclasses import replace

    return replace(source, path=path, rate=20.0)


def read_all(path, isolate=False, **options):
    """Open and read as a command would, with bad pictures left out."""
    source = open_pictures(path, isolate=isolate, **options)
    # Nobody waits here for a million pictures.
    source = source.some(range(min(len(source), MOST))).without_bad()
    some = source.some(range(min(len(source), READ)))
    for k, picture in enumerate(some.pictures()):
        assert picture.values.shape == some.shapes[k], "another shape than the header said"
        assert picture.values.dtype == some.dtypes[k], "another type than the header said"
        assert picture.mask is None or picture.mask.shape == picture.values.shape[:2]
        some.metadata(k)
    return source


def _read(path, place, isolate):
    """Read one damaged file by what it is."""
    if path.suffix == ".csv":
        read_points_csv(path, ["a.png"])
        return
    if path.suffix[1:] in PICTURES:
        # Among others, as pictures mostly are; a TIFF may also be a stack.
        if path.suffix == ".tif":
            try:
                read_all(path, isolate)
            except rf.RankfoldError as error:
                _check(error, path)
        good = place / "folder" / "good.png"
        good.parent.mkdir()
        shutil.copy(garden(str(place.parent / "garden"))["colours.png"], good)
        shutil.copy(path, good.with_name(path.name))
        found = read_all(good.parent, isolate)
        assert "good.png" in found.names, "the good picture was lost"
        return
    has_keys = path.suffix == ".npz" or "group" in path.name
    read_all(path, isolate, **({"key": "a"} if has_keys else {}))


def _check(error, path):
    """An error is one line that names the file and says something."""
    said = str(error)
    assert path.name.split(".")[0] in said, f"the file is not named: {said}"
    assert "\n" not in said, f"more than one line: {said!r}"
    assert len(said) < 2000, f"too long: {said!r}"


def damage(rng, place, isolate=False):
    """A file with damaged bytes."""
    seeds = garden(str(place.parent / "garden"))
    name = sorted(seeds)[int(rng.integers(len(seeds)))]
    seed = seeds[name]
    path = place / name
    if seed.is_dir():
        shutil.copytree(seed, path)
        files = sorted(file for file in path.rglob("*") if file.is_file())
        target = files[int(rng.integers(len(files)))]
        if rng.random() < 0.1:
            target.unlink()
        else:
            target.write_bytes(damaged(rng, target.read_bytes()))
    else:
        other = seeds[sorted(seeds)[int(rng.integers(len(seeds)))]]
        others = [] if other.is_dir() else [other.read_bytes()]
        path.write_bytes(damaged(rng, seed.read_bytes(), others))
    try:
        _read(path, place, isolate)
    except rf.RankfoldError as error:
        _check(error, path)
        raise


def _edge(rng):
    """A number that a header would not have."""
    edges = [0, 1, 2, 3, 255, 65535, 2**20, 2**24, 2**31 - 1, 2**32 - 1]
    return int(edges[int(rng.integers(len(edges)))])


def _png(rng, place):
    body = zlib.compress(rng.bytes(int(rng.integers(0, 3000))))
    before = [(b"zTXt", b"a\0\0" + zlib.compress(bytes(10**6)))] if rng.random() < 0.2 else []
    bits = int(rng.choice([1, 2, 4, 8, 16, 3]))
    kind = int(rng.choice([0, 2, 3, 4, 6, 5]))
    return bombs.png(place / "a.png", _edge(rng), _edge(rng), body, bits, kind, before)


def _tiff(rng, place):
    tags = bombs.page(int(rng.choice([8, _edge(rng)])), int(rng.choice([8, _edge(rng)])))
    for _ in range(int(rng.integers(0, 4))):
        tag = int(rng.choice([*tags, 284, 317, 320, 322, 323, 324, 325, 338, 339, 32997, 330, 700]))
        kind = int(rng.integers(1, 19))
        tags[tag] = (kind, int(rng.choice([1, _edge(rng)])), int(rng.choice([8, _edge(rng)])))
    count = int(rng.integers(1, 4))
    chain = [int(rng.choice([0, 8, _edge(rng)])) for _ in range(count)]
    return bombs.tiff(place / "a.tif", [tags] * count, chain if rng.random() < 0.5 else None)


def _described(rng, place):
    """A TIFF whose description speaks of more than there is."""
    n = _edge(rng)
    texts = [
        f'<OME><Image><Pixels SizeT="{n}" SizeZ="{_edge(rng)}" SizeX="8" SizeY="8" Type="uint8" '
        'DimensionOrder="XYZCT"><TiffData/></Pixels></Image></OME>',
        f"ImageJ=1.53t\nimages={n}\nslices={_edge(rng)}\nhyperstack=true\n",
        json.dumps({"shape": [n, 8, 8]}),
        json.dumps({"shape": [1] * 70}),
        "<OME>" * 1000,
        "<!DOCTYPE x [<!ENTITY a 'aaaa'>"
        + "".join(f"<!ENTITY {c} '&{p};&{p};&{p};&{p};'>" for p, c in pairwise("abcdefghi"))
        + "]><OME>&i;</OME>",
    ]
    text = texts[int(rng.integers(len(texts)))]
    tifffile.imwrite(
        place / "a.tif",
        np.zeros((3, 8, 8), np.uint8),
        description=text,
        metadata=None,
        photometric="minisblack",
    )
    return place / "a.tif"


def _array(rng, place):
    shape = tuple(int(rng.choice([1, 3, 8, _edge(rng)])) for _ in range(int(rng.integers(1, 6))))
    descr = str(rng.choice(["|u1", "<f8", "|O", "<M8[s]", "|S4", "<c16", "|V8", "<f2", ">i2"]))
    head = bombs.npy_header(shape, descr, bool(rng.random() < 0.3))
    body = head + bytes(int(rng.integers(0, 2000)))
    if rng.random() < 0.5:
        (place / "a.npy").write_bytes(body)
        return place / "a.npy"
    return bombs.npz(place / "a.npz", {"a.npy": body})


def _zarr(rng, place):
    seeds = garden(str(place.parent / "garden"))
    path = place / "a.zarr"
    shutil.copytree(seeds["v3.zarr"], path)
    facts = json.loads((path / "zarr.json").read_text())
    changes = {
        "shape": [int(rng.choice([1, 8, _edge(rng)])) for _ in range(int(rng.integers(1, 5)))],
        "chunk_grid": {
            "name": "regular",
            "configuration": {"chunk_shape": [int(rng.choice([1, 8, _edge(rng)]))] * 3},
        },
        "data_type": str(rng.choice(["uint8", "float64", "string", "int64", "bool", "x"])),
        "codecs": [{"name": str(rng.choice(["bytes", "gzip", "pickle", "zstd", "x"]))}],
        "fill_value": [None, "NaN", -1, {}][int(rng.integers(4))],
    }
    for name in rng.choice(list(changes), int(rng.integers(1, 3)), replace=False):
        facts[str(name)] = changes[str(name)]
    (path / "zarr.json").write_text(json.dumps(facts))
    return path


def headers(rng, place, isolate=False):
    """A header that asks for the impossible, written with the right checksums."""
    makers = (_png, _tiff, _described, _array, _zarr)
    path = makers[int(rng.integers(len(makers)))](rng, place)
    try:
        read_all(path, isolate, **({"key": "a"} if path.suffix == ".npz" else {}))
    except rf.RankfoldError as error:
        _check(error, path)
        raise


def apart(rng, place):
    """One of both, decoded in a process of its own."""
    one = damage if rng.random() < 0.7 else headers
    one(rng, place, isolate=True)


ATTEMPTS = {"damaged files": damage, "impossible headers": headers, "decoded apart": apart}
KINDS = tuple(ATTEMPTS)


def attempt(kind, seed, place):
    """Read one file; "fine" or "refused", or an error that should not be."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), seed])
    try:
        ATTEMPTS[kind](rng, place)
    except rf.RankfoldError:
        return "refused"
    return "fine"
