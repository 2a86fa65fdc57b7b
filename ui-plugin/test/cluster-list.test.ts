// The model behind the list: paging, overtaken answers, what stays and what goes when a call fails.
// SPDX-License-Identifier: GPL-3.0-or-later
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Answer } from '../src/api/client.js';
import { ApiError } from '../src/api/error.js';
import type { Cluster, ClusterCounts, ClusterFilter, ClusterPage, ClusterQuery, HxCluster, Vcenter } from '../src/api/types.js';
import { FIRST_QUERY } from '../src/model/address.js';
import { ClusterListModel } from '../src/model/cluster-list.js';

type Page = Answer<ClusterPage>;

const row = (name: string): Cluster => ({ id: name, name }) as Cluster;
const page = (names: string[], total = names.length, more: Partial<Page> = {}): Page => ({
  notModified: false, body: { items: names.map(row), next_cursor: null, total }, etag: `W/"${names.join()}"`, asOf: null, stale: [], watchCursor: null, ...more,
});

function refusal(code: string, status: number): ApiError {
  return new ApiError({ kind: 'problem', problem: { type: '', title: '', status, code, detail: '', request_id: '' }, retryAfterS: null });
}

const listClusters = vi.fn<(query: ClusterQuery, etag: string | null, signal?: AbortSignal) => Promise<Page>>();
const countClusters = vi.fn<(filter: ClusterFilter, signal?: AbortSignal) => Promise<ClusterCounts>>();
const listAllHxClusters = vi.fn<() => Promise<HxCluster[]>>();
const listVcenters = vi.fn<() => Promise<Vcenter[]>>();
const changed = vi.fn();
let isAdmin: boolean;
let isReading: boolean;
let model: ClusterListModel;

beforeEach(() => {
  vi.resetAllMocks();
  listAllHxClusters.mockResolvedValue([]);
  countClusters.mockResolvedValue({ total: 0, states: {} as ClusterCounts['states'] });
  isAdmin = false;
  isReading = false;
  model = modelFor(FIRST_QUERY);
});

function modelFor(query: typeof FIRST_QUERY): ClusterListModel {
  const listener = { changed, isAdmin: () => isAdmin, isReading: () => isReading };
  return new ClusterListModel({ listClusters, countClusters, listAllHxClusters, listVcenters }, listener, query, null, () => new Date(0));
}

const names = (): string[] | undefined => model.page?.items.map((c) => c.name);
const lastQuery = (): ClusterQuery | undefined => listClusters.mock.lastCall?.[0];

describe('pages', () => {
  it('are asked for by number, and there are as many as the total says', async () => {
    listClusters.mockImplementation(async ({ offset }) => page(offset === 100 ? ['c'] : ['a', 'b'], 101));
    await model.refresh();
    expect([names(), model.pageNumber, model.pageCount]).toEqual([['a', 'b'], 1, 3]);
    expect(lastQuery()).toMatchObject({ limit: 50 });
    expect(lastQuery()).not.toHaveProperty('offset');
    await model.turnTo(3);
    expect(lastQuery()).toMatchObject({ limit: 50, offset: 100 });
    expect([names(), model.pageNumber]).toEqual([['c'], 3]);
    await model.turnTo(4);
    await model.turnTo(0);
    expect(listClusters).toHaveBeenCalledTimes(2);
  });

  it('begin at the front after another question, another order and another size', async () => {
    listClusters.mockResolvedValue(page(['a'], 500));
    await model.refresh();
    for (const change of [{ q: 'x' }, { sort: 'state' }, { size: 100 }, { states: ['failed'] }, { label: 'a=b' }] as const) {
      await model.turnTo(3);
      await model.ask(change);
      expect([model.pageNumber, lastQuery()?.offset]).toEqual([1, undefined]);
    }
    expect(lastQuery()).toEqual({ q: 'x', sort: 'state', limit: 100, state: 'failed', label: 'a=b', hx_cluster_id: '', hx_cluster: '' });
  });

  it('are of all clusters again when the filters are cleared', async () => {
    listClusters.mockResolvedValue(page(['a']));
    const filters: Partial<typeof FIRST_QUERY>[] = [{ q: 'x' }, { states: ['failed'] }, { label: 'a=b' }, { hxClusterId: 'h' }, { hxName: 'HX-East' }, { onHx: false }];
    for (const filter of filters) {
      model = modelFor({ ...FIRST_QUERY, ...filter });
      expect(model.isFiltered).toBe(true);
      await model.clearFilters();
      expect([filter, model.isFiltered]).toEqual([filter, false]);
    }
  });

  it('that are no more are left for the last one', async () => {
    listClusters.mockImplementation(async ({ offset }) => (offset === 50 ? page(['z'], 51) : page([], 51)));
    model = modelFor({ ...FIRST_QUERY, page: 9 });
    await model.refresh();
    expect([names(), model.pageNumber, model.query.page]).toEqual([['z'], 2, 2]);
  });
});

