// The overview: what is asked for, what one failing call takes away, and how HX clusters are described.
// SPDX-License-Identifier: GPL-3.0-or-later
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../src/api/error.js';
import type { ClusterCounts, ClusterFilter, HxCluster, HxClusterWhole, HxConnection, HxFacts, Vcenter } from '../src/api/types.js';
import { describeCapacity, describeHealth, hxWord, isOld } from '../src/model/hx-health.js';
import { OverviewModel } from '../src/model/overview.js';
import { chooseLanguage } from '../src/strings/index.js';

const hx = (id: string, present = true): HxCluster => ({ id, name: id, present }) as HxCluster;
const counts = (total: number): ClusterCounts => ({ total, states: {} as ClusterCounts['states'] });
const FACTS: HxFacts = {
  read_at: '2026-01-01T00:00:00Z', version: '5.5', state: 'ONLINE', resiliency: 'HEALTHY', space: 'NORMAL', messages: null, capacity_bytes: 4 * 1024 ** 4, used_bytes: 1024 ** 4, nodes_configured: 4, nodes_online: 4, alarms: 0,
};
const READ_AT = Date.parse(FACTS.read_at);
const whole = (id: string, total = 2, facts: HxFacts | null = FACTS): HxClusterWhole => ({ ...hx(id), clusters: counts(total), facts });
const connection = (id: string, facts: HxFacts | null = FACTS, state: HxConnection['status']['state'] = 'ok'): HxConnection => ({
  hx_cluster: { id }, status: { state, checked_at: null, detail: null, remedy: null, facts } });
const refusal = (code: string): ApiError => new ApiError({ kind: 'problem', problem: { type: '', title: '', status: 403, code, detail: '', request_id: '' }, retryAfterS: null });

describe('the overview', () => {
  const countClusters = vi.fn<(filter: ClusterFilter) => Promise<ClusterCounts>>();
  const listWholeHxClusters = vi.fn<() => Promise<HxClusterWhole[]>>();
  const listHxConnections = vi.fn<() => Promise<HxConnection[]>>();
  const listVcenters = vi.fn<() => Promise<Vcenter[]>>();
  let isAdmin: boolean;
  const model = () => new OverviewModel({ countClusters, listWholeHxClusters, listHxConnections, listVcenters }, () => undefined, () => isAdmin, () => new Date(0));

  beforeEach(() => {
    vi.resetAllMocks();
    isAdmin = true;
    countClusters.mockImplementation(async ({ on_hx }) => counts(on_hx === 'false' ? 5 : 9));
    listWholeHxClusters.mockResolvedValue([whole('a'), whole('b')]);
    listHxConnections.mockResolvedValue([connection('b', { ...FACTS, messages: 'a node is away' })]);
  });

  it('puts counts, HX clusters and what they say together', async () => {
    const shown = model();
    await shown.load();
    expect([shown.counts?.total, shown.hxClusters?.map((one) => [one.hx.id, one.hx.clusters.total, one.connection?.hx_cluster.id, one.facts?.messages])])
      .toEqual([9, [['a', 2, undefined, null], ['b', 2, 'b', 'a node is away']]]);
  });

  it('is loading until something is there, however quietly it is asked for again', async () => {
    const shown = model();
    void shown.load();
    const again = shown.load(true);
    expect(shown.loading).toBe(true);
    await again;
    expect(shown.loading).toBe(false);
    const quiet = shown.load(true);
    expect(shown.loading).toBe(false);
    await quiet;
  });

  it('does not ask for what only administrators may know', async () => {
    isAdmin = false;
    const shown = model();
    await shown.load();
    expect(listHxConnections).not.toHaveBeenCalled();
    expect(shown.hxClusters?.map((one) => describeHealth(one.hx, one.facts, one.connection, 0)?.words)).toEqual([['Online', 'healthy'], ['Online', 'healthy']]);
  });

  it('is there without what cannot be had of what they say', async () => {
    listHxConnections.mockRejectedValue(refusal('forbidden'));
    const shown = model();
    await shown.load();
    expect([shown.failure, shown.hxClusters?.map((one) => one.connection)]).toEqual([null, [null, null]]);
  });

  it('counts each cluster on HX clusters or elsewhere, and says by how much several places count more', async () => {
    const shown = model();
    await shown.load();
    expect([shown.onHx, shown.elsewhere?.total, shown.surplus]).toEqual([4, 5, 0]);
    listWholeHxClusters.mockResolvedValue([whole('a', 4), whole('b', 3)]);
    await shown.load();
    expect([shown.onHx, shown.surplus]).toEqual([4, 3]);
  });

  it('has the worst HX cluster first, and those that are equal by name', async () => {
    isAdmin = false;
    const states = [['a', 'HEALTHY'], ['b', 'UNHEALTHY'], ['c', null], ['d', 'UNHEALTHY']] as const;
    listWholeHxClusters.mockResolvedValue([...states.map(([id, resiliency]) => whole(id, 1, { ...FACTS, resiliency })), whole('e', 1, null), whole('f', 1, { ...FACTS, state: 'OFFLINE' })]);
    const shown = model();
    await shown.load();
    expect(shown.hxClusters?.map((one) => one.hx.id).join('')).toBe('fbdeac');
  });

  it('names the vCenter that does not answer to administrators', async () => {
    countClusters.mockImplementation(async () => ({ ...counts(9), stale: ['vcenter'] }));
    listVcenters.mockResolvedValue([{ id: 'v', name: 'east', state: 'refused' }]);
    const shown = model();
    await shown.load();
    await vi.waitFor(() => expect(shown.away.names).toEqual(['east']));
  });

  it('keeps what it shows when it cannot be had again, until the service answers', async () => {
    const shown = model();
    await shown.load();
    countClusters.mockRejectedValueOnce(refusal('internal'));
    await shown.load();
    expect([shown.failure?.code, shown.counts?.total]).toEqual(['internal', 9]);
    shown.noteAnswer();
    await vi.waitFor(() => expect(shown.failure).toBeNull());
  });
});

