"""Boots that gave no figure are results of their arm, not missing data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pitstop.core.documents import Verdict
from pitstop.stats.judgement import Judgement, undecided


@dataclass(frozen=True)
class Failures:
    """Boots that gave no figure. They are results of their arm: survivors alone may not speak for it."""

    production: int
    variant: int

    def weigh(self, judgement: Judgement) -> Judgement:
        """Hold back a verdict that the survivors give in favour of the arm that failed more often."""
        if self.production == self.variant == 0:
            return judgement
        text = f"{judgement.reason}; {self._words()}"
        favoured = Verdict.BETTER if self.variant > self.production else Verdict.WORSE
        held_back = self.variant != self.production and judgement.verdict in (favoured, Verdict.EQUIVALENT)
        if not held_back:
            return replace(judgement, reason=text)
        return replace(
            judgement, verdict=Verdict.UNDECIDED, reason=f"{text}, so what the rest showed cannot count for that arm"
        )

    def of_everything(self, blocks: int) -> Judgement:
        """No block has both figures. Twice or more without one figure, where the other arm always had one, decides."""
        if blocks >= 2 and blocks in (self.production, self.variant) and 0 in (self.production, self.variant):
            verdict = Verdict.WORSE if self.variant else Verdict.BETTER
            return replace(undecided(self._words(), blocks=0), verdict=verdict)
        return undecided(self._words() if blocks else "nothing was measured", blocks=0)

    def _words(self) -> str:
        return f"boots without a figure: {self.variant} of the variant, {self.production} of production"