describe('the first call', () => {
  it('brings the rows alone; the rest is asked for when they are there', async () => {
    let answer: (p: Page) => void = () => undefined;
    listClusters.mockImplementationOnce(() => new Promise((done) => (answer = done)));
    const started = model.refresh();
    expect([listClusters, countClusters, listAllHxClusters].map((call) => call.mock.calls.length)).toEqual([1, 0, 0]);
    answer(page(['a'], 500));
    await started;
    expect([listClusters, countClusters, listAllHxClusters].map((call) => call.mock.calls.length)).toEqual([1, 1, 1]);
  });
});

describe('the cursor to follow from', () => {
  const asks = (): (string | undefined)[] => listClusters.mock.calls.map(([query]) => query.watch);
  const answered = (watchCursor: string | null): Page => page(['a'], 500, { watchCursor });

  it('comes with the first answer to each question, whatever its order and page', async () => {
    listClusters.mockResolvedValueOnce(answered('c1')).mockResolvedValueOnce(answered('c2')).mockResolvedValue(answered(null));
    await model.refresh();
    expect([asks(), model.watchCursor]).toEqual([[''], 'c1']);
    await model.ask({ q: 'x' });
    expect([asks(), model.watchCursor]).toEqual([['', ''], 'c2']);
    await model.refresh();
    await model.turnTo(2);
    await model.sortBy('-name');
    expect([asks().slice(2), model.watchCursor]).toEqual([[undefined, undefined, undefined], 'c2']);
  });

  it('is not that of some states, since all are followed', async () => {
    listClusters.mockResolvedValue(answered(null));
    model = modelFor({ ...FIRST_QUERY, states: ['failed'] });
    await model.refresh();
    expect([asks(), model.watchCursor]).toEqual([[undefined], '']);
  });

  it('is not that of what was asked before something else was typed', async () => {
    let first: (p: Page) => void = () => undefined;
    let second: (p: Page) => void = () => undefined;
    listClusters.mockImplementationOnce(() => new Promise((done) => (first = done))).mockImplementationOnce(() => new Promise((done) => (second = done)));
    const typed = model.type('a');
    await model.type('ab');
    const loading: boolean[] = [];
    changed.mockImplementation(() => loading.push(model.loading));
    first(answered('of a'));
    await vi.waitFor(() => expect(listClusters).toHaveBeenCalledTimes(2));
    expect([loading, model.watchCursor, countClusters.mock.calls.length]).toEqual([[true], '', 0]); // nothing to follow yet
    second(answered('of ab'));
    await typed;
    expect([model.watchCursor, model.loading, countClusters.mock.calls.length]).toEqual(['of ab', false, 1]);
  });
});

