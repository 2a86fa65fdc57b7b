// The details of a cluster: what each part asks for, what stays when a call fails.
// SPDX-License-Identifier: GPL-3.0-or-later
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Answer } from '../src/api/client.js';
import { ApiError } from '../src/api/error.js';
import type { AuditEntry, Cluster, ClusterHealth, ClusterUsage, Explanation, Grant, Job, Node, Vcenter } from '../src/api/types.js';
import { ClusterDetailModel, type FindJob } from '../src/model/cluster-detail.js';

const answer = (name: string | null): Answer<Cluster> => ({
  notModified: name === null, body: name === null ? null : ({ name } as Cluster), etag: name, asOf: null, stale: [], watchCursor: null });
const refusal = (code: string, status: number): ApiError =>
  new ApiError({ kind: 'problem', problem: { type: '', title: '', status, code, detail: '', request_id: '' }, retryAfterS: null });

const getCluster = vi.fn<(id: string, etag: string | null) => Promise<Answer<Cluster>>>();
const getHealth = vi.fn<() => Promise<ClusterHealth>>();
const listNodes = vi.fn<() => Promise<{ nodes: Node[]; hidden: number }>>();
const getUsage = vi.fn<() => Promise<ClusterUsage>>();
const explain = vi.fn<() => Promise<Explanation>>();
const listClusterGrants = vi.fn<() => Promise<Grant[]>>();
const listClusterEvents = vi.fn<() => Promise<AuditEntry[]>>();
const listVcenters = vi.fn<() => Promise<Vcenter[]>>();
const findJob = vi.fn<FindJob>();
const changed = vi.fn();
let isAdmin: boolean;
let model: ClusterDetailModel;

beforeEach(() => {
  vi.resetAllMocks();
  isAdmin = false;
  getCluster.mockResolvedValue(answer('a'));
  getHealth.mockResolvedValue({ connection: null, reasons: [] });
  listNodes.mockResolvedValue({ nodes: [], hidden: 2 });
  getUsage.mockResolvedValue({ items: [], silent_vcenters: ['v'] });
  explain.mockResolvedValue({ rules: [] });
  listClusterGrants.mockResolvedValue([]);
  model = new ClusterDetailModel({ getCluster, getHealth, listNodes, getUsage, explain, listClusterGrants, listClusterEvents, listVcenters }, 'id', 'summary', changed, () => isAdmin, findJob, () => new Date(0));
});

