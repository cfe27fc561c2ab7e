"""The quality ruler against an engine whose answers are known."""

from dataclasses import replace

import pytest

from pitstop.client.endpoint import Endpoint
from pitstop.core.config.quality import Quality
from pitstop.core.documents import Status
from pitstop.core.errors import EngineFailed
from pitstop.engines.adapter import Capabilities
from pitstop.engines.registry import adapter_for
from pitstop.rulers.nonce import Nonces
from pitstop.rulers.quality import outcome, ruler
from pitstop.rulers.quality.keys import CodeKey, NumberKey, ToolKey
from pitstop.rulers.quality.marking import Mark
from pitstop.rulers.quality.sandbox import SandboxFailed
from pitstop.rulers.quality.task_set import task_set
from pitstop.rulers.ruler import Bench, Settings
from support.answering_engine import HELLO, answering, calls, text
from support.benches import figure_of
from support.scripted_engine import engine
from support.solver import forms

RIGHT_CODE = "```python\ndef solved(): pass\n```"


@pytest.fixture(autouse=True)
def _a_sandbox_that_believes(monkeypatch):
    """What a real sandbox does is in tests/real; here code is right when it says so."""

    async def found(_settings):
        return object()

    async def marked(_key, answer, _box):
        return Mark("solved" in answer, answer, "" if "solved" in answer else "0 of 8 tests")

    monkeypatch.setattr(ruler, "find_sandbox", found)
    monkeypatch.setattr(outcome, "mark_code", marked)


def quality(**chosen):
    return Quality(**{"thinking": "off", "language": "en", **chosen})


def bench_at(served, *, cases=(), seed=1, context_tok=None, run_id="run", **chosen):
    settings = Settings(seed=seed, cases=cases, quality=quality(**chosen), request_timeout_s=20)
    return Bench(
        endpoint=Endpoint(served.base_url, "engine-model"), adapter=adapter_for("openai"),
        capabilities=Capabilities(context_tok=context_tok), settings=settings, thinking_switch="none",
        nonces=Nonces(seed, run_id),
    )  # fmt: skip


def right_answers(settings):
    """A function from a request to the right reply, for every task of these settings."""
    by_prompt = {one.prompt: one for one in task_set(settings).instances}

    def answer(body):
        user = next(message["content"] for message in body["messages"] if message["role"] == "user")
        one = by_prompt.get(user)
        if one is None:
            return HELLO
        if isinstance(one.key, CodeKey):
            return text("def solved(): pass")
        if isinstance(one.key, ToolKey):
            done = sum(message["role"] == "tool" for message in body["messages"])
            if done < len(one.key.calls):
                return calls((one.key.calls[done].name, dict(one.key.calls[done].arguments)))
            return text(forms(one.key.then, one.language)[0] if one.key.then else "Done.")
        return text(f"Answer: {forms(one.key, one.language)[0]}")

    return answer


async def measured(answer, **chosen):
    async with engine(answering(answer)) as served:
        result = await ruler.Quality().measure(bench_at(served, **chosen))
        return result, served


def settings_of(**chosen):
    return Settings(quality=quality(**chosen))


@pytest.mark.parametrize("language", ["en", "de", "both"])
async def test_right_answers_to_every_task_score_all_28(language):
    answer = right_answers(settings_of(language=language))
    result, served = await measured(answer, language=language)
    score = figure_of(result, "all", "score")
    assert {(one.task, one.reason) for one in result.tasks if one.outcome != "right"} == set()
    assert (score.value, score.status, score.detail["right"], score.detail["attempts"]) == (1.0, Status.OK, 28, 28)
    assert score.interval[0] < 0.9
    assert all(list(marks) == [1] for marks in score.detail["marks"].values())
    asked = [seen.json for seen in served.seen if "chat" in seen.line]
    assert {body["temperature"] for body in asked if body["max_tokens"] == 32_000} == {0.6}
    assert not any(message["role"] == "system" for body in asked[3:] for message in body["messages"])


