// The model behind the list: paging, overtaken answers, what stays and what goes when a call fails.
// SPDX-License-Identifier: GPL-3.0-or-later
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Answer } from '../src/api/client.js';
import { ApiError } from '../src/api/error.js';
import type { Cluster, ClusterQuery, HxCluster, List, Vcenter } from '../src/api/types.js';
import { ClusterListModel, PAGE_SIZE } from '../src/model/cluster-list.js';

type Page = Answer<List<Cluster>>;

const row = (name: string): Cluster => ({ id: name, name }) as Cluster;
const page = (names: string[], next: string | null = null, more: Partial<Page> = {}): Page => ({
  notModified: false, body: { items: names.map(row), next_cursor: next }, etag: `W/"${names.join()}"`, asOf: null, stale: [], watchCursor: null, ...more,
});

function refusal(code: string, status: number): ApiError {
  return new ApiError({ kind: 'problem', problem: { type: '', title: '', status, code, detail: '', request_id: '' }, retryAfterS: null });
}

const listClusters = vi.fn<(query: ClusterQuery, etag: string | null, signal?: AbortSignal) => Promise<Page>>();
const listHxClusters = vi.fn<(cursor: string | null) => Promise<List<HxCluster>>>();
const listVcenters = vi.fn<() => Promise<Vcenter[]>>();
const changed = vi.fn();
let isAdmin: boolean;
let model: ClusterListModel;

beforeEach(() => {
  vi.resetAllMocks();
  listHxClusters.mockResolvedValue({ items: [], next_cursor: null });
  isAdmin = false;
  model = new ClusterListModel({ listClusters, listHxClusters, listVcenters }, changed, () => isAdmin, () => new Date(0));
});

const names = (): string[] | undefined => model.page?.items.map((c) => c.name);
const lastQuery = (): ClusterQuery | undefined => listClusters.mock.lastCall?.[0];

describe('pages', () => {
  it('go forward and back by cursor', async () => {
    listClusters.mockImplementation(async (query) => (query.cursor === 'c2' ? page(['c']) : page(['a', 'b'], 'c2')));
    await model.refresh();
    expect([names(), model.pageNumber, model.hasNext]).toEqual([['a', 'b'], 1, true]);
    await model.nextPage();
    expect(lastQuery()).toMatchObject({ cursor: 'c2', limit: PAGE_SIZE });
    expect([names(), model.pageNumber, model.hasNext]).toEqual([['c'], 2, false]);
    await model.nextPage();
    expect(model.pageNumber).toBe(2);
    await model.previousPage();
    expect([names(), model.pageNumber]).toEqual([['a', 'b'], 1]);
    expect(lastQuery()).not.toHaveProperty('cursor');
  });

  it('begin at the front after another question', async () => {
    listClusters.mockResolvedValue(page(['a'], 'c2'));
    await model.refresh();
    await model.nextPage();
    await model.ask({ q: 'x' });
    expect(model.pageNumber).toBe(1);
    expect(lastQuery()).toMatchObject({ q: 'x', sort: 'name' });
    expect(lastQuery()).not.toHaveProperty('cursor');
  });

  it('begin at the front when the service no longer knows the place', async () => {
    listClusters.mockResolvedValueOnce(page(['a'], 'c2')).mockRejectedValueOnce(refusal('invalid_request', 400)).mockResolvedValueOnce(page(['n']));
    await model.refresh();
    await model.nextPage();
    expect([names(), model.pageNumber, model.failure]).toEqual([['n'], 1, null]);
  });
});

describe('questions', () => {
  it('are not asked twice', async () => {
    listClusters.mockResolvedValue(page([]));
    await model.ask({ q: 'x' });
    await model.ask({ q: 'x' });
    expect(listClusters).toHaveBeenCalledTimes(1);
  });

  it('turn the order around on the second press', async () => {
    listClusters.mockResolvedValue(page([]));
    await model.sortBy('state');
    expect(lastQuery()?.sort).toBe('state');
    await model.sortBy('state');
    expect(lastQuery()?.sort).toBe('-state');
    await model.sortBy('state');
    expect(lastQuery()?.sort).toBe('state');
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
    expect([model.page, model.failure?.code]).toEqual([null, 'internal']);
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
  const stale = page(['a'], null, { stale: ['vcenter'] });

  it('are named to an administrator, until they are back', async () => {
    isAdmin = true;
    listClusters.mockResolvedValueOnce(stale).mockResolvedValueOnce(page(['a']));
    listVcenters.mockResolvedValue([vcenter('east', 'unreachable'), vcenter('west', 'connected'), vcenter('north', 'refused'), vcenter('new', 'not_registered')]);
    await model.refresh();
    await vi.waitFor(() => expect(model.awayVcenters).toEqual(['east', 'north']));
    await model.refresh();
    await vi.waitFor(() => expect(model.awayVcenters).toEqual([]));
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
    expect([names(), model.failure, model.awayVcenters]).toEqual([['a'], null, []]);
  });
});

describe('HX clusters', () => {
  it('are read to the last page', async () => {
    listClusters.mockResolvedValue(page([]));
    listHxClusters.mockImplementation(async (cursor) => ({ items: [{ id: cursor ?? 'first' } as HxCluster], next_cursor: cursor === null ? 'n' : null }));
    await model.refresh();
    expect(model.hxClusters?.map((h) => h.id)).toEqual(['first', 'n']);
  });

  it('that cannot be read do not stop the list', async () => {
    listClusters.mockResolvedValue(page(['a']));
    listHxClusters.mockRejectedValue(refusal('internal', 500));
    await model.refresh();
    expect([names(), model.hxFailed, model.failure]).toEqual([['a'], true, null]);
  });

  it('that come when the list has gone say nothing, and no more are asked for', async () => {
    let come = (_page: List<HxCluster>): void => {};
    listClusters.mockResolvedValue(page(['a']));
    listHxClusters.mockReturnValueOnce(new Promise((resolve) => { come = resolve; }));
    const refreshed = model.refresh();
    await vi.waitFor(() => expect(names()).toEqual(['a']));
    model.stop();
    changed.mockClear();
    come({ items: [], next_cursor: 'n' });
    await refreshed;
    expect([changed.mock.calls.length, listHxClusters.mock.calls.length, model.hxClusters]).toEqual([0, 1, null]);
  });
});