describe('counts', () => {
  it('are of all states, whatever is chosen of them', async () => {
    listClusters.mockResolvedValue(page(['a']));
    countClusters.mockResolvedValue({ total: 7, states: { failed: 2 } as ClusterCounts['states'] });
    await model.ask({ q: ' x ', states: ['failed'] });
    await vi.waitFor(() => expect(model.counts?.total).toBe(7));
    expect([model.counts?.total, countClusters.mock.lastCall?.[0]]).toEqual([7, { q: 'x', label: '', hx_cluster_id: '', hx_cluster: '' }]);
    expect(model.watched()).toEqual({ q: 'x', label: '', hx_cluster_id: '', hx_cluster: '' });
  });

  it('are not asked for where the rows are all there are', async () => {
    const rows = [{ state: 'failed' }, { state: 'ready', state_source: 'declared' }, { state: 'failed', state_source: 'declared' }] as Cluster[];
    listClusters.mockResolvedValueOnce(page([], 3, { body: { items: rows, next_cursor: null, total: 3 } }));
    await model.refresh();
    expect(model.counts).toMatchObject({ total: 3, states: { failed: 2, ready: 1, unknown: 0 }, ready_declared: 1 });
    listClusters.mockResolvedValueOnce({ ...page([]), notModified: true, body: null });
    await model.refreshQuietly();
    expect([model.counts?.total, countClusters.mock.calls.length]).toEqual([3, 0]);
    listClusters.mockResolvedValueOnce(page(['a'], 500));
    await model.refreshQuietly();
    await vi.waitFor(() => expect(model.counts?.total).toBe(0));
  });

  it('of an earlier question are dropped', async () => {
    let late: (counts: ClusterCounts) => void = () => undefined;
    listClusters.mockResolvedValue(page(['a'], 500));
    countClusters.mockReturnValueOnce(new Promise((done) => (late = done))).mockResolvedValueOnce({ total: 2, states: {} as ClusterCounts['states'] });
    await model.ask({ q: 'x' });
    await model.ask({ q: 'xy' });
    await vi.waitFor(() => expect(model.counts?.total).toBe(2));
    late({ total: 1, states: {} as ClusterCounts['states'] });
    await Promise.resolve();
    expect([model.counts?.total, countClusters.mock.calls[0]?.[1]?.aborted]).toEqual([2, true]);
  });

  it('that cannot be had do not stop the list', async () => {
    listClusters.mockResolvedValue(page(['a'], 500));
    countClusters.mockRejectedValue(refusal('internal', 500));
    await model.refresh();
    expect([names(), model.counts, model.failure]).toEqual([['a'], null, null]);
  });
});

describe('rows that somebody reads', () => {
  const body = (rows: Partial<Cluster>[]): Page => page([], rows.length, { body: { items: rows as Cluster[], next_cursor: null, total: rows.length } });
  const before = body([{ id: 'a' }, { id: 'b' }, { id: 'c' }]);
  const after = body([{ id: 'c' }, { id: 'a', state: 'failed' }, { id: 'd' }]);
  const shown = (): unknown[] | undefined => model.page?.items.map(({ id, state }) => (state ? `${id} ${state}` : id));

  beforeEach(async () => {
    listClusters.mockResolvedValueOnce(before).mockResolvedValueOnce(after);
    await model.refresh();
    isReading = true;
  });

  it('stay where they are, with what is new of them, until they are let go', async () => {
    await model.refreshQuietly();
    expect([shown(), model.heldMoves]).toEqual([['a failed', 'b', 'c'], 4]);
    model.showHeld();
    expect([shown(), model.heldMoves]).toEqual([['c', 'a failed', 'd'], 0]);
  });

  it('are others at once for who asks', async () => {
    await model.refresh();
    expect([shown(), model.heldMoves]).toEqual([['c', 'a failed', 'd'], 0]);
  });

  it('are no longer held back when they are again where they were', async () => {
    listClusters.mockResolvedValueOnce(before);
    await model.refreshQuietly();
    await model.refreshQuietly();
    expect([shown(), model.heldMoves]).toEqual([['a', 'b', 'c'], 0]);
  });

  it('are let go with the next sign of the service, once nobody reads them', async () => {
    await model.refreshQuietly();
    model.noteAnswer();
    expect(model.heldMoves).toBe(4);
    isReading = false;
    model.noteAnswer();
    expect([shown(), model.heldMoves]).toEqual([['c', 'a failed', 'd'], 0]);
  });

  it('are let go when the page is as it was held back, once nobody reads them', async () => {
    listClusters.mockResolvedValueOnce({ ...before, notModified: true, body: null });
    await model.refreshQuietly();
    isReading = false;
    await model.refreshQuietly();
    expect([shown(), model.heldMoves]).toEqual([['c', 'a failed', 'd'], 0]);
  });

  it('move while nobody reads them', async () => {
    isReading = false;
    await model.refreshQuietly();
    expect([shown(), model.heldMoves]).toEqual([['c', 'a failed', 'd'], 0]);
  });
});

