"""`[gateway]`: the OpenAI-compatible front."""

from __future__ import annotations

from typing import Literal

import msgspec

from pitstop.core.config.defaults import duration, size
from pitstop.core.units import Duration, Size


class Sampling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sampling parameters for requests that do not bring their own; an explicit value of the client wins."""

    temperature: float | None = None  # for requests that name none
    top_p: float | None = None  # likewise
    top_k: int | None = None  # likewise
    min_p: float | None = None  # likewise
    presence_penalty: float | None = None  # likewise
    frequency_penalty: float | None = None  # likewise
    repetition_penalty: float | None = None  # likewise
    seed: int | None = None  # likewise
    stop: tuple[str, ...] | None = None  # likewise


class Route(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An alias that clients use as `model`, and what it stands for."""

    engine: str  # the engine behind it
    thinking_token_budget: int | None = None  # sent only to engines with `supports = ["thinking_token_budget"]`
    system_prompt: str = ""  # one leading system message, before the client's own
    fallback: str = ""  # a route
    max_tokens: int | None = None  # for requests that name none
    max_tokens_limit: int | None = None  # more is lowered to this
    sampling: Sampling = msgspec.field(default_factory=Sampling)
    chat_template_kwargs: dict[str, bool | int | float | str] = {}  # merged per key, the client's wins
    when_held: Literal["", "fallback", "hold", "refuse"] = ""  # empty: fallback where there is one, else hold
    hold_for: Duration = duration("15 min")  # the default boot_timeout: a big model needs that long to load
    first_byte_deadline: Duration = duration("2 min")  # of a stream: until its first event
    answer_deadline: Duration = duration("30 min")  # of a reply that is not streamed: until it is whole
    stall_deadline: Duration = duration("5 min")  # between two events of a stream
    max_in_flight: int | None = None  # at once on this route


class Gateway(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The front itself. Where it listens and TLS are read at the start, all else again on every reload."""

    listen: str = "127.0.0.1:8080"  # host:port; an address that is not loopback needs keys
    route: dict[str, Route] = {}
    metrics_listen: str = ""  # host:port for Prometheus; empty: none
    tls_certificate: str = ""  # PEM files; both or neither
    tls_key: str = ""  # the private key of the certificate
    max_body: Size = size("32 MiB")  # some pictures as base64
    max_header: Size = size("16 KiB")  # of one header line; at most 100 lines
    header_deadline: Duration = duration("30 s")  # also how long an idle connection is kept
    body_deadline: Duration = duration("60 s")  # for the whole body of a request
    max_in_flight: int = 2048  # at once in all; more is answered with 429
    max_held: int = 512  # requests that may wait at a held door
    keepalive_every: Duration = duration("10 s")  # between comments to a client that waits at a held door
    client_stall_deadline: Duration = duration("60 s")  # a client that reads nothing for so long is let go
    connect_deadline: Duration = duration("3 s")  # to an engine
    shed_below: Size | None = None  # free memory; empty: host.min_available, but at most a tenth of the memory
    eject_after: int = 3  # failures in a row
    eject_for: Duration = duration("10 s")  # doubled with every failed return, up to 16 times
    stop_deadline: Duration = duration("5 min")  # how long a graceful stop waits for streams
    accounting: bool = True  # a row per request in the ledger
    keep_accounts: Duration = duration("90 d")  # then a row is deleted
