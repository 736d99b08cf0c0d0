"""Attempts at run folders: damaged in every way, and then used as if nothing had happened."""

import csv
import json
import os
import shutil
import tomllib
import warnings
import zlib
from dataclasses import fields
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np
import tomli_w
from PIL import Image

import rankfold as rf
from campaign.damage import damaged
from rankfold import runs
from rankfold.align import Checkpoint
from rankfold.io import open_pictures
from rankfold.lazy import LazyPictures
from rankfold.many import align_many
from rankfold.report import page, write_report
from rankfold.runs.many_tables import replace_text
from rankfold.storage import results
from sealing import facts_of, reseal, sha256

# The shortest alignment there is.
QUICK = {"method": "rasl", "max_outer": 2, "coarse": False}
FRAME = (9, 10)
PLAIN = runs.Output(pictures=False)

# What somebody else has, beside and in the folders of runs.
THESIS = b"three years\n"

# Of the attempts at reports, this share draws the plots, which take most of the time.
DRAWN = 0.02


def pictures(place):
    """Write four small pictures of one thing into a folder, and as two batches."""
    y, x = np.mgrid[:12, :14]
    for batch in ("all", "batches/a", "batches/b"):
        folder = place / batch
        folder.mkdir(parents=True)
        for k in range(4):
            values = 120 + 60 * np.sin((x + k / 3) / 2) + 60 * np.cos((y - k / 4) / 1.5)
            Image.fromarray(values.astype(np.uint8)).save(folder / f"{k}.png")
    return open_pictures(place / "all")


class Stopping(runs.Unwatched):
    """Interrupts a run after its first outer iteration."""

    def __call__(self, record):
        if isinstance(record, rf.status.OuterRecord):
            raise KeyboardInterrupt
        return False


class Garden:
    """Good run folders of every kind, and what is in them."""

    def __init__(self, place):
        self.place = place
        self.source = pictures(place / "pictures")
        self.choice = runs.choose(self.source, frame=FRAME)
        self.originals = {}
        self.plots = {}
        self.pages = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rf.ConvergenceWarning)
            self._plant()

    def _plant(self):
        place = self.place
        (place / "other").write_bytes(THESIS)
        reported = runs.Output(report=write_report)
        self.align(place / "align" / "run", output=runs.Output())
        self.align(place / "report" / "run", output=reported, method="meadmm")
        self.align(place / "unfinished" / "run", stopped=True)
        self.align(place / "ended" / "run")
        lie = runs.choose_as_they_lie(self.source)
        runs.run_decompose(place / "decompose" / "run", self.source, lie, output=PLAIN)
        with mock.patch.object(results, "LARGE", 200):
            # Every array of some size has a file of its own.
            rf.load(place / "align" / "run").save(place / "save" / "run")
        runs.apply_run(place / "align" / "run", self.source, place / "apply" / "run")
        given = {**QUICK, "frame": FRAME, "pictures": False, "report": False, "n_jobs": 1}
        align_many(str(place / "pictures" / "batches" / "*"), place / "many" / "run", **given)
        for name in ("align", "report", "decompose", "save"):
            self.originals[name] = rf.load(place / name / "run")
        self.originals["unfinished"] = rf.load(place / "ended" / "run")
        self.originals["many"] = rf.load(place / "many" / "run" / "a")
        for name in ("report", "decompose"):
            opened = runs.open_run(place / name / "run")
            data = page.report_data(opened)
            self.plots[kind_of_page(data)] = page.drawn(data)
            self.pages[type(opened.result)] = page.render(data)

    def align(self, run, output=PLAIN, stopped=False, method="rasl", **options):
        """Make a run folder, or what an interrupted run leaves."""
        watch = Stopping() if stopped else None
        given = {**QUICK, "method": method, **options}
        place = Checkpoint(runs.unfinished(run), every=0, keep=True)
        try:
            # Every iteration is written, however fast it was.
            with mock.patch("rankfold.runs.jobs.Checkpoint", return_value=place):
                runs.run_align(run, self.source, self.choice, output=output, watch=watch, **given)
        except KeyboardInterrupt:
            assert stopped


