"""Ways to break the world just before a step. They touch only what the step meets from outside; the step's own check must notice."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import socket
from dataclasses import replace

from env import vimclient
from env.certs import make_server_cert
from env.full import EXTENSION_KEY
from env.guest.making import LOGIN, TEMPLATE
from env.guest.site import CLUSTER
from env.kube.nodes import uuid_of
from env.places import free_port

from . import create_steps
from .ad_steps import domain
from .create_steps import creation
from .kube_steps import CLERK, NAME, NODES, account, kubernetes, of_cluster, wait_for, write_config
from .steps import Step, Walk


def world_dies(walk: Walk) -> None:
    walk.vcenter.process.kill()


def database_is_gone(walk: Walk) -> None:
    walk.db.stop()


def config_has_a_typing_error(walk: Walk) -> None:
    text = walk.kaasd.config.read_text()
    walk.kaasd.config.write_text(text.replace("public_url", "publik_url"))


def port_is_taken(walk: Walk) -> None:
    other = walk.stack.enter_context(socket.socket())
    other.bind(("127.0.0.1", walk.kaasd.port))
    other.listen()


def thumbprint_is_wrong(walk: Walk) -> None:
    first = "00" if not walk.thumbprint.startswith("00") else "11"
    walk.thumbprint = first + walk.thumbprint[2:]


def password_is_wrong(walk: Walk) -> None:
    walk.register_password = walk.unregister_password = "not the password"


def certificate_is_swapped(walk: Walk) -> None:
    """Another administrator stores a certificate of his own on our record, and our session ends."""
    other = make_server_cert(walk.scratch.path / "other").cert_file.read_text()
    with vimclient.session(walk.vcenter, walk.vcenter.admin) as instance:
        instance.RetrieveContent().extensionManager.SetExtensionCertificate(EXTENSION_KEY, other)
    walk.vcenter.control.restart()


def session_has_expired(walk: Walk) -> None:
    walk.vcenter.control.expire(user="viewer-east")


def ticket_is_used_up(walk: Walk) -> None:
    vimclient.clone_session(walk.vcenter, walk.ticket)


def permission_is_taken_away(walk: Walk) -> None:
    """The person is still signed in at the vCenter, but not yet here, so no answer of before counts."""
    walk.vcenter.control.forbid("datacenter-2", "VSPHERE.LOCAL\\viewer-dc")


def permission_is_given(walk: Walk) -> None:
    walk.vcenter.control.permit("domain-c7", "VSPHERE.LOCAL\\no-rights")


def daemon_is_killed(walk: Walk) -> None:
    walk.kaasd.kill()


def events_are_forbidden(walk: Walk) -> None:
    """Our session may not log events any more."""
    granted = walk.vcenter.control.settings()["extension_privileges"]
    walk.vcenter.control.settings(extension_privileges=[name for name in granted if name != "Global.LogEvent"])


def session_was_ended_elsewhere(walk: Walk) -> None:
    walk.curl.call("POST", "/v2/logout", token=walk.token)


def record_is_gone(walk: Walk) -> None:
    walk.vcenter.control.drop_extension(EXTENSION_KEY)


def hx_password_is_wrong(walk: Walk) -> None:
    walk.hx_password = "not the password"


def certificate_of_record_is_replaced(walk: Walk) -> None:
    """Another administrator writes a certificate into our record, and kaasd may not put it right."""
    other = make_server_cert(walk.scratch.path / "other")
    walk.vcenter.control.fault("UpdateExtension", "fault", fault="NoPermission", user=EXTENSION_KEY)
    with vimclient.session(walk.vcenter, walk.vcenter.admin) as instance:
        manager = instance.RetrieveContent().extensionManager
        record = manager.FindExtension(EXTENSION_KEY)
        for server in record.server:
            server.serverThumbprint, server.serverCertificate = other.sha256, None
        manager.UpdateExtension(record)


def record_leads_elsewhere(walk: Walk) -> None:
    """For HX, KaaS is at another certificate than the one that kaasd tells of."""
    record = walk.hx.registrations.find_record
    assert record
    walk.hx.registrations.find_record = lambda: (found := record()) and replace(found, sha256=64 * "0")


def nonce_is_of_somebody_else(walk: Walk) -> None:
    """The page of HX Connect answers to another question than the panel's."""
    hand_over = walk.host.hand_over
    walk.host.hand_over = lambda: {**hand_over(), "nonce": 32 * "0"}


