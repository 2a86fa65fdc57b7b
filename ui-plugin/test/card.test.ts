// What a card says: which node a machine is, and what runs on a host.
// SPDX-License-Identifier: GPL-3.0-or-later
import { describe, expect, it } from 'vitest';
import type { NodeState, PlacedNode } from '../src/api/types.js';
import { describeHost, describeMachine } from '../src/model/card.js';

const node = (cluster: string, role: PlacedNode['role'], name: string, state: NodeState = 'ready'): PlacedNode =>
  ({ name, role, state, cluster: { id: cluster, name: cluster } }) as PlacedNode;

describe('a machine', () => {
  it('is one of its role', () => {
    const all = [node('prod', 'control_plane', 'c'), node('prod', 'worker', 'w'), node('prod', 'control_plane', 'a'), node('prod', 'control_plane', 'b')];
    expect(describeMachine(node('prod', 'control_plane', 'b', 'not_ready'), all)).toEqual({ cluster: 'prod', role: 'control_plane', state: 'not_ready', number: 2, of: 3 });
  });
});

describe('a host', () => {
  it('is told by cluster and role, in the state of the worst', () => {
    const all = [node('b', 'worker', '1'), node('a', 'worker', '2', 'unknown'), node('a', 'worker', '3', 'not_ready'), node('a', 'control_plane', '4'), node('a', 'worker', '5')];
    expect(describeHost(all).map(({ cluster, role, number, state }) => [cluster, role, number, state])).toEqual([
      ['a', 'control_plane', 1, 'ready'], ['a', 'worker', 3, 'not_ready'], ['b', 'worker', 1, 'ready'],
    ]);
    expect(describeHost([])).toEqual([]);
  });
});