@cache
def garden(place):
    """The good folders that all attempts of a process share."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.ConvergenceWarning)
        return Garden(Path(place))


def prepare(shared):
    """Make the good folders."""
    garden(str(shared / "garden-of-folders"))


def same(one, two):
    """Whether two results have the same type, fields and bits."""
    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()
    if isinstance(one, LazyPictures):
        return same(one.columns(), two.columns()) and same(one.facts(), two.facts())
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[name], two[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(same, one, two))
    if hasattr(one, "__dataclass_fields__"):
        return all(same(getattr(one, f.name), getattr(two, f.name)) for f in fields(one))
    return repr(one) == repr(two)


def alike(one, two, path="result"):
    """Refuse values that are of another kind than those of a good result, whatever they are."""
    if isinstance(two, np.ndarray) and not (path == ".base" and one is None):
        assert isinstance(one, np.ndarray), f"{path} is no array"
        assert one.dtype.kind == two.dtype.kind, f"{path} is of type {one.dtype}"
        assert one.ndim == two.ndim, f"{path} has the shape {one.shape}"
    elif path in (".gap", ".base"):
        known = float | int | np.ndarray | None
        assert isinstance(one, known), f"{path} is {one!r}"
        assert not isinstance(one, bool), f"{path} is {one!r}"
    elif isinstance(two, float):
        assert isinstance(one, int | float), f"{path} is {one!r}"
        assert not isinstance(one, bool), f"{path} is {one!r}"
    elif isinstance(two, dict) or path == ".occluders":
        assert isinstance(one, type(two)), f"{path} is {one!r}"
    elif isinstance(two, tuple):
        assert isinstance(one, tuple), f"{path} is {one!r}"
        for k, value in enumerate(one):
            alike(value, two[0], f"{path}[{k}]")
    else:
        assert isinstance(one, type(two)), f"{path} is {one!r}"


def well_formed(result, original):
    """Refuse a result that loads and is none: fields of other kinds, or that do not fit."""
    if type(result) is type(original):
        for f in fields(original):
            if f.name != "trace":
                alike(getattr(result, f.name), getattr(original, f.name), f".{f.name}")
    count = len(result.low_rank)
    assert result.low_rank.shape == result.sparse.shape
    if isinstance(result, rf.Alignment):
        assert len(result.names) == len(result.transforms) == len(result.verdicts) == count
        assert result.outcome
    assert repr(result)


# What facts may be changed into.
ODD = (
    None,
    True,
    0,
    -1,
    3,
    2.5,
    float("nan"),
    10**30,
    10**400,
    "",
    "x",
    "\ud800",
    "0123",
    [],
    [1],
    ["a", "b", "c", "d"],
    {},
    {"a": 1},
    {"path": 1},
    [[[[[]]]]],
)


def odd(rng):
    """Something that may be in JSON."""
    return ODD[int(rng.integers(len(ODD)))]


def altered(rng, value):
    """Plain values with one of them replaced, or gone."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        name = sorted(value)[int(rng.integers(len(value)))]
        if rng.random() < 0.15:
            return {key: one for key, one in value.items() if key != name}
        return {**value, name: altered(rng, value[name])}
    if isinstance(value, list) and value and rng.random() < 0.5:
        place = int(rng.integers(len(value)))
        return [*value[:place], altered(rng, value[place]), *value[place + 1 :]]
    return odd(rng)


NAMES = ("trace.inner", "trace.", "trace.outer.x", "occluders.region", "a/b", "lazy.x", "x", "7")
TYPES = ("f4", "f8", "i8", "?", "U3", "S2", "c16", "u1", "M8[s]")


def altered_arrays(rng, arrays):
    """Arrays of which one has another type or shape, or is gone, or is new."""
    name = sorted(arrays)[int(rng.integers(len(arrays)))]
    array = arrays[name]
    way = int(rng.integers(6))
    if way == 0:
        return {key: one for key, one in arrays.items() if key != name}
    if way == 1:
        new = NAMES[int(rng.integers(len(NAMES)))]
        return {**arrays, new: np.arange(int(rng.integers(6)), dtype=float)}
    if way == 2:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = np.zeros(array.shape, TYPES[int(rng.integers(len(TYPES)))])
    elif way == 3:
        array = array[..., None]
    elif way == 4:
        array = array.ravel()[: int(rng.integers(4))]
    else:
        array = np.array(array[:-1] if array.ndim and len(array) else 0.0)
    return {**arrays, name: array}


