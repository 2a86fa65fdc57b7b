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

/** Of a host: how many nodes of each cluster and role, in the state of the worst of them, and how many are as bad as that. */
export function describeHost(nodes: readonly PlacedNode[]): CardLine[] {
  const groups = new Map<string, PlacedNode[]>();
  for (const node of nodes) {
    const key = `${node.cluster.id} ${node.role}`;
    groups.set(key, [...(groups.get(key) ?? []), node]);
  }
  const sorted = [...groups.values()].sort(([a], [b]) => a!.cluster.name.localeCompare(b!.cluster.name) || a!.role.localeCompare(b!.role));
  return sorted.map((group) => {
    const [{ cluster, role, state }] = [...group].sort((a, b) => WORST[b.state] - WORST[a.state]) as [PlacedNode];
    const bad = group.filter((node) => node.state === state).length;
    const some = state !== 'ready' && bad < group.length ? ` (${strings.detail.nodeState[state]}: ${shortNumber(bad)})` : '';
    return line(state, strings.card.host(cluster.name, role, group.length, some));
  });
}

/** Of a datacenter: how many clusters run there, and in which states. */
export function describeDatacenter({ states }: ClusterCounts): CardLine[] {
  return STATES.filter((state) => states[state] > 0).map((state) => {
    const { word, tone } = describeState(state);
    return { tone, state: word, text: strings.card.datacenter(shortNumber(states[state]), states[state], word) };
  });
}
