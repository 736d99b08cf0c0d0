"""A start for photographs that are far apart: keypoints, pairs, a graph, one refinement."""

from rankfold.align.matching.direct import match_to
from rankfold.align.matching.keypoints import available, load
from rankfold.align.matching.matching import index_of, match, match_views
from rankfold.align.matching.result import Link, Matches
from rankfold.stack.views import View, view_of

__all__ = [
    "Link",
    "Matches",
    "View",
    "available",
    "index_of",
    "load",
    "match",
    "match_to",
    "match_views",
    "view_of",
]
