"""Fills a database that kaasctl has set up with clusters by the thousand, without asking kaasd: to be done while no kaasd is running."""
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pymysql

from .mariadb import Mariadb

DATABASE = "kaas"
FILLED_VCENTER = "f1110000-0000-4000-8000-000000000001"
FIRST_HX = "HX-East"
LONG_S = 30 * 24 * 3600
MADE_MS = 1_700_000_000_000  # the same at each run: so is the answer


def uuid_sql(prefix: str, number: str) -> str:
    """An SQL expression: the UUID of object `number` of a kind that eight hexadecimal digits stand for."""
    return f"CONCAT('{prefix}-0000-4000-8000-', LPAD(LOWER(HEX({number})), 12, '0'))"


def uuid_of(prefix: str, number: int) -> str:
    return f"{prefix}-0000-4000-8000-{number:012x}"


def hx_name(number: int) -> str:
    return FIRST_HX if number == 1 else f"HX-{number:05d}"


def hx_id(number: int) -> str:
    return uuid_of("f2220000", number)


def cluster_id(number: int) -> str:
    return uuid_of("f3330000", number)


def user_id(number: int) -> str:
    return uuid_of("f5550000", number)


@dataclass(frozen=True)
class Filled:
    """What was made. Cluster `n` (from 1) is called `k8s-00000n`; HX cluster 1 is HX-East and carries the first `on_first` clusters."""

    clusters: int
    nodes: int
    hx_clusters: int
    on_first: int
    vcenter_id: str = FILLED_VCENTER


def _placements(on_first: int, hx_clusters: int) -> str:
    """The first clusters on HX cluster 1, all others in turn on the rest: an SQL expression of seq."""
    rest = hx_clusters - 1
    return f"IF(seq <= {on_first}, 1, 2 + MOD(seq - {on_first + 1}, {rest}))" if rest else "1"


def _statements(filled: Filled, nodes_per_cluster: int, labels: int, observed: bool) -> list[str]:
    """One statement per table, the rows made by MariaDB's sequence engine."""
    vc, clusters = filled.vcenter_id, f"seq_1_to_{filled.clusters}"
    moref = "CONCAT('domain-c', {})".format
    on = _placements(filled.on_first, filled.hx_clusters)
    nodes = f"seq_1_to_{max(filled.nodes, 1)}"
    owner = f"1 + (seq - 1) DIV {max(nodes_per_cluster, 1)}"
    within = f"1 + MOD(seq - 1, {max(nodes_per_cluster, 1)})"
    name = f"CONCAT('k8s-', LPAD({owner}, 6, '0'), '-', {within})"
    placed = on.replace("seq", f"({owner})")
    told = [
        f"INSERT INTO vcenters (id, address, port, name, pin_sha256, created_at_ms, version_no) VALUES"
        f" ('{vc}', 'filled.example', 443, 'filled', REPEAT('x', 32), {MADE_MS}, 1)",
        f"INSERT INTO vsphere_clusters (vcenter_id, moref, datacenter, name, seen_at_ms)"
        f" SELECT '{vc}', {moref('seq')}, 'DC0', IF(seq = 1, '{FIRST_HX}', CONCAT('HX-', LPAD(seq, 5, '0'))), {MADE_MS}"
        f" FROM seq_1_to_{filled.hx_clusters}",
        f"INSERT INTO hx_clusters (id, vcenter_id, moref, name, hx_uuid, extension_key, version_no, seen_at_ms)"
        f" SELECT {uuid_sql('f2220000', 'seq')}, '{vc}', {moref('seq')}, IF(seq = 1, '{FIRST_HX}', CONCAT('HX-', LPAD(seq, 5, '0'))),"
        f" CONCAT('1234567890:', seq), CONCAT('com.springpath.sysmgmt.domain-c', seq), 1, {MADE_MS} FROM seq_1_to_{filled.hx_clusters}",
        f"INSERT INTO clusters (id, name, description, state, state_source, kubernetes_version, api_endpoint, control_plane_ready,"
        f" control_plane_desired, workers_ready, workers_desired, placement_source, created_at_ms, updated_at_ms, version_no)"
        f" SELECT {uuid_sql('f3330000', 'seq')}, CONCAT('k8s-', LPAD(seq, 6, '0')), 'Made for measuring', 'ready', 'declared', '1.31.2',"
        f" CONCAT('https://k8s-', seq, '.example:6443'), 1, 1, 4, 4, 'declared', {MADE_MS}, {MADE_MS}, 1 FROM {clusters}",
        f"INSERT INTO cluster_placements (cluster_id, vcenter_id, moref)"
        f" SELECT {uuid_sql('f3330000', 'seq')}, '{vc}', {moref(on)} FROM {clusters}",
    ]
    told += [f"INSERT INTO cluster_labels (cluster_id, label_key, label_value)"
             f" SELECT {uuid_sql('f3330000', 'seq')}, 'label-{n}', CONCAT('value-', MOD(seq, 100)) FROM {clusters}" for n in range(labels)]
    if filled.nodes:
        told.append(
            f"INSERT INTO nodes (id, cluster_id, name, role, vcenter_id, vm_instance_uuid, kubernetes_version, address)"
            f" SELECT {uuid_sql('f4440000', 'seq')}, {uuid_sql('f3330000', owner)}, {name},"
            f" IF({within} = 1, 'control_plane', 'worker'), '{vc}', {uuid_sql('f6660000', 'seq')}, '1.31.2',"
            f" CONCAT('10.', seq DIV 65536, '.', MOD(seq DIV 256, 256), '.', MOD(seq, 256)) FROM {nodes}")
    if filled.nodes and observed:
        told.append(
            f"INSERT INTO node_observations (node_id, vcenter_id, bound_uuid, bound_by, vm_match, vm_moref, vm_name, vm_power,"
            f" vm_connection, host_moref, host_name, host_connection, cluster_moref, instance_uuid, bios_uuid, observed_at_ms)"
            f" SELECT {uuid_sql('f4440000', 'seq')}, '{vc}', {uuid_sql('f6660000', 'seq')}, 'instance_uuid', 'instance_uuid',"
            f" CONCAT('vm-', seq), {name}, 'on', 'connected', CONCAT('host-', {placed}), CONCAT('esx-', {placed}, '.example'),"
            f" 'connected', {moref(placed)}, {uuid_sql('f6660000', 'seq')}, {uuid_sql('f7770000', 'seq')}, {MADE_MS} FROM {nodes}")
    return told


