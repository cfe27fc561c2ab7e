import contextlib
from dataclasses import replace

import pytest

from pitstop.core.errors import RequestRefused, Unreachable
from pitstop.rulers.asking import Asker, Wish, messages_with
from pitstop.rulers.decode import Decode
from pitstop.rulers.ruler import Settings
from support.benches import bench_for
from support.paced import PacedServer, Site, _error
from support.script import Pace

FAST = Pace(rate_tok_s=1000, ttft_s=0.005)


class NoSystem(PacedServer):
    """A template such as Gemma's: no system role."""

    status = 400

    def _chat(self, connection, request, now):
        if request["messages"][0]["role"] == "system":
            return self._whole(connection, self.status, _error("System role not supported"))
        return super()._chat(connection, request, now)


class NoSystemTemplate(NoSystem):
    """The same as llama.cpp says it: the template throws, which is a 500."""

    status = 500


@pytest.mark.parametrize("kind", [NoSystem, NoSystemTemplate])
async def test_where_system_messages_are_refused_the_nonce_opens_the_user_message(kind):
    with kind(FAST) as server:
        async with Asker(bench_for(server), "decode") as asker:
            reply = await asker.ask("c", Wish("Question", max_tokens=8))
    assert reply.ok
    [message] = server.requests[-1]["messages"]
    assert message["role"] == "user"
    assert message["content"][:16].isdigit()
    assert message["content"].endswith("\n\nQuestion")


@pytest.mark.parametrize("kind", [NoSystem, NoSystemTemplate])
async def test_a_refused_system_message_costs_no_per_event_counts(kind):
    with kind(FAST) as server:
        async with Asker(bench_for(server), "decode") as asker:
            reply = await asker.ask("c", Wish("Question", max_tokens=8))
    assert reply.decode.exact


async def test_the_hello_is_said_once_a_run():
    with PacedServer(FAST) as server:
        bench = bench_for(server)
        for ruler in ("decode", "prefill"):
            async with Asker(bench, ruler) as asker:
                await asker.ask("c", Wish("Question", max_tokens=2))
    assert len(server.requests) == 3


async def test_what_was_agreed_is_handed_to_the_next_ruler():
    with PacedServer(Pace(rate_tok_s=1000, ttft_s=0.005, options="no-continuous")) as server:
        bench = bench_for(server)
        async with Asker(bench, "decode"):
            pass
        before = len(server.requests)
        async with Asker(bench, "prefill") as asker:
            await asker.ask("c", Wish("Question", max_tokens=2))
    assert len(server.requests) == before + 1


async def test_two_runs_with_the_same_seed_send_no_prompt_twice():
    with PacedServer(FAST) as server:
        for run_id in ("arm-a", "arm-b"):
            await Decode().measure(bench_for(server, run_id=run_id, max_tokens=4))
    per_run = len(server.requests) // 2
    first, second = (
        {str(r["messages"]) for r in part} for part in (server.requests[:per_run], server.requests[per_run:])
    )
    assert not first & second


async def test_a_run_can_be_sent_again_byte_for_byte():
    sent = []
    for _ in range(2):
        with PacedServer(FAST) as server:
            await Decode().measure(bench_for(server, run_id="same", max_tokens=4))
        sent.append(server.requests)
    assert sent[0] == sent[1]


async def test_a_wrong_key_or_model_ends_the_run_and_not_one_figure():
    with PacedServer(FAST, Site(api_key="right")) as server, pytest.raises(RequestRefused, match="API key"):
        await Decode().measure(bench_for(server))
    with PacedServer(FAST) as server:
        bench = bench_for(server)
        server.site.model = "other"
        with pytest.raises(RequestRefused, match="paced"):
            await Decode().measure(bench)


async def test_nothing_that_listens_makes_figures_that_say_so():
    with PacedServer(FAST) as server:
        bench = bench_for(server)
    result = await Decode().measure(bench)
    assert result.figures
    assert all(figure.value is None and "failed" in figure.reason for figure in result.figures)


CASES = [
    (Wish("U", 1), {"in_user": False, "system_refused": False}, [("system", "N"), ("user", "U")]),
    (Wish("U", 1, system="S"), {"in_user": False, "system_refused": False}, [("system", "N\n\nS"), ("user", "U")]),
    (Wish("U", 1), {"in_user": True, "system_refused": False}, [("user", "N\n\nU")]),
    (Wish("U", 1, system="S"), {"in_user": True, "system_refused": False}, [("system", "S"), ("user", "N\n\nU")]),
    (Wish("U", 1, system="S"), {"in_user": True, "system_refused": True}, [("user", "N\n\nS\n\nU")]),
]


@pytest.mark.parametrize(("wish", "where", "expected"), CASES)
def test_where_nonce_system_prompt_and_question_go(wish, where, expected):
    assert [(m["role"], m["content"]) for m in messages_with("N", wish, **where)] == expected


async def test_a_server_that_is_still_loading_teaches_nothing():
    class Loading(PacedServer):
        loading = True

        def _chat(self, connection, request, now):
            if self.loading:
                return self._whole(connection, 503, _error("Loading model", code=503))
            return super()._chat(connection, request, now)

    with Loading(Pace(rate_tok_s=1000, ttft_s=0.005, reasoning=10**6)) as server:
        bench = bench_for(server, max_tokens=8)
        early = await Decode().measure(bench)
        assert "thinking-unknown" in {notice.code for notice in early.warnings}
        assert all("503" in figure.reason for figure in early.figures)
        server.loading = False
        later = await Decode().measure(bench)
    assert {figure.case for figure in later.figures} == {"code/de/think-on"}
    assert "thinking-always" in {notice.code for notice in later.warnings}


class Wedged(PacedServer):
    """It lists its models and takes every request; after so many it answers none."""

    answers = 0

    def __init__(self, *how):
        super().__init__(*how)
        self.held = contextlib.ExitStack()

    def _chat(self, connection, request, now):
        if len(self.requests) <= self.answers:
            super()._chat(connection, request, now)
        else:
            self.held.enter_context(connection)

    def __exit__(self, *why):
        super().__exit__(*why)
        self.held.close()


async def test_a_server_that_takes_requests_and_answers_none_is_given_up_at_the_hello(monkeypatch):
    monkeypatch.setattr("pitstop.rulers.asking.HELLO_S", 0.2)
    with Wedged(FAST) as server, pytest.raises(Unreachable, match="takes requests and does not answer"):
        async with Asker(bench_for(server), "decode"):
            pass
    assert len(server.requests) == 1


async def test_one_that_wedges_in_the_middle_is_given_up_after_one_request_and_a_hello(monkeypatch):
    monkeypatch.setattr("pitstop.rulers.asking.HELLO_S", 0.2)

    with Wedged(FAST) as server:
        server.answers = 1
        bench = replace(bench_for(server), settings=Settings(request_timeout_s=0.3))
        async with Asker(bench, "decode") as asker:
            with pytest.raises(Unreachable, match="does not answer"):
                await asker.ask("c", Wish("Question", max_tokens=8))
    assert [record.case for record in asker.result.requests] == ["hello", "c", "hello"]
