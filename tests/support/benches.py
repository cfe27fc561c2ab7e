"""A bench over the paced endpoint, as the rulers of a run are given one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pitstop.client.endpoint import Endpoint
from pitstop.engines.adapter import Capabilities
from pitstop.engines.registry import adapter_for
from pitstop.rulers.nonce import Nonces
from pitstop.rulers.ruler import Bench, Settings
from support.paced import PacedServer

QUICK = Settings(runs=3, max_tokens=40, pp=(400,), cases=("code/de/*",), request_timeout_s=20)


def bench_for(server: PacedServer, *, kind: str = "vllm", run_id: str = "run-1", **settings: Any) -> Bench:
    """A new run against `server`; every keyword is a setting that differs from `QUICK`."""
    return Bench(
        endpoint=Endpoint(server.base_url, server.site.model),
        adapter=adapter_for(kind),
        capabilities=Capabilities(metrics=True, context_tok=server.site.context_tok),
        settings=replace(QUICK, **settings),
        nonces=Nonces(1, run_id),
    )


def figure_of(result: Any, case: str, metric: str) -> Any:
    """The one figure of that case and metric."""
    [found] = [figure for figure in result.figures if (figure.case, figure.metric) == (case, metric)]
    return found