def _sealed_facts(rng, folder):
    """Other facts, with the right checksum."""
    facts = altered(rng, facts_of(folder))
    if not isinstance(facts, dict):
        facts = {"format": "rankfold-result"}
    facts.pop("checksum", None)
    (folder / "result.json").write_text(json.dumps(facts))
    large = facts.get("large", [])
    there = [path.stem for path in folder.glob("*.npy")]
    if isinstance(large, list) and all(name in there for name in large):
        reseal(folder)


def _sealed_arrays(rng, folder):
    """Other arrays, with the right checksum."""
    with np.load(folder / "arrays.npz") as stored:
        arrays = altered_arrays(rng, dict(stored))
    np.savez(folder / "arrays.npz", **arrays)
    reseal(folder)


def _sealed_beside(rng, folder):
    """Another config, other small copies, or metrics, with the right checksums."""
    beside = dict.fromkeys(("config.toml", "trace.jsonl", "inputs.npz"))
    way = int(rng.integers(3))
    if way == 0:
        config = tomllib.loads((folder / "config.toml").read_text())
        try:
            text = tomli_w.dumps(altered(rng, config))
        except (TypeError, AttributeError, UnicodeError, ValueError):
            # TOML has no null, and no text of half a character.
            text = "[input]\nnames = 7\n"
        (folder / "config.toml").write_text(text, errors="replace")
    elif way == 1:
        with np.load(folder / "inputs.npz") as stored:
            arrays = altered_arrays(rng, dict(stored))
        np.savez(folder / "inputs.npz", **arrays)
    else:
        (folder / "metrics.json").write_text(json.dumps(altered(rng, {"a": {"b": 1.0}})))
        beside["metrics.json"] = None
    reseal(folder, beside={name: sha256_of(folder / name) for name in beside})


def sha256_of(path):
    """The digest of a file as results have it."""
    return sha256(sha256(path.read_bytes()).digest()).hexdigest() if path.is_file() else ""


def _json(rng, folder):
    """A file of plain values with other ones, and no new checksum."""
    known = ("result.json", ".rankfold", "checkpoint.json", "summary.json", "a/result.json")
    there = [folder / name for name in known if _can_be_read(folder / name)]
    if there:
        path = there[int(rng.integers(len(there)))]
        path.write_text(json.dumps(altered(rng, json.loads(path.read_text()))))


def _bytes(rng, path, others):
    path.write_bytes(damaged(rng, path.read_bytes(), [one.read_bytes() for one in others]))


def _cut(rng, path, others):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(rng.integers(len(whole) + 1))])


def _removed(rng, path, others):
    path.unlink()


def _emptied(rng, path, others):
    path.write_bytes(b"")


def _folder(rng, path, others):
    path.unlink()
    path.mkdir()


def _link(rng, path, others):
    """A link to another file, to nothing, to itself, or to what never ends."""
    place = path.parent
    targets = [*others, place / "nothing", path, Path("/dev/zero"), Path("/dev/null"), place]
    target = targets[int(rng.integers(len(targets)))]
    path.unlink()
    path.symlink_to(target)


def _pipe(rng, path, others):
    path.unlink()
    os.mkfifo(path)


def _swapped(rng, path, others):
    shutil.copy(others[int(rng.integers(len(others)))], path)


RESULT = ("result.json", "arrays.npz")
_json.reads = ()
_sealed_facts.reads = RESULT
_sealed_arrays.reads = RESULT
_sealed_beside.reads = (*RESULT, "config.toml", "inputs.npz")
WHOLE = (_sealed_facts, _sealed_facts, _sealed_arrays, _sealed_beside, _json)
SINGLE = (_bytes, _bytes, _bytes, _cut, _removed, _emptied, _folder, _link, _pipe, _swapped)


