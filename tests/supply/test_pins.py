"""Pins of configured engines against registries, and images that only this machine knows."""

import stat

import pytest

from pitstop.core.config.load import parse
from pitstop.core.config.pins import Pins
from pitstop.core.errors import Unreachable, UsageError
from pitstop.supply.pins import Supply, check, digests_of, mirror, resolve
from pitstop.supply.reference import parse_reference
from pitstop.supply.skopeo import copy_argv
from support.fake_registry import FakeRegistry, index, missing, serving

A, B = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def engines(**images):
    text = "".join(
        f'[engine.{name}]\nkind="vllm"\nmodel="m"\nbase_url="http://127.0.0.1:1/v1"\n'
        f'[engine.{name}.launch]\nwith="docker"\nname="{name}"\nimage="{image}"\n'
        for name, image in images.items()
    )
    return parse(text).engine


def supply(environ=None, **more):
    return Supply(Pins(platform="linux/arm64", **more), environ or {"PATH": "/nowhere"})


def fake_docker(folder, said, code=0):
    """A docker that answers one question only."""
    script = folder / "docker"
    script.write_text(f"#!/bin/sh\n[ \"$1 $2\" = 'image inspect' ] || exit 99\ncat <<'END'\n{said}\nEND\nexit {code}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


async def test_every_engine_is_judged_by_itself():
    registry = FakeRegistry()
    both = registry.put("multi", index(linux_amd64=A, linux_arm64=B))
    amd = registry.put("amd", index(linux_amd64=A))
    registry.put("moved", index(linux_arm64=B))
    registry.answer = lambda request: missing() if request.path.endswith("/gone") else None
    async with serving(registry):
        here = f"127.0.0.1:{registry.port}/o/r"
        found = await check(
            engines(
                match=f"{here}:multi@{both}", entry=f"{here}:multi@{B}", wrong=f"{here}:amd@{amd}",
                moved=f"{here}:moved@{A}", gone=f"{here}:gone@{both}", digest=f"{here}@{both}",
                lost=f"{here}@{A}", odd="NO/Reference@x", down=f"127.0.0.1:1/o/r:t@{A}",
            ),
            supply(),
        )  # fmt: skip
    assert {one.engine: one.status for one in found} == {
        "match": "match", "entry": "match-platform", "wrong": "wrong-platform", "moved": "moved", "gone": "gone",
        "digest": "match", "lost": "gone", "odd": "unverifiable", "down": "unknown",
    }  # fmt: skip
    assert {one.engine for one in found if one.upstream_digest} == {"match", "entry", "wrong", "moved", "digest"}


async def test_a_copy_is_judged_by_its_original():
    upstream, copy = FakeRegistry(), FakeRegistry()
    digest = upstream.put("v1", index(linux_arm64=B))
    copy.put("v1", index(linux_arm64=B))
    async with serving(upstream), serving(copy):
        image = f"127.0.0.1:{copy.port}/o/r:v1@{digest}"
        settings = supply(mirror=f"127.0.0.1:{copy.port}", upstream={"q": f"127.0.0.1:{upstream.port}/o/r"})
        upstream.put("v1", index(linux_arm64=A))
        (found,) = await check(engines(q=image), settings)
    assert found.status == "moved"
    assert upstream.requests
    assert not copy.requests


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ('[{"Id":"sha256:1","RepoDigests":null}]', "unverifiable"),
        ('[{"Id":"sha256:1","RepoDigests":[]}]', "unverifiable"),
        ('[{"Id":"sha256:1"}]', "unverifiable"),
        ('[{"Id":"sha256:1","RepoDigests":["HERE@A"]}]', "moved"),
        ('[{"Id":"sha256:1","RepoDigests":["HERE@NOW","HERE@NOW"]}]', "match"),
        ('[{"Id":"sha256:1","RepoDigests":["HERE@A","HERE@NOW"]}]', "match"),
        ('[{"Id":"sha256:1","RepoDigests":["elsewhere/o/r@NOW"]}]', "unverifiable"),
    ],
)
async def test_an_image_without_a_pin_is_judged_by_what_this_machine_knows(tmp_path, said, status):
    registry = FakeRegistry()
    now = registry.put("v1", index(linux_arm64=B))
    async with serving(registry):
        here = f"127.0.0.1:{registry.port}/o/r"
        environ = fake_docker(tmp_path, said.replace("HERE", here).replace("NOW", now).replace("@A", f"@{A}"))
        (found,) = await check(engines(q=f"{here}:v1"), supply(environ))
    assert found.status == status


async def test_a_local_build_with_a_digest_of_its_own_is_not_published_rather_than_unreachable(tmp_path):
    registry = FakeRegistry()
    async with serving(registry):
        here = f"127.0.0.1:{registry.port}/o/r"
        environ = fake_docker(tmp_path, f'[{{"Id":"sha256:1","RepoDigests":["{here}@{A}"]}}]')
        (found,) = await check(engines(q=f"{here}:v1"), supply(environ))
    assert found.status == "unverifiable"
    assert "not published" in found.reason


def test_repo_digests_are_matched_whatever_shorthand_they_use():
    reference = parse_reference("vllm/vllm-openai:v1")
    known = [
        f"docker.io/vllm/vllm-openai@{A}",
        f"vllm/vllm-openai@{A}",
        f"ghcr.io/vllm/vllm-openai@{B}",
        "<none>@<none>",
    ]
    assert digests_of(known, reference) == [A]
    assert digests_of(None, reference) == []


async def test_a_tag_resolves_to_its_digest():
    registry = FakeRegistry()
    digest = registry.put("v1", index(linux_arm64=B))
    registry.put("amd", index(linux_amd64=A))
    async with serving(registry):
        here = f"127.0.0.1:{registry.port}/o/r"
        resolved, _ = await resolve(supply(), parse_reference(f"{here}:v1"), engine="q")
        assert str(resolved) == f"{here}:v1@{digest}"
        for missing_one in (f"{here}:v2", f"{here}:v1@{A}", f"{here}:amd"):
            with pytest.raises(UsageError):
                await resolve(supply(), parse_reference(missing_one), engine="q")
    with pytest.raises(Unreachable):
        await resolve(supply(), parse_reference(f"{here}:v1"), engine="q")


async def test_a_mirror_needs_a_place_and_a_digest():
    with pytest.raises(UsageError, match="local registry"):
        await mirror(supply(), "q", parse_reference(f"ghcr.io/o/r:v1@{A}"))
    with pytest.raises(UsageError, match="not pinned"):
        await mirror(supply(mirror="127.0.0.1:5000"), "q", parse_reference("ghcr.io/o/r:v1"))


def test_the_copy_keeps_digests_and_every_platform():
    source, target = parse_reference(f"ghcr.io/o/r:v1@{A}"), parse_reference(f"127.0.0.1:5000/ghcr.io/o/r:v1@{A}")
    assert copy_argv(source, target) == [
        "skopeo", "copy", "--all", "--preserve-digests", "--dest-tls-verify=false",
        f"docker://ghcr.io/o/r@{A}", "docker://127.0.0.1:5000/ghcr.io/o/r:v1",
    ]  # fmt: skip