describe('health', () => {
  afterEach(() => chooseLanguage(['en']));
  it.each([
    [connection('a'), 'good', ['Online', 'healthy']],
    [connection('a', { ...FACTS, resiliency: 'UNHEALTHY' }), 'warning', ['Online', 'not healthy']],
    [connection('a', { ...FACTS, state: 'OFFLINE' }), 'bad', ['Offline', 'healthy']],
    [connection('a', { ...FACTS, state: null, resiliency: null }), 'good', []],
    [connection('a', FACTS, 'failing'), 'warning', ['Cannot be read']],
    [connection('a', null, 'unknown'), 'neutral', ['Not asked yet']],
  ] as const)('%# has tone and words', (given, tone, words) => {
    expect(describeHealth(hx('a'), given.status.facts, given, READ_AT)).toEqual({ tone, words });
  });
  it('is not known before it is read, and gone is gone', () => {
    expect(describeHealth(hx('a'), null, null, READ_AT)).toBeNull();
    expect(describeHealth(hx('a', false), FACTS, connection('a'), READ_AT)?.words).toEqual(['No longer in vCenter']);
  });
  it('that was good is not, once it cannot be read or was read long ago; what was wrong stays wrong', () => {
    const minutes = (n: number) => READ_AT + n * 60_000;
    const tone = (facts: HxFacts, nowMs: number) => describeHealth(hx('a'), facts, null, nowMs)?.tone;
    expect([tone(FACTS, minutes(19)), tone(FACTS, minutes(21)), tone({ ...FACTS, state: 'OFFLINE' }, minutes(21))]).toEqual(['good', 'neutral', 'bad']);
    const states = (['ok', 'unknown', 'failing', 'refused'] as const).map((state) => isOld(FACTS, connection('a', FACTS, state), READ_AT));
    expect([isOld(FACTS, null, READ_AT), ...states]).toEqual([false, false, false, true, true]);
  });
  it('has words that are not known as HX has them', () => {
    expect(['SOME_NEW_WORD', 'constructor'].map(hxWord)).toEqual(['Some new word', 'constructor']);
  });
});

describe('capacity', () => {
  afterEach(() => chooseLanguage(['en']));
  it('is told with units, as the reader writes numbers', () => {
    expect(describeCapacity(FACTS)).toEqual({ used: 0.25, percent: '25%', words: '1 TiB of 4 TiB used', tone: 'busy' });
    chooseLanguage(['de']);
    expect(describeCapacity({ ...FACTS, used_bytes: 1.5 * 1024 ** 3, space: 'WARNING' })).toMatchObject({ words: '1,5 GiB von 4 TiB belegt', tone: 'warning' });
  });
  it('that is not told is none', () => {
    expect([{ used_bytes: null }, { capacity_bytes: null }, { capacity_bytes: 0 }].map((more) => describeCapacity({ ...FACTS, ...more }))).toEqual([null, null, null]);
    expect(describeCapacity({ ...FACTS, used_bytes: 9 * 1024 ** 4 })?.used).toBe(1);
  });
});