def damage(rng, kind, folder, seeds):
    """Damage a folder in one way; whether its checksum is the right one afterwards."""
    where = folder
    if kind == "many" and rng.random() < 0.5:
        where = folder / "a"
    if rng.random() < 0.35:
        way = WHOLE[int(rng.integers(len(WHOLE)))]
        if all(map(_can_be_read, _read_by(way, where))):
            way(rng, where)
            return way is not _json
    has_thesis = (where / "aligned" / "thesis.txt").exists()
    if rng.random() < 0.03 and (where / "aligned").is_dir() and not has_thesis:
        # Where the pictures were, there is somebody else's folder.
        (where / "aligned").rename(where.parent / "moved")
        (where / "aligned").symlink_to(where.parent.parent / "others")
        return False
    there = sorted(path for path in where.rglob("*") if _can_be_damaged(path))
    if not there:
        return False
    path = there[int(rng.integers(len(there)))]
    of_its_name = sorted(seeds.rglob(path.name))
    others = [other for other in of_its_name if other.is_file()] or [seeds / "other"]
    SINGLE[int(rng.integers(len(SINGLE)))](rng, path, others)
    return False


def _can_be_damaged(path):
    """Whether something is a file of a run."""
    return path.is_file() and not path.is_symlink() and path.name != "thesis.txt"


def _read_by(way, folder):
    """The files that must be good for a way to alter them."""
    names = list(way.reads)
    if names and _can_be_read(folder / "result.json"):
        large = facts_of(folder).get("large", [])
        names += [f"{name}.npy" for name in large] if isinstance(large, list) else ["nothing.npy"]
    return [folder / name for name in names]


def _can_be_read(path):
    """Whether a file is still one that can be read in order to be altered."""
    if not path.is_file() or path.is_symlink():
        return False
    try:
        if path.suffix == ".npz":
            with np.load(path) as stored:
                return bool(dict(stored))
        if path.suffix == ".npy":
            return True
        if path.suffix == ".toml":
            return bool(tomllib.loads(path.read_text()))
        return isinstance(json.loads(path.read_text()), dict)
    except Exception:
        return False


class Attempt:
    """A damaged folder with things of somebody else around it, and what is done with it."""

    def __init__(self, rng, place, planted):
        self.rng = rng
        self.place = place
        self.garden = planted
        self.kind = KINDS_OF_FOLDERS[int(rng.integers(len(KINDS_OF_FOLDERS)))]
        shutil.copytree(planted.place / self.kind, place, dirs_exist_ok=True)
        # The folder that is damaged, and the one with the result.
        self.folder = place / ("run.unfinished" if self.kind == "unfinished" else "run")
        self.run = place / "run" / "a" if self.kind == "many" else place / "run"
        self.foreign = self._put_foreign_files()
        ways = int(rng.choice([1, 1, 1, 2, 3]))
        sealed = [damage(rng, self.kind, self.folder, planted.place) for _ in range(ways)]
        self.resealed = any(sealed)

    def _put_foreign_files(self):
        """Things that are nobody's but the user's; their paths."""
        paths = [self.place / "thesis.txt", self.place / "others" / "thesis.txt"]
        inside = [self.folder, self.folder / "aligned", self.folder / "new"]
        if self.rng.random() < 0.3:
            paths.append(inside[int(self.rng.integers(3))] / "thesis.txt")
        for path in paths:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(THESIS)
        return paths

    def check_foreign_files(self):
        """Nothing of the user's is gone or another one."""
        for path in self.foreign:
            assert path.is_file(), f"{path.relative_to(self.place)} is lost"
            assert path.read_bytes() == THESIS, f"{path.relative_to(self.place)} is another file"

    def check(self, result):
        """A result that loads is one of those that were written."""
        original = self.garden.originals.get(self.kind)
        assert original is not None, "there was no result here"
        if self.resealed:
            well_formed(result, original)
        else:
            known = self.garden.originals.values()
            assert any(same(result, one) for one in known), "an altered result was loaded"
        return result

    def load(self):
        self.check(rf.load(self.run))

    def open(self):
        self.check(runs.open_run(self.run).result)

    def export(self):
        target = self.place / ("run.csv" if self.rng.random() < 0.5 else "run.json")
        result = runs.load_alignment(self.run)
        self.check(result).export_transforms(target, overwrite=bool(self.rng.random() < 0.5))
        if self.resealed:
            return
        if target.suffix == ".json":
            rows = json.loads(target.read_text())["transforms"]
            found = [row["matrix"] for row in rows]
        else:
            with target.open(newline="") as file:
                found = [row[1:] for row in list(csv.reader(file))[1:]]
        np.testing.assert_array_equal(np.array(found, float).reshape(-1, 3, 3), result.transforms)

    def report(self):
        target = None if self.rng.random() < 0.5 else self.place / "run.html"
        if self.rng.random() < DRAWN:
            write_report(self.run, target, overwrite=True)
            return
        plots = self.garden.plots
        with mock.patch.object(page, "drawn", lambda data: plots[kind_of_page(data)]):
            write_report(self.run, target, overwrite=True)

    def apply(self):
        target = self.folder if self.kind == "apply" else self.place / "run-applied"
        run = self.garden.place / "align" / "run" if self.kind == "apply" else self.run
        runs.apply_run(run, self.garden.source, target, overwrite=True)
        assert len(list((target / "aligned").iterdir())) == 4

    def clean(self):
        runs.clean(self.place if self.rng.random() < 0.5 else self.folder)

    def overwrite(self):
        new = self.garden.originals["decompose"]
        new.save(self.run, overwrite=True)
        assert same(rf.load(self.run), new), "the new result was not written"

    def resume(self):
        run = self.place / "run"
        self.garden.align(run, resume=bool(self.rng.random() < 0.5))

    def begin_there(self):
        runs.choose(self.garden.source, init=str(self.run))

    def tables(self):
        replace_text(self.folder / "summary.csv", "name\n")
        assert (self.folder / "summary.csv").read_text() == "name\n"

    def go_on(self):
        given = {**QUICK, "frame": FRAME, "pictures": False, "report": False, "n_jobs": 1}
        batches = str(self.garden.place / "pictures" / "batches" / "*")
        align_many(batches, self.folder, skip_existing=True, **given)