def session_of_client_has_ended(walk: Walk) -> None:
    """The vSphere Client gives out a session that the vCenter does not know any more."""
    walk.client.session = lambda: 40 * "0"


def controller_dies(walk: Walk) -> None:
    domain(walk).kill()


def account_is_disabled(walk: Walk) -> None:
    domain(walk).disable("ada")


def keytab_is_out_of_date(walk: Walk) -> None:
    """The service's password was changed in the domain, and nobody made a new keytab."""
    domain(walk).set_password("svc-kaas", "Another-Passw0rd-1")


def backup_is_cut_off(walk: Walk) -> None:
    """A copy that was not made to its end."""
    walk.backup.write_bytes(walk.backup.read_bytes()[:-1])


def kubeconfig_is_of_a_clerk(walk: Walk) -> None:
    """Of somebody who may not make accounts in the cluster."""
    walk.kubeconfig = write_config(walk, "clerk.conf", kubernetes(walk).kubeconfig(CLERK))


def machine_is_another(walk: Walk) -> None:
    """The machine of a node has a UUID that no node tells, and kaasd has heard of it: else the step could still see what was."""
    found = next(row["id"] for row in walk.vcenter.control.objects("VirtualMachine") if row["name"] == f"{NAME}-0")
    walk.vcenter.control.identify(found, uuid=uuid_of("another machine"))
    wait_for(False, lambda: uuid_of(NODES[0]) in of_cluster(walk, "[.items[].vm.bios_uuid]", "/nodes"), "the UUID that was")


def connection_is_forgotten(walk: Walk) -> None:
    """Another administrator disconnects the cluster: nobody asks it any more."""
    walk.kaasd.ctl.ok("cluster", "disconnect", NAME, "--forget", "--yes")


def api_server_comes_back_elsewhere(walk: Walk) -> None:
    """At a port that nobody tells kaasd."""
    kubernetes(walk).port = free_port()


def api_server_is_away(walk: Walk) -> None:
    """Nobody answers at all, so nobody can say that etcd is what is missing."""
    kubernetes(walk).kill()


def control_plane_has_moved(walk: Walk) -> None:
    """A machine was moved: of three control planes only one is on the host now."""
    objects = walk.vcenter.control.objects()
    ids = {row["name"]: row["id"] for row in objects}
    walk.vcenter.control.migrate(ids[f"{NAME}-2"], ids["hx-east-2.example.test"])


def certificate_has_ended(walk: Walk) -> None:
    """The kubeconfig is as old as those that lie about."""
    kube = kubernetes(walk)
    old = kube.kubeconfig(kind="certificate", cert=kube.certificate(days=(-90, -1)))
    walk.next_kubeconfig = write_config(walk, "old.conf", old)


def object_is_held(walk: Walk) -> None:
    """Somebody else's program keeps one of our objects in the cluster."""
    held = '{"metadata": {"finalizers": ["example.test/keep"]}}'
    kubernetes(walk).kubectl("patch", "clusterrole", account(walk), "--type=merge", "-p", held)


def login_is_gone(walk: Walk) -> None:
    """Somebody removes the account that kaasd logs in by at the vCenter, and its sessions end."""
    vcenter = creation(walk).site.vcenter
    vcenter.control.drop_user(LOGIN.name)
    vcenter.control.restart()


def template_is_gone(walk: Walk) -> None:
    creation(walk).site.govc("vm.destroy", TEMPLATE)


def datastore_is_full(walk: Walk) -> None:
    control = creation(walk).site.vcenter.control
    for row in control.objects("Datastore"):
        control.set_room(row["id"], free_bytes=0)


def node_is_removed(walk: Walk) -> None:
    """Somebody who takes it for another one."""
    cluster = creation(walk).cluster
    cluster.kubectl("delete", "node", cluster.nodes()[-1].name)