async def test_each_kind_of_answer_has_an_outcome_of_its_own():
    said = {
        "math/en/addition": text("Answer: 12345"),
        "math/en/times": text("", reasoning="hm"),
        "math/en/shopping": text("I think so", finish="length"),
        "math/en/sequence": text("I'm sorry, but I can't help with that."),
        "math/en/equation": {"status": 500, "body": {"error": {"message": "broken"}}},
        "math/en/discount": text("", finish="content_filter", reasoning="x"),
        "code/en/scale": text("I will not write that."),
        "tools/en/right-tool": calls(("no_such_tool", {})),
        "tools/en/no-tool": calls(("send_mail", "{broken")),
        "tools/en/arguments": text("Booked!"),
    }
    by_prompt = {one.prompt: one.name for one in task_set(settings_of()).instances}
    right = right_answers(settings_of())

    def answer(body):
        name = by_prompt.get(body["messages"][0]["content"])
        return said.get(name) or right(body)

    result, _ = await measured(answer)
    outcomes = {one.task: one.outcome for one in result.tasks}
    assert {name: outcomes[name] for name in said} == {
        "math/en/addition": "wrong", "math/en/times": "empty", "math/en/shopping": "cut-off",
        "math/en/sequence": "refused", "math/en/equation": "failed", "math/en/discount": "refused",
        "code/en/scale": "wrong", "tools/en/right-tool": "malformed-tool-call",
        "tools/en/no-tool": "malformed-tool-call", "tools/en/arguments": "wrong",
    }  # fmt: skip
    assert figure_of(result, "all", "score").detail["right"] == 18
    assert figure_of(result, "all", "cut_off_share").detail["count"] == 1
    assert figure_of(result, "all", "malformed_tool_call_share").detail["count"] == 2
    assert all(one.reason for one in result.tasks if one.outcome != "right")
    [told] = [notice.text for notice in result.warnings if notice.code == "requests-failed"]
    assert "1 of 28 attempts failed" in told
    assert "broken" in told


async def test_a_right_answer_in_another_language_is_neither_right_nor_wrong():
    prose = (
        "Zuerst addieren wir die beiden Zahlen, dann prüfen wir das Ergebnis noch einmal, und am Ende schreiben wir es "
        "in die letzte Zeile, wie es verlangt war."
    )
    right = right_answers(settings_of())

    def answer(body):
        said = right(body)
        return {**said, "content": f"{prose}\n\n{said['content']}"} if "Answer" in said.get("content", "") else said

    result, _ = await measured(answer, cases=("math/en/addition",))
    assert [one.outcome for one in result.tasks] == ["wrong-language"]
    assert figure_of(result, "all", "score").value == 0


async def test_without_a_sandbox_the_coding_tasks_are_unavailable_and_it_is_said(monkeypatch):
    async def none(_settings):
        return "docker cannot be run: No such file or directory."

    monkeypatch.setattr(ruler, "find_sandbox", none)
    result, _ = await measured(right_answers(settings_of()))
    assert [one.outcome for one in result.tasks if one.task.startswith("code/")] == ["unavailable"] * 10
    score, code = figure_of(result, "all", "score"), figure_of(result, "code", "right_share")
    assert (score.status, score.detail["attempts"]) == (Status.UNVERIFIED, 18)
    assert (code.status, code.value) == (Status.UNAVAILABLE, None)
    assert "docker cannot be run" in code.reason
    assert "10 coding tasks are unavailable" in next(n.text for n in result.warnings if n.code == "no-sandbox")


async def test_without_a_sandbox_no_coding_task_is_asked_or_counted_however_it_would_have_ended(monkeypatch):
    """Were those that are cut off counted, only failures of code would count."""

    async def none(_settings):
        return "there is none."

    monkeypatch.setattr(ruler, "find_sandbox", none)
    asked = []

    def cut_off(body):
        asked.extend(message["content"] for message in body["messages"])
        return {**text("def"), "finish": "length"}

    result, _ = await measured(cut_off, cases=("code/*", "math/en/times"), repeats=2)
    assert {one.outcome for one in result.tasks if one.task.startswith("code/")} == {"unavailable"}
    assert len(result.tasks) == 22
    prompts = {one.prompt for one in result.tasks if one.task.startswith("code/")}
    assert not prompts & set(asked)
    score = figure_of(result, "all", "score")
    assert (score.status, score.detail["attempts"]) == (Status.UNVERIFIED, 2)


async def test_a_sandbox_that_fails_twice_judges_nobody(monkeypatch):
    tried = []

    async def failing(_key, answer, _box):
        tried.append(answer)
        raise SandboxFailed("the daemon is gone.")

    monkeypatch.setattr(outcome, "mark_code", failing)
    result, _ = await measured(right_answers(settings_of()), cases=("code/en/scale",))
    assert [one.outcome for one in result.tasks] == ["unavailable"]
    assert len(tried) == 2
    assert figure_of(result, "all", "score").status is Status.UNAVAILABLE


