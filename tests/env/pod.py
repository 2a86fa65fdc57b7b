"""Pods without a cluster: containers of a rendered manifest, run from the image by runc as kubelet would have them run, with volumes as
kubelet makes them. Needs root."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
import os
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .image import Image
from .netns import Network
from .places import Scratch, WorldError
from .process import Process, run

FILES_MAX = 16384  # as in etc/kaasd.service.in; a machine for containers gives more
OPEN_FOLDER = 0o2777  # of an emptyDir with fsGroup: https://kubernetes.io/docs/concepts/storage/volumes/#emptydir


def _write_updatable(folder: Path, files: Mapping[str, bytes], mode: int, group: int) -> None:
    """Links to files in a folder that is put in place of the one before, as kubelet does it for Secrets and ConfigMaps."""
    folder.mkdir()
    version = folder / "..2026_01_01_00_00_00.1"
    version.mkdir()
    (folder / "..data").symlink_to(version.name)
    for name, content in files.items():
        (version / name).write_bytes(content)
        (version / name).chmod(mode)
        (folder / name).symlink_to(f"..data/{name}")
    for path in (folder, version, *version.iterdir()):
        os.chown(path, 0, group)


class Pod:
    """The volumes last as long as the scratch folder; `start` runs the init containers and then the container."""

    def __init__(self, scratch: Scratch, image: Image, name: str, spec: dict[str, Any], objects: Sequence[dict[str, Any]],
                 network: Network, claims: Sequence[str] = ()) -> None:
        """`objects`: Secrets and ConfigMaps; `claims`: names of volumes of volumeClaimTemplates."""
        self.name = name
        self._scratch = scratch
        self._image = image
        self._spec = spec
        self._network = network
        self._objects = {(one["kind"], one["metadata"]["name"]): one for one in objects}
        self._group = spec["securityContext"]["fsGroup"]
        self.folder = scratch.path / f"pod-{name}"
        self.folder.mkdir()
        self.process: Process | None = None
        self._running = ""
        for volume in spec["volumes"]:
            self._make_volume(volume)
        for claim in claims:
            self._make_folder(claim)

    def _make_folder(self, name: str) -> None:
        (self.folder / name).mkdir()
        os.chown(self.folder / name, 0, self._group)
        (self.folder / name).chmod(OPEN_FOLDER)

    def _make_volume(self, volume: dict[str, Any]) -> None:
        if "emptyDir" in volume:
            self._make_folder(volume["name"])
            return
        files: dict[str, bytes] = {}
        for source in volume["projected"]["sources"]:
            (kind, wanted), = source.items()
            found = self._objects[{"secret": "Secret", "configMap": "ConfigMap"}[kind], wanted["name"]]
            data = {key: base64.b64decode(text) if kind == "secret" else text.encode() for key, text in found["data"].items()}
            items = wanted.get("items", [{"key": key, "path": key} for key in data])
            files |= {item["path"]: data[item["key"]] for item in items}
        _write_updatable(self.folder / volume["name"], files, volume["projected"]["defaultMode"], self._group)

    def _runtime_config(self, container: dict[str, Any]) -> dict[str, Any]:
        """The one that umoci made of the image, as the container's and the pod's security contexts change it."""
        config = json.loads((self._image.bundle / "config.json").read_text())
        pod, own = self._spec["securityContext"], container["securityContext"]
        if own["capabilities"] != {"drop": ["ALL"]}:
            raise WorldError(f"{container['name']}: capabilities {own['capabilities']} are not known here")
        config["process"] |= {
            "terminal": False, "args": container["command"], "noNewPrivileges": not own["allowPrivilegeEscalation"],
            "user": {"uid": pod["runAsUser"], "gid": pod["runAsGroup"], "additionalGids": [pod["fsGroup"]]},
            "capabilities": {kind: [] for kind in ("bounding", "effective", "inheritable", "permitted", "ambient")},
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": FILES_MAX, "soft": FILES_MAX}]}
        config["root"] = {"path": str(self._image.root), "readonly": own["readOnlyRootFilesystem"]}
        config["hostname"] = self.name
        for namespace in config["linux"]["namespaces"]:
            if namespace["type"] == "network":
                namespace["path"] = f"/proc/{self._network.pid}/ns/net"
        mounts = [{"destination": mount["mountPath"], "type": "bind", "source": str(self.folder / mount["name"]),
                   "options": ["rbind", "nosuid", "nodev", "ro" if mount.get("readOnly") else "rw"]} for mount in container["volumeMounts"]]
        placed = {mount["destination"] for mount in mounts} | {"/sys/fs/cgroup"}
        config["mounts"] = [one for one in config["mounts"] if one["destination"] not in placed] + mounts
        return dict(config)

    @property
    def _tool(self) -> list[str]:
        return ["runc", "--root", f"{self.folder}/runc"]

    def _run(self, container: dict[str, Any]) -> list[str]:
        """The command that runs it to its end."""
        self._running = f"kaas-{uuid.uuid4().hex[:12]}"
        folder = self.folder / f"bundle-{container['name']}"
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(self._runtime_config(container)))
        return [*self._tool, "run", "--bundle", f"{folder}", self._running]

    def run_init(self) -> None:
        for container in self._spec["initContainers"]:
            done = run(self._run(container))
            if done.returncode:
                raise WorldError(f"{self.name}, {container['name']}: status {done.returncode}: {done.stdout}{done.stderr}")

    def run_to_end(self) -> subprocess.CompletedProcess[str]:
        """Of a Job."""
        self.run_init()
        return run(self._run(self._spec["containers"][0]))

    def start(self) -> Process:
        self.run_init()
        self.process = Process(f"pod-{self.name}", self._run(self._spec["containers"][0]), self._scratch.log)
        return self.process

    def exec(self, *command: str) -> subprocess.CompletedProcess[str]:
        """As `kubectl exec`."""
        return run([*self._tool, "exec", self._running, *command])

    def probe(self, name: str) -> str:
        """The status that kubelet would see, which looks at no certificate; "000" without an answer."""
        container = self._spec["containers"][0]
        get = container[name]["httpGet"]
        (port,) = (one["containerPort"] for one in container["ports"] if one["name"] == get["port"])
        url = f"{get['scheme'].lower()}://127.0.0.1:{port}{get['path']}"
        curl = ("curl", "--silent", "--insecure", "--output", "/dev/null", "--write-out", "%{http_code}")
        return run([*self._network.inside, *curl, url]).stdout

    @property
    def main_pid(self) -> int:
        return int(json.loads(run([*self._tool, "state", self._running]).stdout)["pid"])

    def terminate(self) -> None:
        run([*self._tool, "kill", self._running, "TERM"])

    def wait_end(self) -> int:
        """Exit status, within the time of grace."""
        assert self.process
        process, self.process = self.process, None
        return process.wait_end(self._spec["terminationGracePeriodSeconds"])

    def stop(self) -> None:
        if self.process and self.process.alive:
            self.terminate()
            self.wait_end()
