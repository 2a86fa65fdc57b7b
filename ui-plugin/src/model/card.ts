// What a card says of the virtual machine, host or datacenter that it is about. Pure.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ClusterCounts, Node, NodeState, PlacedNode } from '../api/types.js';
import { strings } from '../strings/index.js';
import { STATES, describeState, shortNumber, type Tone } from './format.js';

export interface CardLine {
  tone: Tone;
  /** The state in a word. */
  state: string;
  text: string;
}

const TONE: Record<NodeState, Tone> = { ready: 'good', not_ready: 'bad', unknown: 'neutral' };
const WORST: Record<NodeState, number> = { ready: 0, unknown: 1, not_ready: 2 };

function line(state: NodeState, text: string): CardLine {
  return { tone: TONE[state], state: strings.detail.nodeState[state], text };
}

const inOrder = new Intl.Collator(undefined, { numeric: true }).compare;

/** Of a virtual machine: which node it is, of those of its cluster. Counts nothing where the viewer may not see all of them. */
export function describeMachine({ cluster, id, role, state }: PlacedNode, { nodes, hidden }: { nodes: readonly Node[]; hidden: number }): CardLine {
  const sorted = nodes.filter((node) => node.role === role).sort((a, b) => inOrder(a.name, b.name));
  const at = sorted.findIndex((node) => node.id === id);
  return line(state, hidden > 0 || at < 0 ? strings.card.part(role, cluster.name) : strings.card.machine(role, at + 1, sorted.length, cluster.name));
}

/** Of a host: how many nodes of each cluster and role, in the state of the worst of them. */
export function describeHost(nodes: readonly PlacedNode[]): CardLine[] {
  const groups = new Map<string, { first: PlacedNode; state: NodeState; count: number }>();
  for (const node of nodes) {
    const key = `${node.cluster.id} ${node.role}`;
    const group = groups.get(key) ?? { first: node, state: node.state, count: 0 };
    group.count += 1;
    if (WORST[node.state] > WORST[group.state]) group.state = node.state;
    groups.set(key, group);
  }
  const sorted = [...groups.values()].sort(({ first: a }, { first: b }) => a.cluster.name.localeCompare(b.cluster.name) || a.role.localeCompare(b.role));
  return sorted.map(({ first, state, count }) => line(state, strings.card.host(first.cluster.name, first.role, count)));
}

/** Of a datacenter: how many clusters run there, and in which states. */
export function describeDatacenter({ states }: ClusterCounts): CardLine[] {
  return STATES.filter((state) => states[state] > 0).map((state) => {
    const { word, tone } = describeState(state);
    return { tone, state: word, text: strings.card.datacenter(shortNumber(states[state]), states[state], word) };
  });
}
