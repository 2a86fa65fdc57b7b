"""A small image: Debian with systemd, cloud-init and VMware Tools; no Kubernetes."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

from ..machine import bare_root
from ..places import Scratch
from .world import Image, require

# python3-cffi-backend: debootstrap does not see that it provides what python3-cryptography depends on
PACKAGES = ("cloud-init", "python3-cffi-backend", "iproute2", "iputils-ping", "netbase", "openssh-client", "open-vm-tools", "procps")
NOT_WANTED = ("getty.target", "apt-daily.timer", "apt-daily-upgrade.timer", "e2scrub_reap.service", "vgauth.service")
# ssh keys and package sources of a machine that nobody signs in to are left out
CLOUD = """datasource_list: [VMware, None]
system_info: {network: {renderers: [networkd]}}
manage_etc_hosts: localhost
cloud_init_modules: [write-files, set_hostname, update_hostname, update_etc_hosts]
cloud_config_modules: [runcmd]
cloud_final_modules: [scripts-per-boot, scripts-user, final-message]
"""


def small_image(scratch: Scratch) -> Image:
    """The root is made once a machine; what is not of its packages lies over it."""
    require()
    over = scratch.path / "small-image"
    files = {"etc/machine-id": "", "etc/hostname": "template\n", "etc/cloud/cloud.cfg.d/90-world.cfg": CLOUD}
    for name, text in files.items():
        path = over / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    units = over / "etc/systemd/system"
    (units / "multi-user.target.wants").mkdir(parents=True)
    (units / "multi-user.target.wants/systemd-networkd.service").symlink_to("/lib/systemd/system/systemd-networkd.service")
    (over / "var/lib/dbus").mkdir(parents=True)
    (over / "var/lib/dbus/machine-id").symlink_to("/etc/machine-id")  # else systemd takes that of the template from there
    for name in NOT_WANTED:
        (units / name).symlink_to("/dev/null")
    return Image((over, Path(bare_root(PACKAGES))))
