"""Whether two trainings went the same way."""

from __future__ import annotations

import math
from typing import Sequence


def worst_difference(losses: Sequence[object], reference: Sequence[object], least: float = 1e-6) -> float:
    """The largest relative difference of two losses of one step, none of them taken as smaller than `least`. Infinite
    where one is missing or not finite, which JSON has as null or a text."""
    if not losses or len(losses) != len(reference):
        return math.inf
    worst = 0.0
    for pair in zip(losses, reference):
        if not all(isinstance(loss, (int, float)) and math.isfinite(loss) for loss in pair):
            return math.inf
        worst = max(worst, abs(pair[0] - pair[1]) / max(abs(pair[0]), abs(pair[1]), least))
    return worst
