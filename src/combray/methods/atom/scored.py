"""Facts in order: those that the walk comes to, then the others by how like the query they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from combray.index.topk import best
from combray.index.walk import walk
from combray.methods.atom.asked import Asked
from combray.methods.atom.graph import Terrain, reached, transitions
from combray.methods.atom.params import AtomParams
from combray.methods.atom.seeds import seeds

_OUTSIDE = -2.0
"""Added to S_h of a fact that does not fit the query's people or time: less than any that fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The facts of a bank with what speaks for them.

    Attributes:
        asked: the query.
        walked: share of the walker's time, 0 for what it does not come to, shape (n,).
        event: best score of an event that led to the fact, 0 without, shape (n,).
    """

    asked: Asked
    walked: NDArray[np.float64]
    event: NDArray[np.float64]

    def best(self, n: int, *, beyond: bool) -> NDArray[np.int64]:
        """Rows of the best facts: walked to, then those that fit, and beyond them the others; ties by S_h, then by row."""
        score = self.asked.like.score
        near = np.flatnonzero(self.walked > 0)
        found = near[np.lexsort((near, -score[near], -self.walked[near]))][:n]
        rest = self.asked.open & (self.walked == 0)
        tiers = [rest & self.asked.fits, *([rest & ~self.asked.fits] if beyond else [])]
        for tier in tiers:
            found = np.concatenate([found, best(score, tier, n - len(found))])
        return found

    def contributions(
        self, rows: NDArray[np.int64], params: AtomParams
    ) -> dict[str, NDArray[np.float64]]:
        """What makes up the score of each of the rows; falls along `best`."""
        like, walked = self.asked.like, self.walked[rows] > 0
        return {
            "walk": np.where(walked, 1.0 + self.walked[rows], 0.0),
            "cosine": np.where(walked, 0.0, params.cosine_weight * like.cosine[rows]),
            "keyword": np.where(walked, 0.0, params.keyword_weight * like.keyword[rows]),
            "outside": np.where(walked | self.asked.fits[rows], 0.0, _OUTSIDE),
        }

    def channels(self, rows: NDArray[np.int64]) -> Mapping[str, NDArray[np.float64]]:
        """The raw scores of each of the rows."""
        like = self.asked.like
        return {
            "walk": self.walked[rows],
            "cosine": like.cosine[rows],
            "keyword": like.keyword[rows],
            "event": self.event[rows],
        }


def scored(asked: Asked, params: AtomParams) -> Scored:
    """The facts that a walk comes to from those that the query finds.

    Source:
        AtomMem, section 3.4 and appendix A.3.  Without `AtomParams.graph` the seeds have their restart chances ("w/o graph").
    """
    found = seeds(asked.view, asked.like, asked.fits, asked.events, params)
    walked = np.zeros(asked.view.n)
    if len(found.rows):
        walked[found.rows] = found.restart(params)
    if len(found.rows) and params.graph:
        walked = _walked(asked, found.rows, walked, params)
    return Scored(asked=asked, walked=walked, event=found.event)


def _walked(
    asked: Asked, rows: NDArray[np.int64], start: NDArray[np.float64], params: AtomParams
) -> NDArray[np.float64]:
    terrain = Terrain.of(
        asked.view,
        asked.evidence.view,
        usable=asked.reachable,
        counted=asked.holds,
        keywords=asked.intent.keywords,
        params=params,
    )
    nodes = reached(terrain, rows)
    shares = np.zeros(len(start))
    shares[nodes] = walk(
        transitions(terrain, nodes),
        start[nodes] / start[nodes].sum(),
        restart=params.restart,
        iterations=params.iterations,
        tolerance=params.tolerance,
    )
    return shares
