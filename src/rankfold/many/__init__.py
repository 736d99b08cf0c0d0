"""Many batches: a run folder each, in parallel, and one summary of all.

``batches`` finds them and names them, ``recipe`` says how each is run, ``work`` runs one or takes
what is there (``existing``). ``running`` runs all of them: in this process, in ``workers`` of
their own, or on an executor. ``api`` has the public function.
"""

from rankfold.many.api import align_many
from rankfold.many.batches import Batch, Found, find_batches
from rankfold.many.recipe import Recipe, recipe_of
from rankfold.many.running import ManyWatch
from rankfold.many.work import plan_batch

__all__ = [
    "Batch",
    "Found",
    "ManyWatch",
    "Recipe",
    "align_many",
    "find_batches",
    "plan_batch",
    "recipe_of",
]
