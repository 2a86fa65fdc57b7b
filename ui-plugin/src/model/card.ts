// What a card says of the virtual machine, host or datacenter that it is about. Pure.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { Cluster, ClusterCounts, ClusterImpact, ClusterState, Node, PlacedNode } from '../api/types.js';
import { strings } from '../strings/index.js';
import { NODE_TONE, countStates, describeState, nodeState, shortNumber, type ShownNodeState, type Tone } from './format.js';

export interface CardLine {
  tone: Tone;
  /** The state in a word. */
  state: string;
  text: string;
}

const WORST: Record<ShownNodeState, number> = { ready: 0, running: 0, unknown: 1, not_ready: 2 };

function line(state: ShownNodeState, text: string): CardLine {
  return { tone: NODE_TONE[state], state: strings.detail.nodeState[state], text };
}

const inOrder = new Intl.Collator(undefined, { numeric: true }).compare;

/** Of a virtual machine: which node it is, of those of its cluster. Counts nothing where the viewer may not see all of them. */
export function describeMachine(node: PlacedNode, { nodes, hidden }: { nodes: readonly Node[]; hidden: number }): CardLine {
  const { cluster, id, role } = node;
  const state = nodeState(node);
  const sorted = nodes.filter((each) => each.role === role).sort((a, b) => inOrder(a.name, b.name));
  const at = sorted.findIndex((each) => each.id === id);
  return line(state, hidden > 0 || at < 0 ? strings.card.part(role, cluster.name) : strings.card.machine(role, at + 1, sorted.length, cluster.name));
}

/** Of a host: how many nodes of each cluster and role, in the state of the worst of them, and how many are as bad as that. */
export function describeHost(nodes: readonly PlacedNode[]): CardLine[] {
  const groups = new Map<string, PlacedNode[]>();
  for (const node of nodes) {
    const key = `${node.cluster.id} ${node.role}`;
    groups.set(key, [...(groups.get(key) ?? []), node]);
  }
  const sorted = [...groups.values()].sort(([a], [b]) => a!.cluster.name.localeCompare(b!.cluster.name) || a!.role.localeCompare(b!.role));
  return sorted.map((group) => {
    const [worst] = [...group].sort((a, b) => WORST[nodeState(b)] - WORST[nodeState(a)]) as [PlacedNode];
    const { cluster, role } = worst;
    const state = nodeState(worst);
    const bad = group.filter((node) => nodeState(node) === state).length;
    const some = WORST[state] > 0 && bad < group.length ? ` (${strings.detail.nodeState[state]}: ${shortNumber(bad)})` : '';
    return line(state, strings.card.host(cluster.name, role, group.length, some));
  });
}

/** Of a host: which clusters lose their quorum without it, so that they come before what it carries. */
export function describeImpact(clusters: readonly ClusterImpact[]): CardLine[] {
  return clusters.filter(({ verdict }) => verdict === 'loses_quorum').map(({ cluster, control_plane: { on_host, size } }) =>
    ({ tone: 'warning', state: strings.card.alone, text: strings.card.quorum(cluster.name, on_host, size) }));
}

/** Of a datacenter: how many clusters run there, and in which states; those that only a person has said to be ready by themselves. */
export function describeDatacenter(counts: ClusterCounts): CardLine[] {
  return countStates(counts).flatMap(({ state, n, declared }) => [...countLine(state, n - declared, 'reported'), ...countLine(state, declared, 'declared')]);
}

function countLine(state: ClusterState, n: number, source: Cluster['state_source']): CardLine[] {
  const { word, tone } = describeState(state, source);
  const told = source === 'declared' ? strings.card.byHand(word) : word;
  return n > 0 ? [{ tone, state: told, text: strings.card.datacenter(shortNumber(n), n, told) }] : [];
}
