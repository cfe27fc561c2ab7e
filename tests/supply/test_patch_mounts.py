"""Which of the host's files a container has in place of one of its image's, and what its image is called."""

import msgspec
import pytest

from pitstop.launch.container import Container
from pitstop.supply.patch_mounts import image_called, source_over

FILE = "/usr/lib/python3/dist-packages/vllm/utils/flashinfer.py"
ID, DIGEST = "sha256:" + "1" * 64, "sha256:" + "d" * 64


def container(*mounts, name="r:v1"):
    told = [{"Type": "bind", "Source": source, "Destination": place} for source, place in mounts]
    parts = {"Id": "c", "Name": "/c", "Image": ID, "Config": {"Image": name}, "Mounts": told or None}
    return msgspec.convert(parts, Container)


@pytest.mark.parametrize(
    ("mounts", "source"),
    [
        ([], ""),
        ([("/srv/models", "/models")], ""),
        ([("/srv/models", "/models"), ("/srv/p.py", FILE)], "/srv/p.py"),
        ([("/srv/p.py", f"{FILE}c")], ""),
        ([("/srv/p.py", FILE.replace("vllm/", "vllm//"))], "/srv/p.py"),
        ([("/srv/vllm", "/usr/lib/python3/dist-packages/vllm")], "/srv/vllm/utils/flashinfer.py"),
        ([("/srv/vllm", "/usr/lib/python3/dist-packages/vllm/")], "/srv/vllm/utils/flashinfer.py"),
        ([("/srv/vl", "/usr/lib/python3/dist-packages/vl")], ""),
        ([("/srv/usr", "/usr"), ("/srv/p.py", FILE)], "/srv/p.py"),
        ([("/srv/p.py", FILE), ("/srv/usr", "/usr")], "/srv/p.py"),
        ([("", "/usr")], ""),
    ],
)
def test_the_nearest_mount_covers_a_file(mounts, source):
    assert source_over(container(*mounts), FILE) == source


@pytest.mark.parametrize(
    ("name", "digests", "called"),
    [
        ("ghcr.io/o/r:v1", [f"ghcr.io/o/r@{DIGEST}"], f"ghcr.io/o/r:v1@{DIGEST}"),
        (f"ghcr.io/o/r:v1@{DIGEST}", [f"ghcr.io/o/r@{DIGEST}"], f"ghcr.io/o/r:v1@{DIGEST}"),
        ("local:1", [], ID),
        ("local:1", [f"ghcr.io/o/r@{DIGEST}"], ID),
        (ID, [], ID),
        ("", [], ID),
    ],
)
def test_an_image_is_called_as_a_patch_would_name_it(name, digests, called):
    assert image_called(container(name=name), digests) == called
