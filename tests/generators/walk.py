"""Signs in, lists, creates and deletes a cluster by the client that openapi-python-client made; prints what it saw.

usage: walk.py URL CA-FILE VCENTER PATH-OF-A-VSPHERE-CLUSTER, the password in standard input"""
# SPDX-License-Identifier: GPL-3.0-or-later
import sys

from kaas_client import AuthenticatedClient, Client
from kaas_client.api.clusters import create_cluster, delete_cluster, get_cluster, list_clusters
from kaas_client.api.sign_on import login_password, logout
from kaas_client.models import ClusterCreate, LoginPasswordRequest, LoginPasswordXKaaS, ReplicasInput, VsphereClusterByPath

url, ca_file, vcenter, path = sys.argv[1:]
signing_in = LoginPasswordRequest(username="admin", password=sys.stdin.readline().strip())
token = login_password.sync(client=Client(url, verify_ssl=ca_file), body=signing_in, x_kaa_s=LoginPasswordXKaaS.VALUE_0)
client = AuthenticatedClient(url, token.access_token, verify_ssl=ca_file)


def names() -> list[str]:
    return [cluster.name for cluster in list_clusters.sync(client=client).items]


print("listed", *names())
made = create_cluster.sync(client=client, body=ClusterCreate(
    name="of-python", kubernetes_version="1.31.2", control_plane=ReplicasInput(desired=3), workers=ReplicasInput(desired=2),
    vsphere_clusters=[VsphereClusterByPath(vcenter=vcenter, path=path)]))
print("created", made.name)
print("read", get_cluster.sync(made.id, client=client).kubernetes_version)
print("listed", *names())
print("deleted", delete_cluster.sync_detailed(made.id, client=client).status_code.value)
print("listed", *names())
print("left", logout.sync_detailed(client=client).status_code.value)
