// What a card says: which node a machine is, and what runs on a host and in a datacenter.
// SPDX-License-Identifier: GPL-3.0-or-later
import { describe, expect, it } from 'vitest';
import type { ClusterCounts, ClusterImpact, NodeState, PlacedNode } from '../src/api/types.js';
import { describeDatacenter, describeHost, describeImpact, describeMachine } from '../src/model/card.js';

const node = (cluster: string, role: PlacedNode['role'], name: string, state: NodeState = 'ready'): PlacedNode =>
  ({ id: name, name, role, state, cluster: { id: cluster, name: cluster } }) as PlacedNode;

describe('a machine', () => {
  it('is one of its role', () => {
    const nodes = [node('prod', 'control_plane', 'cp-10'), node('prod', 'worker', 'w'), node('prod', 'control_plane', 'cp-1'), node('prod', 'control_plane', 'cp-2')];
    const second = node('prod', 'control_plane', 'cp-2', 'not_ready');
    expect(describeMachine(second, { nodes, hidden: 0 })).toEqual({ tone: 'bad', state: 'Not ready', text: 'Control plane 2 of 3 of prod' });
    expect(describeMachine(second, { nodes, hidden: 1 }).text).toBe('Control plane of prod');
    expect(describeMachine(second, { nodes: [], hidden: 0 }).text).toBe('Control plane of prod');
  });
});

describe('a host', () => {
  it('is told by cluster and role, in the state of the worst', () => {
    const all = [node('b', 'worker', '1'), node('a', 'worker', '2', 'unknown'), node('a', 'worker', '3', 'not_ready'), node('a', 'control_plane', '4'), node('a', 'worker', '5')];
    expect(describeHost(all).map(({ tone, text }) => [tone, text])).toEqual([
      ['good', 'a: 1 of the control plane'], ['bad', 'a: 3 workers (Not ready: 1)'], ['good', 'b: 1 worker'],
    ]);
    expect(describeHost([])).toEqual([]);
  });
});

describe('without a host', () => {
  it('those that lose their quorum are told', () => {
    const row = (name: string, verdict: ClusterImpact['verdict'], on_host: number, size: number): ClusterImpact =>
      ({ cluster: { id: name, name }, verdict, control_plane: { size, running: size, left: size - on_host, on_host } });
    const all = [row('a', 'loses_quorum', 2, 3), row('b', 'no_quorum', 1, 3), row('c', 'keeps_quorum', 1, 3), row('d', 'workers_only', 0, 1)];
    expect(describeImpact(all)).toEqual([{ tone: 'warning', state: 'Needs this host', text: 'a loses its quorum without this host, which has 2 of 3 nodes of the control plane' }]);
    expect(describeImpact([])).toEqual([]);
  });
});

describe('a datacenter', () => {
  it('is told by the states of its clusters', () => {
    const counts = { total: 1235, states: { ready: 1234, degraded: 1, failed: 0 } } as unknown as ClusterCounts;
    expect(describeDatacenter(counts)).toEqual([
      { tone: 'warning', state: 'Degraded', text: '1 Kubernetes cluster: Degraded' }, { tone: 'good', state: 'Ready', text: '1,234 Kubernetes clusters: Ready' },
    ]);
  });
  it('does not mix what was seen with what was typed', () => {
    const told = (ready_declared: number) => describeDatacenter({ total: 3, states: { ready: 3 }, ready_declared } as unknown as ClusterCounts).map(({ tone, text }) => [tone, text]);
    const typed = (text: string) => ['hollow', `${text}: Ready (entered by hand)`];
    expect([told(0), told(1), told(3)]).toEqual([
      [['good', '3 Kubernetes clusters: Ready']], [['good', '2 Kubernetes clusters: Ready'], typed('1 Kubernetes cluster')], [typed('3 Kubernetes clusters')],
    ]);
  });
});
