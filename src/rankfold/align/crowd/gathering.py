"""What becomes of every picture of a large batch, put into one result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankfold.align.advice import advice
from rankfold.align.agreement import agreement
from rankfold.align.assemble import outcome, trace_of
from rankfold.align.crowd.learned import Learned, learn
from rankfold.align.crowd.passing import Placed, place_all
from rankfold.align.crowd.placing import reunited
from rankfold.align.crowd.sample import Sampled
from rankfold.align.job import Job
from rankfold.align.progress import Progress
from rankfold.align.stages import run_stages
from rankfold.align.verdicts import codes, judge
from rankfold.families import Floats
from rankfold.lazy import Explained, Originals, lazy_parts, low_rank_row
from rankfold.result import Alignment
from rankfold.scale import Executor, give_back
from rankfold.status import Status
from rankfold.verdicts import Verdict
from rankfold.version import __version__

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

# Pictures that are read before they are placed in parallel: at most so many, and so many values


@dataclass(frozen=True)
class Gathering:
    """A sample that was aligned, and a place for what becomes of every picture.

    Attributes
    ----------
    sampled : Sampled
    learned : Learned
    originals : Originals
    facts : dict
        What the result says of the sample: how the run ended, its trace, and so on.
    transforms, start, base : (n, 3, 3) arrays
    coefficients : (n, r) array
    shares : (n, 2) array
        Confirmed share, and the rough one.
    rescued, sure : (n,) arrays
        See :class:`rankfold.align.crowd.places.Place`.
    """

    sampled: Sampled
    learned: Learned
    originals: Originals
    facts: dict[str, Any]
    transforms: Floats
    start: Floats
    base: Floats
    coefficients: Floats
    shares: Floats
    rescued: Bools
    sure: Bools

    @classmethod
    def after(cls, sampled: Sampled, job: Job, progress: Progress, start: Floats) -> Gathering:
        """Learn from a sample all of whose stages are done; ``start`` (k, 3, 3) was given.

        If a part of it lies apart from the rest, it is aligned once more from where they lie
        together.
        """
        learned = learn(job, progress, start)
        together = None
        if job.request.method.moves and not progress.over:
            together = reunited(learned, job.request.stack, job.executor)
        if together is not None:
            job, progress, learned = _aligned_again(job, progress, learned, together)
        n = len(sampled.batch.names)
        matrices = np.tile(np.eye(3), (n, 1, 1))
        rescued = np.zeros(n, dtype=bool)
        if progress.rescued is not None:
            rescued[sampled.indices] = progress.rescued
        return cls(
            sampled=sampled,
            learned=learned,
            originals=sampled.batch.as_part_of(job.request.stack),
            facts=facts_of(sampled, job, progress),
            transforms=matrices,
            start=matrices.copy(),
            base=matrices.copy(),
            coefficients=np.zeros((n, len(learned.explaining.rows))),
            shares=np.zeros((n, 2)),
            rescued=rescued,
            sure=np.ones(n, dtype=bool),
        )

    @property
    def status(self) -> Status:
        """How the alignment of the sample ended."""
        status = self.facts["status"]
        assert isinstance(status, Status)
        return status

    def place(self, executor: Executor) -> Iterator[Placed]:
        """Place every picture, note what became of it, and give it in order."""
        for one in place_all(self.learned, self.sampled, self.originals, executor):
            k = one.index
            self.transforms[k] = one.place.transform
            self.start[k] = one.start
            self.base[k] = one.place.base
            self.coefficients[k] = one.coefficients
            self.shares[k] = one.place.share, one.place.rough
            self.rescued[k] |= one.place.rescued
            self.sure[k] = one.place.sure
            yield one

    @property
    def explained(self) -> Explained:
        """From what the pictures of the result are made."""
        learned = self.learned
        return Explained(
            coefficients=self.coefficients,
            basis=learned.explaining.rows,
            seen=learned.explaining.seen,
            frame=learned.request.frame,
            colour=learned.request.stack.is_colour,
            transforms=self.transforms,
            base=self.base,
            dtype=str(np.dtype(learned.request.dtype)),
            originals=self.originals,
        )

    def pictures(self, one: Placed) -> dict[str, Array]:
        """The aligned, low-rank and error picture of one that was placed, by their names."""
        made_of = self.explained
        clean = low_rank_row(one.coefficients, made_of.basis, made_of.seen)
        rows = {
            "aligned": np.where(one.valid, one.row, np.nan),
            "low_rank": clean,
            "sparse": np.where(one.valid, one.row - clean, 0),
        }
        return {name: made_of.as_picture(row) for name, row in rows.items()}

    def result(self) -> Alignment:
        """Return the alignment of all pictures, with lazy arrays, once every one is placed."""
        learned = self.learned
        n = len(self.transforms)
        # A picture that is not in the sample belongs to the group if it agrees with it.
        group = self.shares[:, 0] >= learned.request.settings.verdicts.agrees
        group[self.sampled.indices] = learned.found.group
        found = replace(
            learned.found, share=self.shares[:, 0], rough=self.shares[:, 1], group=group
        )
        judgement = judge(found, learned.request.settings.verdicts)
        return Alignment(
            transforms=self.transforms,
            start=self.start,
            base=self.base,
            verdicts=codes(
                tuple(
                    Verdict.DOUBTFUL if word is Verdict.PLACED and not sure else word
                    for word, sure in zip(judgement.verdicts, self.sure, strict=True)
                )
            ),
            lost=judgement.lost,
            confirmed=judgement.confirmed,
            verdict=judgement.batch.value,
            rescued=self.rescued,
            names=self.sampled.batch.names,
            source_shapes=self.sampled.batch.shapes.reshape(n, 2),
            **lazy_parts(self.explained),
            **self.facts,
        )

    def result_in_memory(self, pictures: Sequence[Placed]) -> Alignment:
        """Return the same with plain arrays, from all pictures as they were placed."""
        lazy = self.result()
        parts = [self.pictures(one) for one in pictures]
        frame = self.learned.request.frame
        return replace(
            lazy,
            aligned=np.stack([part["aligned"] for part in parts]),
            low_rank=np.stack([part["low_rank"] for part in parts]),
            sparse=np.stack([part["sparse"] for part in parts]),
            valid=np.stack([one.valid.reshape(-1, *frame.shape)[0] for one in pictures]),
        )


def _aligned_again(
    job: Job, progress: Progress, learned: Learned, together: Floats
) -> tuple[Job, Progress, Learned]:
    """Align a sample from where its pictures lie together; keep what agrees better."""
    before = agreement(job, progress.transforms(job))
    # What was made ready to be sampled would be in memory twice.
    job.forget("full", "pixels", "contrast", "search", "rehearsal", "overview")
    give_back()
    request = replace(job.request, start=together, route="given", located=True)
    again, after = run_stages(Job(request, job.executor, job.observe))
    if after.over or agreement(again, after.transforms(again)) >= before:
        return job, progress, learned
    # Which starts were tried is what the first one has to tell.
    after = replace(after, attempts=progress.attempts, matches=progress.matches)
    return again, after, learn(again, after, learned.start, learned.origin)


def facts_of(sampled: Sampled, job: Job, progress: Progress) -> dict[str, Any]:
    """What a result says of its sample."""
    request = job.request
    assert progress.decomposition is not None
    assert progress.judgement is not None
    solution = progress.decomposition
    interrupted = solution.status is Status.STOPPED
    # Numbers of pictures are those of the batch.
    occluders = tuple(
        replace(one, pictures=tuple(int(sampled.indices[k]) for k in one.pictures))
        for one in progress.occluders
    )
    return {
        "singular_values": solution.singular_values,
        "objective": solution.objective,
        "gap": solution.proved_gap,
        "occluders": occluders,
        "status": outcome(progress),
        "stop_rule": "observer" if interrupted else progress.stop_rule,
        "trace": trace_of(progress, request.stack),
        "advice": advice(job, progress, progress.judgement),
        "method": request.method.name,
        "family": request.family.name,
        "version": __version__,
        "options": {
            **request.options,
            "gauge": sampled.gauge,
            "sample": len(sampled.indices),
        },
        "settings": request.settings.values(),
    }
