"""What machines are told, judged by the cloud-init of the node image."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from env.node_plan import FULL, NODE, ROLES, node_documents
from env.places import Scratch
from place import Node, make


@pytest.fixture(scope="module")
def node(scratch: Scratch) -> Iterator[Node]:
    made = Node(scratch, make("--without-dns"), "data")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def keys(scratch: Scratch) -> Path:
    return scratch.path / "keys"


@pytest.mark.parametrize("plan", [NODE, FULL], ids=["bare", "full"])
@pytest.mark.parametrize("role", ROLES)
def test_cloud_init_takes_the_user_data(node: Node, keys: Path, role: str, plan: dict[str, object]) -> None:
    with node.changed("/run/kaas-test-user-data", node_documents(keys, role, **plan)["plain"]["userdata"], mode=0o600):
        told = node.run("cloud-init schema --config-file /run/kaas-test-user-data")
    assert told.returncode == 0 and "Valid cloud-config" in told.stdout, told.stdout + told.stderr
    assert "eprecat" not in told.stdout + told.stderr and "rror" not in told.stderr, told.stdout + told.stderr


def test_it_would_say_so(node: Node, keys: Path) -> None:
    told = node_documents(keys, "worker")["plain"]["userdata"].replace('"permissions"', '"mode"')
    with node.changed("/run/kaas-test-user-data", told, mode=0o600):
        assert node.run("cloud-init schema --config-file /run/kaas-test-user-data").returncode != 0


@pytest.mark.parametrize("plan", [NODE, FULL], ids=["bare", "full"])
def test_the_network_becomes_that_of_networkd(node: Node, keys: Path, plan: dict[str, object]) -> None:
    network = json.loads(node_documents(keys, "worker", **plan)["plain"]["metadata"])["network"]
    with node.changed("/run/kaas-test-network.json", json.dumps({"network": network})):
        node.ok("cloud-init devel net-convert --network-data /run/kaas-test-network.json --kind yaml --distro debian --output-kind networkd"
                " --directory /run/kaas-test-network --mac eth0,00:50:56:00:00:15")
    made = node.ok("cat /run/kaas-test-network/etc/systemd/network/*.network; rm -r /run/kaas-test-network")
    assert "MACAddress=00:50:56:00:00:15" in made and "Address=10.9.0.21/24" in made and "Gateway=10.9.0.1" in made and "DHCP=no" in made
    if plan is FULL:
        assert "Destination=10.244.2.0/24" in made and "Gateway=10.9.0.22" in made and "DNS=10.9.0.2 10.9.0.3" in made


def test_texts_come_out_as_they_went_in(keys: Path) -> None:
    """What cloud-init reads it with says the same."""
    read = yaml.safe_load(node_documents(keys, "init", **FULL)["plain"]["userdata"])
    assert read["users"][0]["ssh_authorized_keys"] == FULL["ssh_keys"]
    assert read["ntp"]["servers"] == FULL["ntp"]