describe('the details', () => {
  it('ask vCenter what the nodes use when a person looks, not at each change', async () => {
    await model.open('nodes');
    await vi.waitFor(() => expect(model.usage).toEqual({ items: [], silent_vcenters: ['v'] }));
    await model.load(true);
    expect(getUsage).toHaveBeenCalledTimes(1);
    getUsage.mockRejectedValue(refusal('unreachable', 502));
    await model.load();
    await vi.waitFor(() => expect(model.usage).toBe('unknown'));
    expect([getUsage.mock.calls.length, model.failure]).toEqual([2, null]);
  });

  it('do without the health that a service of the version before does not tell, and keep what was told when it fails', async () => {
    await model.load();
    expect(model.content.health).toEqual({ connection: null, reasons: [] });
    getHealth.mockRejectedValue(refusal('unavailable', 503));
    await model.load();
    expect([model.failure?.code, model.content.health, model.cluster?.name]).toEqual(['unavailable', { connection: null, reasons: [] }, 'a']);
    getHealth.mockRejectedValue(refusal('not_found', 404));
    await model.load();
    expect([model.failure, model.content.health, model.isGone]).toEqual([null, null, false]);
  });

  it('ask for what the open part shows, and for that alone', async () => {
    await model.load();
    expect([model.cluster?.name, listNodes.mock.calls.length, explain.mock.calls.length]).toEqual(['a', 0, 0]);
    await model.open('nodes');
    expect([model.content.nodes?.hidden, explain.mock.calls.length]).toEqual([2, 0]);
    await model.open('nodes');
    expect(listNodes).toHaveBeenCalledTimes(1);
  });

  it('send the entity tag, and keep the cluster that has not changed', async () => {
    getCluster.mockResolvedValueOnce(answer('a')).mockResolvedValueOnce(answer(null)).mockResolvedValueOnce(answer('b'));
    await model.load();
    await model.load(true);
    expect([getCluster.mock.lastCall?.[1], model.cluster?.name]).toEqual(['a', 'a']);
    await model.load(true);
    expect([getCluster.mock.lastCall?.[1], model.cluster?.name]).toEqual(['a', 'b']);
  });

  it('show no grants to who may not know them', async () => {
    listClusterGrants.mockRejectedValue(refusal('forbidden', 403));
    await model.open('access');
    expect([model.content.access, model.failure]).toEqual([{ explanation: { rules: [] }, grants: null }, null]);
  });

  it('say when the cluster is not there, and when it is again', async () => {
    getCluster.mockRejectedValueOnce(refusal('not_found', 404));
    await model.load();
    expect([model.isGone, model.failure]).toEqual([true, null]);
    await model.load();
    expect([model.isGone, model.cluster?.name]).toEqual([false, 'a']);
  });

  it('keep what is shown when a call fails, until the service answers', async () => {
    await model.load();
    listNodes.mockRejectedValueOnce(refusal('busy', 503));
    await model.open('nodes');
    expect([model.cluster?.name, model.failure?.code, model.loading]).toEqual(['a', 'busy', false]);
    model.noteAnswer();
    await vi.waitFor(() => expect(model.failure).toBeNull());
  });

  it('name the vCenter that does not answer to administrators, until it does', async () => {
    getCluster.mockResolvedValue({ ...answer('a'), stale: ['vcenter'] });
    listVcenters.mockResolvedValue([{ id: 'v', name: 'east', state: 'unreachable' }, { id: 'w', name: 'west', state: 'connected' }]);
    await model.load();
    expect([listVcenters.mock.calls.length, model.stale]).toEqual([0, ['vcenter']]);
    isAdmin = true;
    await model.load();
    await vi.waitFor(() => expect(model.away.names).toEqual(['east']));
    getCluster.mockResolvedValue(answer('a'));
    await model.load();
    await vi.waitFor(() => expect(model.away.names).toEqual([]));
  });

  it('ask for a job where one may be why the cluster is as it is, or one is known, before they show anything', async () => {
    await model.load();
    expect([findJob.mock.calls.length, model.content.job]).toEqual([0, undefined]);
    getCluster.mockResolvedValue({ ...answer('a'), body: { id: 'id', name: 'a', state: 'creating' } as Cluster });
    findJob.mockResolvedValue({ id: 'j', ended_at: null } as Job);
    changed.mockImplementation(() => expect([model.cluster?.state, model.content.job?.id]).not.toEqual(['creating', undefined]));
    await model.load();
    model.noteAnswer();
    await vi.waitFor(() => expect(findJob.mock.calls.map(([id, known]) => [id, known])).toEqual([['id', undefined], ['id', 'j']]));
    getCluster.mockResolvedValue({ ...answer('a'), body: { id: 'id', name: 'a', state: 'ready' } as Cluster });
    findJob.mockResolvedValue({ id: 'j', ended_at: '2026-03-01T00:00:00Z' } as Job);
    await model.load();
    expect(model.content.job?.ended_at).not.toBeNull();
    model.noteAnswer();
    await model.open('nodes');
    expect(findJob).toHaveBeenCalledTimes(3);
  });

  it('leave the end of the session to the session', async () => {
    getCluster.mockRejectedValueOnce(refusal('session_ended', 401));
    await model.load();
    expect(model.failure).toBeNull();
  });

  it('drop the answer to a part that is left', async () => {
    let come: (nodes: { nodes: Node[]; hidden: number }) => void = () => undefined;
    listNodes.mockReturnValueOnce(new Promise((done) => (come = done)));
    const first = model.open('nodes');
    await model.open('access');
    come({ nodes: [], hidden: 9 });
    await first;
    expect(model.content.nodes).toBeUndefined();
  });
});
