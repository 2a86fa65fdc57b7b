// What a card says of the virtual machine or host that it is about. Pure.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { Node, NodeState, PlacedNode } from '../api/types.js';

export interface CardLine {
  cluster: string;
  role: Node['role'];
  state: NodeState;
  /** Of a single node: the which of its role in the cluster; else how many are here. */
  number: number;
  /** How many of this role the cluster has; null: not of a single node. */
  of: number | null;
}

/** Of a virtual machine: which node it is. `all` are the nodes of its cluster that the viewer may see. */
export function describeMachine(node: PlacedNode, all: readonly Node[]): CardLine {
  const names = all.filter(({ role }) => role === node.role).map(({ name }) => name).sort();
  return { cluster: node.cluster.name, role: node.role, state: node.state, number: names.indexOf(node.name) + 1, of: names.length };
}

const WORST: Record<NodeState, number> = { ready: 0, unknown: 1, not_ready: 2 };

/** Of a host: how many nodes of each cluster and role, in the state of the worst of them. */
export function describeHost(nodes: readonly PlacedNode[]): CardLine[] {
  const lines = new Map<string, CardLine>();
  for (const { cluster, role, state } of nodes) {
    const key = `${cluster.id} ${role}`;
    const line = lines.get(key) ?? { cluster: cluster.name, role, state, number: 0, of: null };
    line.number += 1;
    if (WORST[state] > WORST[line.state]) line.state = state;
    lines.set(key, line);
  }
  return [...lines.values()].sort((a, b) => a.cluster.localeCompare(b.cluster) || a.role.localeCompare(b.role));
}
