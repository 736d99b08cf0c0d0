"""From pictures to transforms: keypoints, pairs, the graph, one refinement."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from rankfold.align.given import Images, Masks, as_stack
from rankfold.align.matching.candidates import candidates
from rankfold.align.matching.cycles import without_contradictions
from rankfold.align.matching.keypoints import Keypoints, detect, load
from rankfold.align.matching.pairs import Pair, compare
from rankfold.align.matching.placing import place, residuals
from rankfold.align.matching.refine import Sizes
from rankfold.align.matching.result import Link, Matches
from rankfold.align.settings import AlignSettings, MatchSettings
from rankfold.arguments import instance, word
from rankfold.errors import InputError
from rankfold.families import FAMILIES, Family, get_family
from rankfold.scale import executor_for
from rankfold.stack import Stack
from rankfold.stack.views import View

# Is told what is done ("keypoints", "pairs"), how many of it, and of how many.
Watch = Callable[[str, int, int], object]
Item = TypeVar("Item")


def match(
    images: Images,
    family: str = "homography",
    *,
    reference: int | str | None = None,
    masks: Masks = None,
    settings: AlignSettings | None = None,
    watch: Watch | None = None,
) -> Matches:
    """Find where pictures lie relative to each other, by the keypoints that they share.

    Parameters
    ----------
    images : list of arrays, one array, a Stack, or a path
        Pictures (h, w) or (h, w, c) of any size. Their exposure and colour may differ.
    family : str
        "translation", "euclidean", "similarity", "affine" or "homography".
    reference : int or str, optional
        Index or name of the picture that transforms start from. By default, it is the picture
        that most others see.
    masks : sequence of (h, w) arrays, optional
        True where a pixel may be used.
    settings : AlignSettings, optional
        The numbers in its group ``matching`` are used.
    watch : function (text, int, int), optional
        Is told what is done, how many of it are done, and of how many.

    Returns
    -------
    Matches

    Raises
    ------
    InputError
        OpenCV is not installed, or the arguments do not fit the pictures.
    """
    kind = get_family(word("family", family, FAMILIES))
    if settings is not None:
        instance("settings", settings, AlignSettings, "pass AlignSettings(), or leave it out")
    load()
    numbers = (settings or AlignSettings()).matching
    # One thread for the products of all pairs, as in an alignment.
    with executor_for(None, 1):
        views, names = _views_of(images, masks, numbers.side)
        chosen = index_of(reference, names)
        return match_views(views, kind, numbers, chosen, names, watch)


def _views_of(images: Images, masks: Masks, side: int) -> tuple[tuple[View, ...], tuple[str, ...]]:
    """Views of the pictures, and their names; files are read one at a time."""
    if not isinstance(images, str | os.PathLike) or masks is not None:
        stack = as_stack(images, masks, np.float32)
        return stack.views_to_match(side), stack.names
    from rankfold.io import open_pictures

    source = open_pictures(str(images))
    views: list[View] = []
    for picture in source.pictures():
        valid = None if picture.mask is None else [picture.mask]
        views += Stack.of([picture.values], valid, dtype=np.float32).views_to_match(side)
    return tuple(views), source.names


def index_of(reference: int | str | None, names: Sequence[str]) -> int | None:
    """Return the index of the picture that was asked for; None where none was."""
    if reference is None:
        return None
    if isinstance(reference, str):
        if reference not in names:
            raise InputError(
                f"no picture is called {reference!r}; use one of the names or an index"
            )
        return list(names).index(reference)
    number = _whole(reference)
    if number is None or not 0 <= number < len(names):
        raise InputError(
            f"there is no picture {reference!r}; use a name, or a number from 0 to {len(names) - 1}"
        )
    return number


def _whole(value: object) -> int | None:
    """A whole number as an int; None for anything else, True and False among it."""
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def match_views(
    views: Sequence[View],
    family: Family,
    numbers: MatchSettings,
    reference: int | None = None,
    names: Sequence[str] | None = None,
    watch: Watch | None = None,
) -> Matches:
    """Match small grey copies of the pictures; :func:`match` makes them.

    Parameters
    ----------
    views : sequence of View
    family : Family
    numbers : MatchSettings
    reference : int, optional
        The picture that transforms start from; by default, the one that most others see.
    names : sequence of str, optional
        What the pictures are called; by default ``image 0`` and so on.
    watch : function (text, int, int), optional
        Is told what is done, how many of it are done, and of how many.

    Returns
    -------
    Matches
        Everything in px of the originals.
    """
    n = len(views)
    labels = tuple(names) if names is not None else tuple(f"image {k}" for k in range(n))
    most = numbers.max_keypoints if n <= numbers.all_pairs else numbers.max_keypoints_of_many
    keypoints = [detect(view, numbers, most) for view in counted(views, "keypoints", watch)]
    sizes = Sizes.of(keypoints)
    pairs = find_pairs(keypoints, family, numbers, watch)
    pairs = without_contradictions(pairs, sizes, numbers.cycle)
    placed = place(family, pairs, sizes, reference, numbers)
    return Matches(
        names=labels,
        family=family.name,
        reference=placed.reference,
        transforms=placed.transforms,
        reached=placed.reached,
        groups=placed.groups,
        links=tuple(Link(p.one, p.two, p.points_one, p.points_two) for p in placed.pairs),
        keypoints=np.array([len(one) for one in keypoints]),
        residual=residuals(placed),
    )


def find_pairs(
    keypoints: Sequence[Keypoints],
    family: Family,
    numbers: MatchSettings,
    watch: Watch | None = None,
) -> list[Pair]:
    """Compare the pictures that are worth it, and keep the pairs to be believed."""
    found = (
        compare((i, j), keypoints[i], keypoints[j], family, numbers)
        for i, j in counted(candidates(keypoints, numbers), "pairs", watch)
    )
    return [pair for pair in found if pair is not None]


def counted(items: Sequence[Item], what: str, watch: Watch | None) -> Iterator[Item]:
    """Give the items one after the other, and tell after each how many are done."""
    for done, item in enumerate(items, start=1):
        yield item
        if watch is not None:
            watch(what, done, len(items))
