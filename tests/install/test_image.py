"""The image by itself: who kaasd is in it, what else is in it and what not."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
import stat

from env.image import Image
from env.places import TOP
from env.process import run

USER = 10001
OF_OTHERS = re.compile(r"(^|/)apt(/|$)|sources\.list|\.key$|\.pem$|password$|shadow|_history$|^etc/(resolv|hostname)|/log/")
IMAGE_BYTES_MAX = 48 << 20
ROOT_BYTES_MAX = 96 << 20


def test_it_runs_kaasd_as_a_user_of_its_own(image: Image) -> None:
    config = image.config
    assert config["User"] == f"{USER}:{USER}"
    assert config["Entrypoint"] == ["/usr/sbin/kaasd"]
    assert set(config["ExposedPorts"]) == {"8443/tcp"}
    assert set(config["Volumes"]) == {"/run/kaas", "/var/lib/kaas"}
    labels = {name.removeprefix("org.opencontainers.image."): value for name, value in config["Labels"].items()}
    assert labels["revision"] == run(["git", "-C", TOP, "rev-parse", "HEAD"]).stdout.strip()
    assert labels["licenses"] == "GPL-3.0-or-later"


def test_it_is_small(image: Image) -> None:
    files = sum(path.lstat().st_size for path in image.root.rglob("*") if path.is_file() and not path.is_symlink())
    print(f"image: {image.archive.stat().st_size} bytes, {files} bytes unpacked")
    assert image.archive.stat().st_size < IMAGE_BYTES_MAX
    assert files < ROOT_BYTES_MAX


def test_nothing_in_it_gives_rights_or_a_shell(image: Image) -> None:
    programs = set()
    for path in image.root.rglob("*"):
        mode = path.lstat().st_mode
        if path.is_symlink():
            continue
        assert not mode & (stat.S_ISUID | stat.S_ISGID), path
        assert not mode & stat.S_IWOTH, path
        assert path.lstat().st_uid in ((USER,) if path.name == "kaas" and path.parent.name in ("run", "lib") else (0,)), path
        if path.is_file() and mode & stat.S_IXUSR and ".so" not in path.name:
            programs.add(str(path.relative_to(image.root)))
    assert programs == {"usr/sbin/kaasd", "usr/bin/kaasctl", "usr/bin/install"}


def test_it_tells_nothing_of_where_it_was_made(image: Image) -> None:
    """No apt, no name of a mirror, no key or password."""
    names = [str(path.relative_to(image.root)) for path in image.root.rglob("*")]
    assert not [name for name in names if OF_OTHERS.search(name)]
    told = run(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages"]).stdout
    hosts = {site.split("//")[1].split("/")[0].encode() for site in told.split()}
    assert hosts
    for path in image.root.rglob("*"):
        if path.is_file() and not path.is_symlink() and "share/doc" not in str(path):
            content = path.read_bytes()
            assert not [host for host in hosts if host in content], path
            assert str(TOP).encode() not in content, path


def test_scanners_find_its_packages(image: Image) -> None:
    listed = {path.name: path.read_text() for path in (image.root / "var/lib/dpkg/status.d").iterdir()}
    assert {"kaas-server", "kaas-cli", "kaas-ui", "libc6", "libssl3", "libmicrohttpd12"} <= set(listed)
    for name, text in listed.items():
        assert f"Package: {name}\n" in text
        assert re.search(r"^Version: \S+$", text, re.M), name
        assert (image.root / "usr/share/doc" / name).exists() or name == "base-files", f"the licence of {name}"
