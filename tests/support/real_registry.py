"""A real docker-registry and skopeo for tests marked `real`."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

from support.fake_registry import INDEX_TYPE, MANIFEST_TYPE

_CONFIG = """\
version: 0.1
storage:
  filesystem: {{rootdirectory: {root}}}
  delete: {{enabled: true}}
http: {{addr: "127.0.0.1:{port}"}}
log: {{level: error}}
"""


def ensure() -> None:
    """Install what is missing."""
    missing = [name for name in ("docker-registry", "skopeo") if shutil.which(name) is None]
    if missing:
        subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing], check=True, timeout=600
        )


class RealRegistry:
    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port, self.host = folder, port, f"127.0.0.1:{port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> RealRegistry:
        ensure()
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "config.yml"
        config.write_text(_CONFIG.format(root=self.folder / "data", port=self.port))
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(["docker-registry", "serve", str(config)], stdout=log, stderr=log)
        for _ in range(100):
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://{self.host}/v2/", timeout=1):
                return self
            time.sleep(0.1)
        raise AssertionError((self.folder / "log").read_text()[-2000:])

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def put(self, name: str, tag: str, body: bytes, kind: str = INDEX_TYPE) -> str:
        """Push a manifest by hand, as an index with entries of one's own choice; returns its digest."""
        return self._send("PUT", f"/v2/{name}/manifests/{tag}", body, kind).headers["Docker-Content-Digest"]

    def manifest(self, name: str, which: str) -> bytes:
        return self._send("GET", f"/v2/{name}/manifests/{which}").read()

    def delete(self, name: str, digest: str) -> None:
        self._send("DELETE", f"/v2/{name}/manifests/{digest}")

    def _send(self, method: str, path: str, body: bytes | None = None, kind: str = ""):
        headers = {"Content-Type": kind} if kind else {"Accept": f"{INDEX_TYPE}, {MANIFEST_TYPE}"}
        request = urllib.request.Request(f"http://{self.host}{path}", data=body, method=method, headers=headers)
        return urllib.request.urlopen(request, timeout=10)


def make_image(folder: Path, registry: RealRegistry, name: str, tag: str, architecture: str, content: str) -> str:
    """A one-layer image, made without Docker, pushed with skopeo; returns the digest of its manifest."""
    layout = folder / f"{name.replace('/', '-')}-{tag}-{architecture}"
    layer = layout / "layer"
    layer.mkdir(parents=True)
    (layer / "hello").write_text(content)
    blobs = layout / "oci/blobs/sha256"
    blobs.mkdir(parents=True)
    subprocess.run(["tar", "-C", str(layer), "-cf", str(layout / "layer.tar"), "."], check=True, timeout=30)
    layer_digest, layer_size = _blob(blobs, (layout / "layer.tar").read_bytes())
    config = {"architecture": architecture, "os": "linux", "rootfs": {"type": "layers", "diff_ids": [layer_digest]}}
    config_digest, config_size = _blob(blobs, json.dumps(config).encode())
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": {
            "mediaType": "application/vnd.oci.image.config.v1+json", "digest": config_digest, "size": config_size,
        },
        "layers": [
            {"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": layer_digest, "size": layer_size}
        ],
    }  # fmt: skip
    digest, size = _blob(blobs, json.dumps(manifest).encode())
    entry = {"mediaType": MANIFEST_TYPE, "digest": digest, "size": size}
    (layout / "oci/index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    (layout / "oci/oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    target = f"docker://{registry.host}/{name}:{tag}"
    argv = ["skopeo", "copy", "--insecure-policy", "--preserve-digests", "--dest-tls-verify=false"]
    subprocess.run([*argv, f"oci:{layout / 'oci'}", target], check=True, timeout=60, capture_output=True)
    return digest


def index_of(registry: RealRegistry, name: str, **digests: str) -> bytes:
    """An index over manifests that are in the registry: `amd64` = digest."""
    entries = [
        {
            "mediaType": MANIFEST_TYPE,
            "digest": digest,
            "size": len(registry.manifest(name, digest)),
            "platform": {"os": "linux", "architecture": architecture},
        }
        for architecture, digest in digests.items()
    ]
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": entries}).encode()


def _blob(folder: Path, content: bytes) -> tuple[str, int]:
    import hashlib

    digest = hashlib.sha256(content).hexdigest()
    (folder / digest).write_bytes(content)
    return f"sha256:{digest}", len(content)