describe('what is typed', () => {
  it('is asked for one at a time: at once, then the newest when the answer is there', async () => {
    let answer: (p: Page) => void = () => undefined;
    listClusters.mockImplementationOnce(() => new Promise((done) => (answer = done))).mockResolvedValue(page(['abc']));
    const typed = model.type('a');
    await model.type('ab');
    await model.type('abc');
    expect([listClusters.mock.calls.length, model.query.q]).toEqual([1, 'abc']);
    answer(page(['a']));
    await typed;
    expect(listClusters.mock.calls.map(([query]) => query.q)).toEqual(['a', 'abc']);
    expect([names(), model.loading]).toEqual([['abc'], false]);
  });

  it('is asked for when the call before has failed', async () => {
    let fail: (error: Error) => void = () => undefined;
    listClusters.mockImplementationOnce(() => new Promise((_, no) => (fail = no))).mockResolvedValue(page(['ab']));
    const typed = model.type('a');
    await model.type('ab');
    fail(refusal('busy', 503));
    await typed;
    expect([names(), model.failure]).toEqual([['ab'], null]);
  });
});

describe('an HX cluster that is named', () => {
  const hx = (id: string, name: string): HxCluster => ({ id, name, hx_uuid: `${id}:9`, management_address: `10.0.0.${id}`, vsphere_cluster: { datacenter: 'DC0', name: `C${id}` } }) as HxCluster;
  const named = { ...FIRST_QUERY, hxName: 'HX-East' };

  beforeEach(() => {
    listClusters.mockResolvedValue(page(['a']));
    model = modelFor(named);
  });

  it('is asked for by its name, and by its id from then on', async () => {
    listAllHxClusters.mockResolvedValue([hx('1', 'HX-East'), hx('2', 'HX-West')]);
    await model.refresh();
    expect(listClusters.mock.calls.map(([query]) => [query.hx_cluster, query.hx_cluster_id])).toEqual([['HX-East', '']]);
    expect([model.query.hxName, model.query.hxClusterId, model.watched().hx_cluster_id]).toEqual(['', '1', '1']);
    await model.refreshQuietly();
    expect([names(), model.heldMoves]).toEqual([['a'], 0]);
  });

  it.each(['HX-East', '1:9', '10.0.0.1', 'DC0/C1'])('may be called %s', async (hxName) => {
    listAllHxClusters.mockResolvedValue([hx('1', 'HX-East'), hx('2', 'HX-West')]);
    model = modelFor({ ...FIRST_QUERY, hxName });
    await model.refresh();
    expect(model.query.hxClusterId).toBe('1');
  });

  it('that only the service knows goes on being asked for by its name', async () => {
    listAllHxClusters.mockResolvedValue([hx('2', 'HX-West')]);
    await model.refresh();
    expect([names(), model.hxFault, model.query.hxName, model.isFiltered]).toEqual([['a'], null, 'HX-East', true]);
  });

  it.each(['not_found', 'hx_name_unknown', 'ambiguous'])('that is not one (%s) has no rows, until another is chosen', async (code) => {
    listClusters.mockRejectedValueOnce(refusal(code, 404));
    listAllHxClusters.mockResolvedValue([hx('1', 'HX-East')]);
    await model.refresh();
    expect([model.hxFault?.failure.code, model.hxFault?.candidates, model.page]).toEqual([code, [], null]);
    await model.ask({ hxClusterId: '1' });
    expect([model.hxFault, names(), model.query.hxName]).toEqual([null, ['a'], '']);
  });
});

