"""Run by the Python that has the official clients: `BASE_URL KEY`. Prints one JSON line of what came back.

The route `mid` is a real engine; `tools` one that calls the tool it was given, which the small model cannot.
"""

import json
import sys

import anthropic
import openai

root, key = sys.argv[1:]
model = "mid"
MESSAGES = [{"role": "user", "content": "What is the weather in Berlin? Use the tool."}]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Weather", "parameters": PARAMETERS}}


def with_openai():
    client = openai.OpenAI(base_url=f"{root}/v1", api_key=key, max_retries=0)
    whole = client.chat.completions.create(model=model, messages=MESSAGES, max_tokens=4)
    events = list(client.chat.completions.create(model=model, messages=MESSAGES, max_tokens=4, stream=True))
    counted = list(
        client.chat.completions.create(
            model=model, messages=MESSAGES, max_tokens=4, stream=True, stream_options={"include_usage": True}
        )
    )
    asked = {"model": "tools", "messages": MESSAGES, "tools": [TOOL]}
    tool = client.chat.completions.create(**asked)
    tool_events = list(client.chat.completions.create(**asked, stream=True))
    arguments = [event.choices[0].delta.tool_calls[0].function.arguments for event in tool_events[1:3]]
    completion = client.completions.create(model=model, prompt="One, two,", max_tokens=4)
    response = client.responses.create(model=model, input="Hello", max_output_tokens=4)
    kinds = [
        event.type for event in client.responses.create(model=model, input="Hello", max_output_tokens=4, stream=True)
    ]
    return {
        "models": [entry.id for entry in client.models.list()],
        "tokens": whole.usage.completion_tokens,
        "choices_in_every_event": all(event.choices for event in events),
        "usage_hidden": all(event.usage is None for event in events),
        "usage_shown": counted[-1].usage.completion_tokens,
        "tool": tool.choices[0].message.tool_calls[0].function.name,
        "tool_streamed": json.loads("".join(arguments)),
        "completion": completion.usage.completion_tokens,
        "response": response.usage.output_tokens,
        "response_stream": (kinds[0], kinds[-1]),
    }


def with_anthropic():
    client = anthropic.Anthropic(base_url=root, api_key=key, max_retries=0)
    whole = client.messages.create(model=model, messages=MESSAGES, max_tokens=4)
    with client.messages.stream(model=model, messages=MESSAGES, max_tokens=4) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    tool = {"name": "get_weather", "description": "Weather", "input_schema": PARAMETERS}
    used = client.messages.create(model="tools", messages=MESSAGES, max_tokens=64, tools=[tool])
    return {
        "models": [entry.id for entry in client.models.list()],
        "tokens": whole.usage.output_tokens,
        "text": bool(text),
        "streamed_tokens": final.usage.output_tokens,
        "tool": next((block.name for block in used.content if block.type == "tool_use"), None),
    }


def errors():
    found = {}
    for name, wrong in (("key", {"api_key": "pit-000000000000-x"}), ("model", {"api_key": key})):
        client = openai.OpenAI(base_url=f"{root}/v1", max_retries=0, **wrong)
        try:
            client.chat.completions.create(model="nobody", messages=MESSAGES)
        except openai.APIStatusError as error:
            found[name] = type(error).__name__
    try:
        anthropic.Anthropic(base_url=root, api_key="x", max_retries=0).messages.create(
            model=model, messages=MESSAGES, max_tokens=4
        )
    except anthropic.APIStatusError as error:
        found["anthropic_key"] = type(error).__name__
    return found


sys.stdout.write(json.dumps({"openai": with_openai(), "anthropic": with_anthropic(), "errors": errors()}) + "\n")
