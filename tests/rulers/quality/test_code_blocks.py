"""Code is found with and without fences, and prose is not code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.rulers.quality.code_blocks import code_for, defines

BODY = "def f(n):\n    return n + 1"


@pytest.mark.parametrize(
    "reply",
    [
        BODY,
        f"```python\n{BODY}\n```",
        f"```\n{BODY}\n```",
        f"~~~py\n{BODY}\n~~~",
        f"Sure!\n\n```Python\n{BODY}\n```\n\nThis adds one.",
        f"Here it is:\n\n{BODY}\n\nIt adds one to n.",
        f"<think>\n```python\ndef f(n): return 0\n```\n</think>\n```python\n{BODY}\n```",
        f"```python\ndef f(n):\n    return 0\n```\nBetter:\n```python\n{BODY}\n```",
        f"```python\nimport math\n```\nand\n```python\n{BODY}\n```",
        f"```bash\npip install x\n```\n```python\n{BODY}\n```",
        f"```python\n{BODY}",
        f"  ```python\n  {BODY.replace(chr(10), chr(10) + '  ')}\n  ```",
        "```python\nf = lambda n: n + 1\n```",
        f"```python\nprint(1)\n```\n```python\n{BODY}\n```\n```text\n2\n```",
        f"You want:\n```python\nf(1) == 2\n```\nSo:\n```python\n{BODY}\n```",
        f"```python\n{BODY}\n```\nUse it:\n```python\nfrom solution import f\nprint(f(1))\n```",
        "```python\ndef f(n):\n    return g(n)\n```\nwith\n```python\ndef g(n):\n    return n + ONE\n\nONE = 1\n```",
        f"```python\nONE = 1\n```\n```python\nfrom __future__ import annotations\n{BODY.replace('1', 'ONE')}\n```",
        f"```python\n{BODY}``` This adds one.",
        f"```python\n{BODY}\n``` This adds one.\nBye.",
        f"```python\n{BODY}```\nThis adds one.",
        '```python\ndef f(n):\n    """\n    ```\n    f(1)\n    ```\n    """\n    return n + 1\n```',
        f"```python\n{BODY}\n\nThis adds one.\n```",
        f"Here it is:\n\n    {BODY.replace(chr(10), chr(10) + '    ')}\n\nIt adds one.",
        f"a = 1 is not it\nb = 2 neither\nc = 3\nd = 4 no\n\n{BODY}\n\nThanks",
        f"```python\r\n{BODY.replace(chr(10), chr(13) + chr(10))}\r\n```\r\n",
        f"\ufeff```python\n{BODY.replace('    ', chr(160) * 4)}\n```",
        f"> ```python\n> {BODY.replace(chr(10), chr(10) + '> ')}\n> ```",
        "```python\n>>> def f(n):\n...     return n + 1\n```",
        "```python\ntry:\n    import nothing_there\nexcept ImportError:\n    def f(n):\n        return n + 1\n```",
        "```python\nf: object = lambda n: n + 1\n```",
        "I would write `f = lambda n: n + 1`.",
    ],
)
def test_the_function_is_found(reply):
    space = {}
    exec(code_for(reply, "f"), space)
    assert space["f"](1) == 2


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I would add one to n.",
        "```python\ndef g(n):\n    return n\n```",
        "```python\ndef f(n) return n\n```",
        "def f(n)",
        "```python\nclass A:\n    def f(self, n):\n        return n\n```",
        "<think>```python\ndef f(n): return 1\n```",
        "```python\nfrom solution import f\n```",
        "```python\nfrom nothing.at.all\ndef f(n):\n    return n + 1\n```",
        "```python\ndef f(n):\n    return n + 1\n\nprint(f(1)\n```",
        "```python\nif __name__ == '__main__':\n    f = 1\n```",
        "class A:\n    def f(self, n):\n        return n\n",
    ],
)
def test_what_does_not_define_it_is_no_code(reply):
    assert code_for(reply, "f") == ""


@given(st.text(max_size=400))
def test_nothing_that_is_said_breaks_the_search(text):
    assert code_for(text, "f") == "" or defines(code_for(text, "f"), "f")


@pytest.mark.parametrize(
    "text",
    [
        "```" * 30_000,
        "def f(n):\n" * 10_000,
        "(" * 50_000,
        "x = " * 20_000,
        "\n".join(["def f(n):", *["  -"] * 30_000]),
        "f = 1\n" * 30_000,
        "```python\nf = 1\n```\n" * 3_000,
        "```python\nf = g1\n```\n" + "".join(f"```python\ng{i} = g{i + 1}\n```\n" for i in range(2_000)),
        "```python\nif f:\n  1\n" + "elif f:\n  1\n" * 900 + "f = 1\n```",
        "`f = 1" * 20_000,
        "`f = (`" * 20_000,
    ],
)
def test_a_hostile_reply_is_searched_in_a_moment(text):
    code_for(text, "f")


def test_code_that_warns_says_nothing_here(recwarn):
    code_for("```python\ndef f(n):\n    return '\\d' is n\n```", "f")
    assert not recwarn.list