describe('questions', () => {
  it('are not asked twice', async () => {
    listClusters.mockResolvedValue(page([]));
    await model.ask({ q: 'x' });
    await model.ask({ q: 'x' });
    await model.go({ ...FIRST_QUERY, q: 'x' });
    expect(listClusters).toHaveBeenCalledTimes(1);
  });

  it('overtake: the answer to the earlier one is dropped and its call given up', async () => {
    let late: (p: Page) => void = () => undefined;
    listClusters.mockImplementationOnce(() => new Promise((done) => (late = done))).mockResolvedValueOnce(page(['new']));
    const first = model.ask({ q: 'a' });
    await model.ask({ q: 'ab' });
    late(page(['old']));
    await first;
    expect(listClusters.mock.calls[0]?.[2]?.aborted).toBe(true);
    expect([names(), model.loading]).toEqual([['new'], false]);
  });
});

describe('renewal', () => {
  it('sends the entity tag and keeps the rows on "not modified"', async () => {
    listClusters.mockResolvedValueOnce(page(['a'])).mockResolvedValueOnce({ notModified: true, body: null, etag: null, asOf: 'later', stale: ['vcenter'], watchCursor: null });
    await model.refresh();
    await model.refreshQuietly();
    expect(listClusters.mock.lastCall?.[1]).toBe('W/"a"');
    expect([names(), model.asOf, model.stale]).toEqual([['a'], 'later', ['vcenter']]);
  });

  it('waits for a call under way, whose answer may be from before the change', async () => {
    let answer: (page: Page) => void = () => undefined;
    listClusters.mockReturnValueOnce(new Promise((resolve) => (answer = resolve))).mockResolvedValueOnce(page(['a', 'b']));
    const refreshed = model.refresh();
    await model.refreshQuietly();
    expect(listClusters).toHaveBeenCalledTimes(1);
    answer(page(['a']));
    await refreshed;
    await vi.waitFor(() => expect(names()).toEqual(['a', 'b']));
    expect(listClusters).toHaveBeenCalledTimes(2);
  });

  it('is not done for a change that a later call has seen', async () => {
    listClusters.mockReturnValueOnce(new Promise(() => undefined)).mockResolvedValue(page(['a']));
    void model.refresh();
    await model.refreshQuietly();
    await model.refresh();
    expect([names(), listClusters.mock.calls.length]).toEqual([['a'], 2]);
  });
});

describe('failure', () => {
  it('keeps the rows of the same question, and goes away with the next success', async () => {
    listClusters.mockResolvedValueOnce(page(['a'])).mockRejectedValueOnce(refusal('internal', 500)).mockResolvedValueOnce(page(['a']));
    await model.refresh();
    await model.refresh();
    expect([names(), model.failure?.code, model.loading]).toEqual([['a'], 'internal', false]);
    await model.refreshQuietly();
    expect(model.failure).toBeNull();
  });

  it('drops the rows of another question', async () => {
    listClusters.mockResolvedValueOnce(page(['a'])).mockRejectedValueOnce(refusal('internal', 500));
    await model.refresh();
    await model.ask({ q: 'x' });
    expect([model.page, model.counts, model.failure?.code]).toEqual([null, null, 'internal']);
  });

  it('of the session is left to the session', async () => {
    listClusters.mockRejectedValueOnce(refusal('session_ended', 401));
    await model.refresh();
    expect([model.failure, model.loading]).toEqual([null, false]);
  });
});