def member_is_removed(walk: Walk) -> None:
    """By somebody who repairs etcd."""
    cluster = creation(walk).cluster
    machine = cluster.nodes()[0].name
    members = cluster.ask_etcd(machine, "list", {})["members"]
    cluster.ask_etcd(machine, "remove", {"ID": next(one["ID"] for one in members if one["name"] != machine)})


def nothing_is_forwarded(walk: Walk) -> None:
    """A firewall on a worker."""
    made = creation(walk)
    made.site.guests.ok(made.cluster.nodes()[-1].name, "iptables --wait --table raw --insert PREROUTING --source 10.244.0.0/16 --jump DROP")


def all_are_let_in(walk: Walk) -> None:
    """Another team's policy: what one lets in, no other one denies."""
    creation(walk).cluster.create({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "all"},
                                   "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{}]}})


def pool_is_gone(walk: Walk) -> None:
    """An administrator of the cluster deletes what Services get their addresses from."""
    creation(walk).cluster.kubectl("delete", "ipaddresspools", "--all", "--namespace=metallb-system")


def another_control_plane_is_off(walk: Walk) -> None:
    """So that etcd has no majority without the first."""
    made = creation(walk)
    first = made.first()
    made.site.power(next(node.name for node in made.cluster.nodes() if node.name != first), "off")


def somebody_uses_the_folder(walk: Walk) -> None:
    """A machine that is nobody's of ours is made where the cluster's are."""
    made = creation(walk)
    folder = next(path for path in made.site.inventory() - made.before if path.endswith(f"/{create_steps.NAME}"))
    made.site.govc("vm.clone", "-vm", TEMPLATE, "-on=false", "-folder", folder, "-pool", f"{CLUSTER}/Resources", "somebody-else")


# with --create
CREATE_SABOTAGES: dict[str, Step] = {
    "create-site": login_is_gone,
    "create-provider": template_is_gone,
    "create-cluster": datastore_is_full,
    "create-nodes": node_is_removed,
    "create-etcd": member_is_removed,
    "create-pods": nothing_is_forwarded,
    "create-policy": all_are_let_in,
    "create-service": pool_is_gone,
    "create-power-off": another_control_plane_is_off,
    "create-delete": somebody_uses_the_folder,
}

# with --kubernetes
KUBE_SABOTAGES: dict[str, Step] = {
    "kube-connect": kubeconfig_is_of_a_clerk,
    "kube-nodes": machine_is_another,
    "kube-node-stops": connection_is_forgotten,
    "kube-api-server-dies": api_server_comes_back_elsewhere,
    "kube-quorum": api_server_is_away,
    "kube-host-impact": control_plane_has_moved,
    "kube-credentials": certificate_has_ended,
    "kube-disconnect": object_is_held,
}

# with --with-ad
AD_SABOTAGES: dict[str, Step] = {
    "ldap-test": controller_dies,
    "login-ad-password": account_is_disabled,
    "login-kerberos": keytab_is_out_of_date,
}

SABOTAGES: dict[str, Step] = {
    "world": world_dies,
    "init": database_is_gone,
    "check-config": config_has_a_typing_error,
    "start": port_is_taken,
    "vcenter-add": thumbprint_is_wrong,
    "vcenter-register": password_is_wrong,
    "extension-readback": record_is_gone,
    "vcenter-status": certificate_is_swapped,
    "cluster-add": database_is_gone,
    "login-session-id": session_has_expired,
    "login-clone-ticket": ticket_is_used_up,
    "list-viewer-dc": permission_is_taken_away,
    "list-no-rights": permission_is_given,
    "page": daemon_is_killed,
    "vcenter-event": events_are_forbidden,
    "hx-connect": hx_password_is_wrong,
    "publish": record_leads_elsewhere,
    "hx-client": certificate_of_record_is_replaced,
    "panel-hx": nonce_is_of_somebody_else,
    "panel-vsphere": session_of_client_has_ended,
    "logout": session_was_ended_elsewhere,
    "backup-restore": backup_is_cut_off,
    "unregister": password_is_wrong,
}

ALL_SABOTAGES = {**SABOTAGES, **AD_SABOTAGES, **KUBE_SABOTAGES, **CREATE_SABOTAGES}
