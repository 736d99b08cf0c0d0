"""Numbers of the matching of keypoints."""

from __future__ import annotations

from dataclasses import dataclass

from rankfold.tuned import COUNT, SHARE, VIEW_PX, Group, tuned


@dataclass(frozen=True)
class MatchSettings(Group):
    """Keypoints that several photographs share, for a start from far apart.

    Pictures are matched in views, which are small grey copies.
    """

    side: int = tuned(
        1000,
        VIEW_PX,
        "A view is at most this long. On graf 500 was less accurate at the widest angle (2.7 "
        "instead of 1.4 px of the original).",
        least=32,
        most=1000,
    )
    max_keypoints: int = tuned(
        3000,
        COUNT,
        "Of one picture at most. With 1500, two of 16 windows with a pasted occluder were lost.",
        least=8,
    )
    max_keypoints_of_many: int = tuned(
        1200,
        COUNT,
        "The same with more than all_pairs pictures. Chosen for speed: 300 frames in 95 s.",
        least=8,
    )
    contrast: float = tuned(
        0.02,
        "SIFT's contrast threshold",
        "Half of what OpenCV takes; of windows with a pasted occluder, .04 lost one of 16.",
        positive=True,
    )
    cells: int = tuned(
        8,
        COUNT,
        "Cells along the long side of a grid, over which keypoints are spread and in which the "
        "cover of a link is counted; of windows with a pasted occluder 6 and 10 chose as well.",
    )
    margin: int = tuned(
        4, VIEW_PX, "Keypoints nearer to a missing pixel are dropped. Chosen, not tuned."
    )
    ratio: float = tuned(
        0.8,
        SHARE,
        "Lowe's (2004), of the distances to the nearest and the second nearest descriptor; on "
        "graf and leuven .7 to .9 hardly differ.",
        most=1.0,
    )
    tolerance: float = tuned(
        3.0, VIEW_PX, "A match that is closer agrees; on graf 2 to 5 hardly differ.", positive=True
    )
    samples: int = tuned(
        4000, COUNT, "Samples of matches at most; on graf and leuven 1000 gave the same."
    )
    fitted_samples: int = tuned(
        4, COUNT, "The best ones are fitted again; on graf, leuven and windows 8 gave the same."
    )
    max_scale: float = tuned(
        8.0,
        "times",
        "A transform that stretches more is not believed. A limit, not tuned.",
        least=1,
    )
    min_spread: float = tuned(
        0.02,
        "share of the long side",
        "Standard deviation of the matches across their shortest direction. A limit, not tuned.",
    )
    min_inliers: int = tuned(
        8,
        COUNT,
        "Matches that must agree beside the share below: Brown and Lowe (2007), not tuned.",
    )
    min_share: float = tuned(
        0.3,
        SHARE,
        "Of the tentative matches where both pictures see the same: Brown and Lowe (2007). No "
        "false link among 26 pictures of seven scenes, in any family.",
        most=1.0,
    )
    rival: float = tuned(
        0.5,
        SHARE,
        "A second transform with so much of the matches and of the cover makes a link ambiguous. "
        "Of 120 pairs of windows, no second transform had more than .13 of the matches.",
        most=1.0,
    )
    mixed: float = tuned(
        0.25,
        SHARE,
        "Of the second transform's matches whose nearest neighbour belongs to the first: below, "
        "it is that of something else beside it or in front. Chosen, not tuned.",
        most=1.0,
    )
    cycle: float = tuned(
        10.0,
        VIEW_PX,
        "Three links round must end this near to the start. Links of graf do, and a window of a "
        "facade is larger. Not tuned.",
        positive=True,
    )
    all_pairs: int = tuned(40, COUNT, "Up to so many pictures, every pair is compared: for speed.")
    in_time: tuple[float, ...] = tuned(
        (1.0, 2.0, 5.0, 10.0),
        "pictures",
        "With more, a picture is compared with those so far behind it. Chosen, not tuned.",
        least=1,
    )
    look_alikes: int = tuned(
        6, COUNT, "And with so many that look most like it. Chosen, not tuned.", least=0
    )
    words: int = tuned(
        32, COUNT, "Typical descriptors by which pictures are found to look alike. Not tuned."
    )
    points_a_link: int = tuned(
        150,
        COUNT,
        "Matches of a link in the joint refinement, well spread; on graf 50 to 2000 hardly differ.",
        least=4,
    )
    huber: float = tuned(
        1.0,
        VIEW_PX,
        "A match further apart pulls no harder (Huber's loss); on graf .5 to 2 hardly differ.",
        positive=True,
    )
    refine_rounds: int = tuned(
        3,
        COUNT,
        "Of refining and choosing the matches again; graf's third view 2.1, .8 and .7 px after "
        "one, two and three.",
    )
    refine_steps: int = tuned(40, COUNT, "Steps of a round at most. A limit, not tuned.")
