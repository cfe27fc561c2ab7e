"""The parts that all launch values share: arguments and environment with the knobs turned, secrets set apart. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pitstop.core.config.engine import OFF, Engine, Knob, SystemdLaunch
from pitstop.core.errors import UsageError
from pitstop.core.secrets import digest, is_secret
from pitstop.launch.launcher import NOT_SET

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLACEHOLDER = re.compile(r"\{(port|python|value)\}")


class Draft:
    """The parts that all launchers share: arguments and environment with the knobs turned."""

    def __init__(
        self,
        name: str,
        engine: Engine,
        settings: Mapping[str, str],
        words: Mapping[str, str],
        environ: Mapping[str, str],
    ) -> None:
        assert engine.launch is not None
        self.name, self.settings, self._words, self._environ = name, settings, words, environ
        self._unit = isinstance(engine.launch, SystemdLaunch)
        self.is_variant = False
        self.args: tuple[str, ...] = ()
        self.env: dict[str, str] = {}
        self.secret_env: dict[str, str] = {}
        self.secret_digests: dict[str, str] = {}
        for key, value in engine.launch.env.items():
            self._set(key, value)
        for knob_name, knob in engine.knob.items():
            self._turn(knob, settings[knob_name])

    def filled(self, words: tuple[str, ...], value: str | None = None) -> tuple[str, ...]:
        """Fill in `{port}`, `{python}` and `{value}`; every other brace stays as it is."""
        known = dict(self._words) if value is None else {**self._words, "value": value}
        return tuple(_PLACEHOLDER.sub(lambda match: known.get(match[1], match[0]), word) for word in words)

    def _turn(self, knob: Knob, value: str) -> None:
        if knob.args and value != OFF:
            self.args += self.filled(knob.args, value)
        # A default of "off" leaves the variable to the script's own default; turned to "off" by hand, it says so.
        # A unit keeps its defaults in its own file: only what is turned is written beside it.
        untold = value == knob.default and (value == OFF or self._unit)
        if knob.env and not untold:
            self._refuse_secret_knob(knob.env, value)
            self._set(knob.env, value)

    def _refuse_secret_knob(self, key: str, value: str) -> None:
        """What is turned is printed, compared and journaled: that is no place for a secret."""
        if is_secret(key, value) and REFERENCE.fullmatch(value) is None:
            raise UsageError(
                f"engine {self.name}: a knob cannot carry the secret {key}.",
                hint=f'Put {key} = "${{{key}}}" into [engine.{self.name}.launch.env] and export it.',
            )

    def _set(self, key: str, value: str) -> None:
        reference = REFERENCE.fullmatch(value)
        source = reference[1] if reference else key
        if is_secret(key, value):
            self.secret_env[key] = source
            known = self._environ.get(source) if reference else value
            self.secret_digests[key] = digest(self.name, key, known) if known is not None else NOT_SET
        elif reference is None:
            self.env[key] = self.filled((value,))[0]
        elif source not in self._environ:
            raise UsageError(
                f"engine {self.name} takes {key} from ${{{source}}}, which is not set in the environment.",
                hint=f"Export {source}, or write its value in [engine.{self.name}.launch.env].",
            )
        elif is_secret(source, self._environ[source]):
            self.secret_env[key] = source
            self.secret_digests[key] = digest(self.name, key, self._environ[source])
        else:
            self.env[key] = self._environ[source]