async def test_right_calls_without_the_answer_that_was_asked_for_are_empty():
    right = right_answers(settings_of())

    def silent(body):
        said = right(body)
        return said if "tool_calls" in said or said == HELLO else text("")

    result, _ = await measured(silent, cases=("tools/en/in-order",))
    assert [(one.outcome, one.reason) for one in result.tasks] == [
        ("empty", "its calls are right, and it ended without an answer")
    ]


async def test_repeats_are_drawn_with_seeds_of_their_own_and_counted_by_task():
    result, served = await measured(right_answers(settings_of()), repeats=3, cases=("math/en/times", "math/en/urn"))
    score = figure_of(result, "all", "score")
    assert {task: list(marks) for task, marks in score.detail["marks"].items()} == {
        "math/en/times": [1, 1, 1], "math/en/urn": [1, 1, 1],
    }  # fmt: skip
    assert score.detail["pass_at"] == {"1": 1.0, "2": 1.0, "3": 1.0}
    assert len(score.detail["replies"]) == 3
    seeds = [seen.json["seed"] for seen in served.seen if "chat" in seen.line and seen.json["max_tokens"] == 32_000]
    assert len(set(seeds)) == 6


async def test_two_runs_ask_the_same_and_draw_otherwise():
    bodies = []
    for run_id in ("one", "two"):
        _, served = await measured(right_answers(settings_of()), run_id=run_id)
        bodies.append([seen.json for seen in served.seen if "chat" in seen.line and seen.json["max_tokens"] == 32_000])
    one, two = bodies
    assert [body["messages"] for body in one] == [body["messages"] for body in two]
    assert all(a["seed"] != b["seed"] for a, b in zip(one, two, strict=True))


async def test_asking_in_parallel_sends_the_same_and_finds_the_same():
    found = {}
    for parallel in (1, 4):
        result, served = await measured(right_answers(settings_of()), parallel=parallel)
        sent = sorted(str(s.json) for s in served.seen if "chat" in s.line and s.json["max_tokens"] == 32_000)
        found[parallel] = (sent, [(one.task, one.outcome, one.reply_digest) for one in result.tasks])
    assert found[1] == found[4]


@pytest.mark.parametrize(("same", "word"), [(True, "changed none"), (False, "differed when they were asked at once")])
async def test_whether_this_server_answers_otherwise_in_parallel_is_tried_and_said(same, word):
    counter = iter(range(1000))
    right = right_answers(settings_of())

    def answer(body):
        if body["temperature"] == 0 and body["max_tokens"] == 128 and not same:
            return text(f"answer {next(counter)}")
        return right(body)

    result, _ = await measured(answer, parallel=3, cases=("math/*",))
    assert word in next(notice.text for notice in result.warnings if notice.code == "quality-parallel")


async def test_an_interrupted_run_goes_on_with_what_is_missing():
    kept = []
    right = right_answers(settings_of())
    count = iter(range(1000))

    def until_it_dies(body):
        return right(body) if next(count) < 12 else None

    async with engine(answering(until_it_dies)) as served:
        bench = replace(bench_at(served), keep=kept.append)
        await ruler.Quality().measure(bench)
    done = [one for one in kept if one.outcome == "right"]
    async with engine(answering(right)) as served:
        result = await ruler.Quality().measure(replace(bench_at(served), answered=tuple(done), keep=kept.append))
        asked = {seen.json["messages"][0]["content"] for seen in served.seen if "chat" in seen.line}
    assert not asked & {one.prompt for one in done}
    assert figure_of(result, "all", "score").detail["right"] == 28


async def test_an_engine_that_is_gone_ends_the_run_and_its_silence_is_no_answer():
    kept = []
    right = right_answers(settings_of())
    async with engine(answering(right)) as served:
        count = iter(range(1000))
        script = served.script

        async def dying(seen, wire):
            if next(count) == 8:
                await served.stop()
            await script(seen, wire)

        served.script = dying
        with pytest.raises(EngineFailed, match="stopped answering"):
            await ruler.Quality().measure(replace(bench_at(served), keep=kept.append))
    assert {one.outcome for one in kept} == {"right"}