def kind_of_page(data):
    """The class of the result that a page is about."""
    return rf.Decomposition if data.outlines is None else rf.Alignment


OF_RESULTS = ("load", "load", "open", "export", "report", "apply", "clean", "overwrite")
OPERATIONS = {
    "align": (*OF_RESULTS, "begin_there"),
    "report": OF_RESULTS,
    "decompose": OF_RESULTS,
    "save": OF_RESULTS,
    "apply": ("apply", "apply", "load", "clean", "overwrite"),
    "unfinished": ("resume", "resume", "clean", "load"),
    "many": (*OF_RESULTS, "tables", "tables", "go_on"),
}
# Those that compute something take longer, and so there are fewer.
KINDS_OF_FOLDERS = (
    *("align", "report", "decompose", "save") * 4,
    *("apply", "many") * 2,
    "unfinished",
)


def _check_sentence(error, place, resealed):
    """An error is one line that names the folder, or something in it or beside it.

    What somebody forged is no damage, and may be refused because of what it says.
    """
    said = str(error)
    assert "\n" not in said, f"more than one line: {said!r}"
    assert len(said) < 2000, f"too long: {said!r}"
    named = resealed or str(place) in said or any(path.name in said for path in place.iterdir())
    assert named, f"nothing is named: {said}"


def attempt(kind, seed, place):
    """Damage a folder and use it; "fine" or "refused", or an error that should not be."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), seed])
    one = Attempt(rng, place, garden(str(place.parent / "garden-of-folders")))
    outcome = "fine"
    names = OPERATIONS[one.kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.ConvergenceWarning)
        for _ in range(int(rng.choice([1, 1, 2, 3]))):
            name = names[int(rng.integers(len(names)))]
            try:
                getattr(one, name)()
                if name == "overwrite":
                    # From now on it is another one.
                    break
            except rf.RankfoldError as error:
                _check_sentence(error, place, one.resealed)
                outcome = "refused"
            except Exception as error:
                error.add_note(f"{name} of a folder of the kind {one.kind}")
                raise
            one.check_foreign_files()
    one.check_foreign_files()
    return outcome


KINDS = ("damaged run folders",)
