"""The mark that every process of an engine carries in its environment, so that it is found even without a record."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

ENGINE = "PITSTOP_ENGINE"
HOME = "PITSTOP_ENGINE_HOME"  # two state folders may both have an engine of this name
LAUNCH = "PITSTOP_LAUNCH"
FINGERPRINT = "PITSTOP_FINGERPRINT"


@dataclass(frozen=True)
class Mark:
    """Which launch a process belongs to."""

    engine: str
    home: str
    launch: str
    fingerprint: str

    @classmethod
    def new(cls, engine: str, home: str, fingerprint: str) -> Mark:
        return cls(engine, home, secrets.token_hex(8), fingerprint)

    @classmethod
    def read(cls, environ: Mapping[str, str] | None) -> Mark | None:
        """The mark in an environment, or None."""
        if not environ or ENGINE not in environ:
            return None
        return cls(environ[ENGINE], environ.get(HOME, ""), environ.get(LAUNCH, ""), environ.get(FINGERPRINT, ""))

    def belongs_to(self, engine: str, home: str) -> bool:
        return self.engine == engine and self.home == home

    def as_environ(self) -> dict[str, str]:
        return {ENGINE: self.engine, HOME: self.home, LAUNCH: self.launch, FINGERPRINT: self.fingerprint}