@pytest.mark.parametrize("parallel", [1, 4])
async def test_what_an_engine_broke_off_when_it_died_is_asked_again_and_a_crash_that_it_survives_is_not(parallel):
    kept = []
    right = right_answers(settings_of())
    async with engine(answering(right)) as served:
        count = iter(range(1000))
        script = served.script

        async def crashing(seen, wire):
            number = next(count)
            if number == 6:
                wire.cut()
                return
            if number == 14:
                await served.stop()
            await script(seen, wire)

        served.script = crashing
        with pytest.raises(EngineFailed, match="stopped answering"):
            await ruler.Quality().measure(replace(bench_at(served, parallel=parallel), keep=kept.append))
    assert [one.outcome for one in kept].count("failed") == 1
    async with engine(answering(right)) as served:
        bench = replace(bench_at(served, parallel=parallel), answered=tuple(kept), keep=kept.append)
        result = await ruler.Quality().measure(bench)
    assert [one.outcome for one in result.tasks].count("right") == 27


async def test_a_server_that_takes_no_seed_is_asked_without():
    right = right_answers(settings_of())

    def answer(body):
        if "seed" in body:
            return {"status": 400, "body": {"error": {"message": "unknown field: seed"}}}
        return right(body)

    result, _ = await measured(answer, cases=("math/*",))
    assert figure_of(result, "all", "score").value == 1.0
    assert any(notice.code == "quality-seed" for notice in result.warnings)


async def test_a_context_that_is_too_small_shortens_the_budget_and_it_is_said():
    result, served = await measured(right_answers(settings_of()), context_tok=4096, cases=("math/*",))
    asked = [seen.json["max_tokens"] for seen in served.seen if "chat" in seen.line][3:]
    assert all(2000 < budget < 4096 for budget in asked)
    assert any(notice.code == "quality-budget" for notice in result.warnings)


@pytest.mark.parametrize("parallel", [1, 3])
async def test_a_context_that_is_told_with_a_refusal_shortens_the_budget_once_and_it_is_said(parallel):
    right = right_answers(settings_of())
    refused = []

    def answer(body):
        if body["max_tokens"] > 4000:
            refused.append(body)
            said = "This model's maximum context length is 4096 tokens. However, you requested 32050 tokens."
            return {"status": 400, "body": {"error": {"message": said}}}
        return right(body)

    result, _ = await measured(answer, cases=("math/*",), parallel=parallel)
    assert figure_of(result, "all", "score").value == 1.0
    assert len(refused) <= parallel
    assert [notice.code for notice in result.warnings].count("quality-budget") == 1


@pytest.mark.parametrize(
    ("field", "message", "code"),
    [
        ("temperature", "Unsupported parameter: 'temperature' is not supported with this model.", "no-temperature"),
        ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", ""),
    ],
)
async def test_a_server_that_refuses_a_field_of_every_request_is_asked_without(field, message, code):
    right = right_answers(settings_of())

    def answer(body):
        return {"status": 400, "body": {"error": {"message": message}}} if field in body else right(body)

    result, _ = await measured(answer, cases=("math/*",))
    assert figure_of(result, "all", "score").value == 1.0
    assert ("no-temperature" in {notice.code for notice in result.warnings}) is bool(code)
    assert {one.detail.get("request") for one in result.figures} == {"without temperature" if code else None}


async def test_cases_that_fit_no_task_say_so():
    result, _ = await measured(right_answers(settings_of()), cases=("prose/*",))
    assert figure_of(result, "all", "score").status is Status.UNAVAILABLE


async def test_a_model_that_never_stops_calling_tools_is_stopped():
    def answer(body):
        tool = next(
            (t["function"]["name"] for t in body.get("tools", ()) if t["function"]["name"] == "get_weather"), ""
        )
        return calls((tool, {"city": "Nowhere"})) if tool else HELLO

    result, served = await measured(answer, cases=("tools/en/no-tool",))
    assert [one.outcome for one in result.tasks] == ["wrong"]
    assert len([seen for seen in served.seen if "chat" in seen.line]) <= 6


def test_the_number_key_of_the_tool_tasks_can_be_said():
    assert all(
        isinstance(one.key.then, NumberKey | type(None))
        for one in task_set(settings_of()).instances
        if isinstance(one.key, ToolKey)
    )