describe('what following the list tells', () => {
  const silence = new ApiError({ kind: 'timeout' });

  it('ends a failure that is over: the service answers, so the list is asked for again', async () => {
    listClusters.mockResolvedValueOnce(page(['a'])).mockRejectedValueOnce(new ApiError({ kind: 'unreachable' })).mockResolvedValueOnce(page(['a']));
    await model.refresh();
    model.noteAnswer();
    expect(listClusters).toHaveBeenCalledTimes(1);
    await model.refresh();
    expect(model.failure).not.toBeNull();
    model.noteAnswer();
    await vi.waitFor(() => expect(model.failure).toBeNull());
    expect(listClusters).toHaveBeenCalledTimes(3);
  });

  it('shows that the service hangs, beside the rows, until it answers', async () => {
    listClusters.mockResolvedValue(page(['a']));
    await model.refresh();
    changed.mockClear();
    model.noteSilence(silence);
    expect([names(), model.failure, changed.mock.calls.length]).toEqual([['a'], silence, 1]);
    await model.refreshQuietly();
    expect(model.failure).toBeNull();
  });

  it('says nothing more while a call that somebody waits for is under way', async () => {
    listClusters.mockReturnValueOnce(new Promise(() => undefined));
    void model.refresh();
    model.noteSilence(silence);
    expect(model.failure).toBeNull();
  });
});

describe('vCenters that are away', () => {
  const vcenter = (name: string, state: Vcenter['state']): Vcenter => ({ id: name, name, state });
  const stale = page(['a'], 1, { stale: ['vcenter'] });

  it('are named to an administrator, until they are back', async () => {
    isAdmin = true;
    listClusters.mockResolvedValueOnce(stale).mockResolvedValueOnce(page(['a']));
    listVcenters.mockResolvedValue([vcenter('east', 'unreachable'), vcenter('west', 'connected'), vcenter('north', 'refused'), vcenter('new', 'not_registered')]);
    await model.refresh();
    await vi.waitFor(() => expect(model.away.names).toEqual(['east', 'north']));
    await model.refresh();
    await vi.waitFor(() => expect(model.away.names).toEqual([]));
    expect(listVcenters).toHaveBeenCalledTimes(1);
  });

  it('are not asked for by others, who may not know', async () => {
    listClusters.mockResolvedValue(stale);
    await model.refresh();
    expect([listVcenters.mock.calls.length, model.stale]).toEqual([0, ['vcenter']]);
  });

  it('that cannot be named do not stop the list', async () => {
    isAdmin = true;
    listClusters.mockResolvedValue(stale);
    listVcenters.mockRejectedValue(refusal('internal', 500));
    await model.refresh();
    await vi.waitFor(() => expect(listVcenters).toHaveBeenCalled());
    expect([names(), model.failure, model.away.names]).toEqual([['a'], null, []]);
  });
});

describe('HX clusters', () => {
  it('that cannot be read do not stop the list', async () => {
    listClusters.mockResolvedValue(page(['a']));
    listAllHxClusters.mockRejectedValue(refusal('internal', 500));
    await model.refresh();
    expect([names(), model.hxFailed, model.failure]).toEqual([['a'], true, null]);
  });

  it('that come when the list has gone say nothing', async () => {
    let come = (_all: HxCluster[]): void => {};
    listClusters.mockResolvedValue(page(['a']));
    listAllHxClusters.mockReturnValueOnce(new Promise((resolve) => { come = resolve; }));
    const refreshed = model.refresh();
    await vi.waitFor(() => expect(names()).toEqual(['a']));
    model.stop();
    changed.mockClear();
    come([]);
    await refreshed;
    expect([changed.mock.calls.length, model.hxClusters]).toEqual([0, null]);
  });
});