def fill(db: Mariadb, *, clusters: int = 200, nodes_per_cluster: int = 5, hx_clusters: int = 10, on_first: int | None = None,
         labels: int = 1, observed: bool = False) -> Filled:
    """Makes a vCenter that is not registered (so nobody connects to it) with HX clusters and Kubernetes clusters on them.

    `on_first` clusters lie on HX-East (20, or all that there are), the rest evenly on the other HX clusters. With `observed` each node was
    seen, switched on, on a host of the HX cluster that its cluster was declared on."""
    first = min(clusters, 20 if on_first is None else on_first) if hx_clusters > 1 else clusters
    filled = Filled(clusters, clusters * nodes_per_cluster, hx_clusters, first)
    with pymysql.connect(unix_socket=str(db.socket), user="root", ssl_disabled=True,
                         database=DATABASE) as connection, connection.cursor() as cursor:
        for sql in _statements(filled, nodes_per_cluster, labels, observed):
            cursor.execute(sql)
        connection.commit()
    return filled


def many(db: Mariadb, sql: str, rows: list[tuple[Any, ...]]) -> None:
    with pymysql.connect(unix_socket=str(db.socket), user="root", ssl_disabled=True,
                         database=DATABASE) as connection, connection.cursor() as cursor:
        cursor.executemany(sql, rows)
        connection.commit()


def add_grants(db: Mariadb, principal: str, hx_numbers: list[int], role: str = "user") -> None:
    """The principal may see what lies on these HX clusters (counted from 1)."""
    many(db, "INSERT INTO grants (id, principal_id, role, object_kind, object_id, hx_cluster_id, created_at_ms)"
             " VALUES (UUID(), %s, %s, 'hx_cluster', %s, %s, %s)",
         [(principal, role, hx_id(n), hx_id(n), MADE_MS) for n in hx_numbers])


def add_users(db: Mariadb, count: int, hx_numbers: list[int] | None = None) -> list[str]:
    """Local users `person-1`, ... with the role `user` and the password of the first administrator, each granted these HX clusters."""
    db.query(f"INSERT INTO users (id, name, name_key, role, password_hash, created_at_ms, updated_at_ms, version_no)"
             f" SELECT {uuid_sql('f5550000', 'seq')}, CONCAT('person-', seq), CONCAT('person-', seq), 'user',"
             f" (SELECT password_hash FROM users WHERE name_key = 'admin'), {MADE_MS}, {MADE_MS}, 1 FROM seq_1_to_{count}",
             database=DATABASE)
    for number in hx_numbers or []:
        db.query(f"INSERT INTO grants (id, principal_id, role, object_kind, object_id, hx_cluster_id, created_at_ms)"
                 f" SELECT UUID(), CONCAT('local:', {uuid_sql('f5550000', 'seq')}), 'user', 'hx_cluster', %s, %s, {MADE_MS}"
                 f" FROM seq_1_to_{count}", hx_id(number), hx_id(number), database=DATABASE)
    return [f"person-{n}" for n in range(1, count + 1)]


def add_sessions(db: Mariadb, count: int) -> None:
    """Sessions of local users that add_users made, in turn, which kaasd reads at its start; nobody has their tokens."""
    users = db.query("SELECT COUNT(*) FROM users WHERE name LIKE 'person-%%'", database=DATABASE)[0][0]
    owner = f"1 + MOD(seq, {users})"
    db.query(f"INSERT INTO sessions (sid, principal_id, principal_name, role, source, jti, created_at_ms, ends_at_ms)"
             f" SELECT {uuid_sql('f8880000', 'seq')}, CONCAT('local:', {uuid_sql('f5550000', owner)}), CONCAT('person-', {owner}), 'user',"
             f" 'local', UUID(), UNIX_TIMESTAMP() * 1000, (UNIX_TIMESTAMP() + {LONG_S}) * 1000 FROM seq_1_to_{count}", database=DATABASE)
