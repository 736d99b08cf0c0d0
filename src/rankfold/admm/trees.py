"""Sums over slabs in the order of one binary tree, whoever adds up which part of them.

Slabs 0 and 1 are added, 2 and 3, then these two sums, and so on. Whoever holds neighbouring slabs
adds up the branches that it has whole, and whoever gets the branches goes on from there. The bits
depend on the number of slabs alone, and no more than a few sums are there at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
Combine = Callable[[T, T], T]


@dataclass(frozen=True)
class Branch(Generic[T]):
    """What neighbouring slabs come to: ``size`` of them, a power of two, from ``first`` on."""

    first: int
    size: int
    value: T


def grown(branches: Iterable[Branch[T]], combine: Combine[T]) -> list[Branch[T]]:
    """Join neighbouring branches, given in order, to the largest that the tree has."""
    found: list[Branch[T]] = []
    for branch in branches:
        while found and _are_halves(found[-1], branch):
            left = found.pop()
            branch = Branch(left.first, 2 * left.size, combine(left.value, branch.value))
        found.append(branch)
    return found


def total(branches: Iterable[Branch[T]], combine: Combine[T]) -> T:
    """What all slabs come to, from branches in order; the last ones may lack their other half."""
    found = grown(branches, combine)
    value = found[-1].value
    for branch in reversed(found[:-1]):
        value = combine(branch.value, value)
    return value


def _are_halves(left: Branch[T], right: Branch[T]) -> bool:
    """Whether two neighbours are the halves of one branch."""
    return left.size == right.size and left.first % (2 * left.size) == 0
