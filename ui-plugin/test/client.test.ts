// The api client: what it sends, what it makes of each kind of answer, and the second try after an exchanged token.
// SPDX-License-Identifier: GPL-3.0-or-later
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiClient, parseRetryAfter, parseStale, type TokenHolder } from '../src/api/client.js';
import { ApiError, isSessionOver, type Failure } from '../src/api/error.js';
import { ClusterListModel } from '../src/model/cluster-list.js';
import { ListWatch } from '../src/model/list-watch.js';

const BASE = 'https://kaas.example.com/prefix/v2/';
/** A page of the list, and counts as well. */
const PAGE = { items: [], next_cursor: null, total: 0, states: {} };

function json(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json', ...headers } });
}

function problem(status: number, code: string, headers: Record<string, string> = {}): Response {
  return json({ type: 'about:blank', title: 'x', status, code, detail: 'd', request_id: 'r-1', remedy: 'do this' }, status, headers);
}

interface Sent {
  url: URL;
  init: RequestInit;
  headers: Record<string, string>;
}

/** A client whose answers are given, and what it sent. */
function clientOf(...answers: (Response | Error)[]): { client: ApiClient; sent: Sent[] } {
  const sent: Sent[] = [];
  const fake = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    sent.push({ url: new URL(String(input)), init, headers: init.headers as Record<string, string> });
    const answer = answers.shift();
    if (answer === undefined) throw new Error('one call too many');
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const client = new ApiClient({ base: BASE, fetch: fake as typeof fetch, settleMs: 0 });
  client.holder = holderOf('tok');
  return { client, sent };
}

function holderOf(...tokens: string[]): TokenHolder & { refused: ReturnType<typeof vi.fn>; passwordDue: ReturnType<typeof vi.fn<() => boolean>> } {
  return { token: () => (tokens.length > 1 ? tokens.shift() : tokens[0]) ?? null, exchanged: async () => {}, refused: vi.fn(), passwordDue: vi.fn(() => false) };
}

async function failureOf(call: Promise<unknown>): Promise<Failure> {
  const error = await call.then(() => null, (e: unknown) => e);
  expect(error).toBeInstanceOf(ApiError);
  return (error as ApiError).failure;
}

describe('the refresh cookie', () => {
  const token = { access_token: 'new', token_type: 'Bearer', expires_in: 900, session_expires_at: '2026-03-01T16:00:00Z' };
  const credentials = async (keepsCookie: boolean): Promise<unknown[]> => {
    const sent: RequestInit[] = [];
    const fake = async (_: unknown, init: RequestInit = {}): Promise<Response> => {
      sent.push(init);
      return json(token);
    };
    const client = new ApiClient({ base: BASE, fetch: fake as typeof fetch, keepsCookie });
    client.holder = holderOf('tok');
    await client.loginCookie('sid-1');
    await client.keepCookie('new'); // came by the cookie, and brought the next one
    await client.keepCookie('other');
    await client.refresh('tok');
    await client.logout('tok');
    await client.logout(null);
    return sent.map(({ credentials: given, headers }) => [given, (headers as Record<string, string>)['Authorization'] ?? null]);
  };

  it('goes with what needs it, in a tab of its own', async () => {
    expect(await credentials(true)).toEqual([['same-origin', null], ['same-origin', 'Bearer other'], ['omit', 'Bearer tok'], ['same-origin', 'Bearer tok'], ['same-origin', null]]);
  });

  it('is neither set nor sent in a frame', async () => {
    expect(await credentials(false)).toEqual([['omit', null], ['omit', 'Bearer tok'], ['omit', 'Bearer tok'], ['omit', null]]);
  });
});

describe('requests', () => {
  it('signs in without a token, below the prefix, as JSON with the X-KaaS header', async () => {
    const { client, sent } = clientOf(json({ access_token: 't', token_type: 'Bearer', expires_in: 900, session_expires_at: '2026-01-01T00:00:00Z' }));
    client.holder = holderOf('old');
    await client.loginPassword({ username: 'u', password: 'p', source: 'local' });
    expect(sent[0]?.url.href).toBe(`${BASE}login/password`);
    expect(sent[0]?.headers).toMatchObject({ 'Content-Type': 'application/json', 'X-KaaS': '1' });
    expect(sent[0]?.headers['Authorization']).toBeUndefined();
    expect(JSON.parse(String(sent[0]?.init.body))).toEqual({ username: 'u', password: 'p', source: 'local' });
  });

  it('lets the browser answer for Kerberos there and nowhere else', async () => {
    const token = { access_token: 't', token_type: 'Bearer', expires_in: 900, session_expires_at: '2026-01-01T00:00:00Z' };
    const { client, sent } = clientOf(json({ vcenter: false, directories: [], kerberos: 'button' }), json(token));
    expect(await client.loginWays()).toEqual({ vcenter: false, directories: [], kerberos: 'button' });
    await client.loginKerberos(new AbortController().signal);
    expect(sent.map(({ url, init }) => [init.method, url.pathname, init.credentials, init.body])).toEqual([
      ['GET', '/prefix/v2/login', 'omit', null], ['POST', '/prefix/v2/login/kerberos', 'same-origin', null]]);
    expect(sent[1]?.headers).toMatchObject({ 'X-KaaS': '1' });
  });

  it('asks once more for a ticket that was not sent, not for one that was refused', async () => {
    const none = clientOf(problem(401, 'unauthenticated'), problem(401, 'unauthenticated'));
    expect(await failureOf(none.client.loginKerberos(new AbortController().signal))).toMatchObject({ problem: { code: 'unauthenticated' } });
    expect(none.sent).toHaveLength(2);
    const refused = clientOf(problem(401, 'invalid_credentials'));
    expect(await failureOf(refused.client.loginKerberos(new AbortController().signal))).toMatchObject({ problem: { code: 'invalid_credentials' } });
  });

  it('takes no other answer for the ways to sign in', async () => {
    expect(await failureOf(clientOf(json({ kerberos: 'off' })).client.loginWays())).toEqual({ kind: 'malformed', status: 200 });
  });

  it('never sends cookies, follows no redirect, keeps nothing in the cache', async () => {
    const { client, sent } = clientOf(json(PAGE));
    await client.listClusters({}, null);
    expect(sent[0]?.init).toMatchObject({ credentials: 'omit', redirect: 'error', cache: 'no-store', referrerPolicy: 'no-referrer' });
  });

  it('puts the query into the address, escaped, and leaves out what is empty', async () => {
    const { client, sent } = clientOf(json(PAGE));
    client.holder = holderOf('tok');
    await client.listClusters({ q: `a&b=%/"🐳`, hx_cluster_id: '', sort: '-name', limit: 50 }, 'W/"1"');
    const { url, headers } = sent[0] as Sent;
    expect(url.searchParams.get('q')).toBe(`a&b=%/"🐳`);
    expect([...url.searchParams.keys()]).toEqual(['q', 'sort', 'limit']);
    expect(headers['Authorization']).toBe('Bearer tok');
    expect(headers['If-None-Match']).toBe('W/"1"');
  });
});

describe('lists of pages', () => {
  const hx = (id: string, next: string | null) => json({ items: [{ id }], next_cursor: next });

  it('of HX clusters are read to the last page, if they are not too many', async () => {
    const few = clientOf(hx('a', 'n'), hx('b', null));
    expect((await few.client.listAllHxClusters()).map(({ id }) => id)).toEqual(['a', 'b']);
    expect(few.sent[1]?.url.searchParams.get('cursor')).toBe('n');
    const many = clientOf(...['a', 'b', 'c', 'd', 'e'].map((id) => hx(id, 'n')));
    expect((await many.client.listAllHxClusters()).map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('of nodes are read to the last page, the hidden ones counted', async () => {
    const { client, sent } = clientOf(json({ items: [{ id: 'a' }], next_cursor: 'n', hidden: 2 }), json({ items: [{ id: 'b' }], next_cursor: null, hidden: 2 }));
    expect(await client.listNodes('x')).toEqual({ nodes: [{ id: 'a' }, { id: 'b' }], hidden: 2 });
    expect(sent.map(({ url }) => url.pathname + url.search)).toEqual(['/prefix/v2/clusters/x/nodes?limit=500', '/prefix/v2/clusters/x/nodes?limit=500&cursor=n']);
  });

  it('that are something else are told so', async () => {
    for (const body of [{ items: [] }, { total: 3 }, null]) {
      expect(await failureOf(clientOf(json(body)).client.listClusters({}, null))).toEqual({ kind: 'malformed', status: 200 });
    }
    expect(await failureOf(clientOf(json({})).client.countClusters({}))).toEqual({ kind: 'malformed', status: 200 });
    expect(await failureOf(clientOf(json({})).client.explain('x'))).toEqual({ kind: 'malformed', status: 200 });
    expect(await failureOf(clientOf(json([])).client.getCluster('x', null))).toEqual({ kind: 'malformed', status: 200 });
  });
});

describe('connecting a cluster', () => {
  it('is asked at its own path, whose colon is no scheme, and answers with the steps', async () => {
    const { client, sent } = clientOf(json({ cluster_id: 'c', connection: {}, steps: [] }, 201), json({ cluster_id: 'c' }, 201));
    const request = { kubeconfig: 'k', context: 'a', dry_run: false };
    expect((await client.connectCluster(request, new AbortController().signal)).cluster_id).toBe('c');
    expect([sent[0]?.url.href, sent[0]?.init.method, sent[0]?.init.body]).toEqual([`${BASE}clusters:connect`, 'POST', JSON.stringify(request)]);
    expect((await failureOf(client.connectCluster(request, new AbortController().signal))).kind).toBe('malformed');
  });
});

describe('the health of a cluster', () => {
  it('that is something else is told so', async () => {
    const { client, sent } = clientOf(json({ connection: null, reasons: [] }), json({}));
    expect(await client.getHealth('id')).toEqual({ connection: null, reasons: [] });
    expect(sent[0]?.url.href).toBe(`${BASE}clusters/id/health`);
    expect((await failureOf(client.getHealth('id'))).kind).toBe('malformed');
  });
});

describe('answers', () => {
  it('reads freshness and entity tag', async () => {
    const { client } = clientOf(json(PAGE, 200, { 'ETag': 'W/"7"', 'KaaS-As-Of': '2026-03-01T00:00:00Z', 'KaaS-Stale': 'database, vcenter' }));
    const answer = await client.listClusters({}, null);
    expect(answer).toEqual({ notModified: false, body: PAGE, etag: 'W/"7"', asOf: '2026-03-01T00:00:00Z', stale: ['database', 'vcenter'], watchCursor: null });
  });

  it('to waiting tell whether something has changed, and the next cursor', async () => {
    const { client, sent } = clientOf(json(PAGE, 200, { 'KaaS-Watch-Cursor': 'c1' }));
    expect(await client.watchClusters({ q: '', hx_cluster_id: 'h' }, '', new AbortController().signal)).toEqual({ changed: true, cursor: 'c1' });
    expect([...(sent[0] as Sent).url.searchParams.keys()]).toEqual(['hx_cluster_id', 'limit', 'watch', 'wait']);
    const quiet = clientOf(new Response(null, { status: 204, headers: { 'KaaS-Watch-Cursor': 'c1' } }));
    expect(await quiet.client.watchClusters({}, 'c1', new AbortController().signal)).toEqual({ changed: false, cursor: 'c1' });
    const strange = clientOf(json(PAGE));
    expect(await failureOf(strange.client.watchClusters({}, 'c1', new AbortController().signal))).toEqual({ kind: 'malformed', status: 200 });
  });

  it('takes 304 as "not modified"', async () => {
    const { client } = clientOf(new Response(null, { status: 304 }));
    expect(await client.listClusters({}, 'W/"7"')).toMatchObject({ notModified: true, body: null });
  });

  it('hands a problem on, with the time to wait', async () => {
    const { client } = clientOf(problem(429, 'too_many_requests', { 'Retry-After': '7' }));
    const failure = await failureOf(client.listClusters({}, null));
    expect(failure).toMatchObject({ kind: 'problem', retryAfterS: 7, problem: { code: 'too_many_requests', remedy: 'do this', request_id: 'r-1' } });
  });

  it.each([
    ['HTML with an error status', new Response('<html>', { status: 502 }), 502],
    ['HTML that pretends to be fine', new Response('<html>', { status: 200 }), 200],
    ['JSON that is no problem', json({ error: 'x' }, 500), 500],
    ['a list without items', json({ next_cursor: null }), 200],
    ['null', json(null), 200],
  ])('calls %s malformed', async (_, response, status) => {
    const { client } = clientOf(response);
    expect(await failureOf(client.listClusters({}, null))).toEqual({ kind: 'malformed', status });
  });

  it('calls a token answer without a token malformed', async () => {
    const { client } = clientOf(json({ token_type: 'Bearer', expires_in: 900 }));
    expect(await failureOf(client.refresh('t'))).toMatchObject({ kind: 'malformed' });
  });

  it('tells no answer from a late one', async () => {
    const { client } = clientOf(new TypeError('Failed to fetch'));
    expect(await failureOf(client.whoami())).toEqual({ kind: 'unreachable' });
    const never = ((_: unknown, init: RequestInit) =>
      new Promise((_resolve, reject) => init.signal?.addEventListener('abort', () => reject(init.signal?.reason)))) as typeof fetch;
    const slow = new ApiClient({ base: BASE, fetch: never, timeoutMs: 5 });
    slow.holder = holderOf('tok');
    expect(await failureOf(slow.whoami())).toEqual({ kind: 'timeout' });
  });
});

describe('a service that hangs', () => {
  /** Begins to hang after these answers, which it gives at once. */
  function hangingAfter(...answers: Response[]): ApiClient {
    const fake = (_input: unknown, init: RequestInit = {}): Promise<Response> => {
      const answer = answers.shift();
      if (answer) return Promise.resolve(answer);
      return new Promise((_done, fail) => init.signal?.addEventListener('abort', () => fail(init.signal?.reason as Error)));
    };
    const client = new ApiClient({ base: BASE, fetch: fake as typeof fetch, settleMs: 0 });
    client.holder = holderOf('tok');
    return client;
  }

  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is told within ten seconds to somebody who just looks', async () => {
    const client = hangingAfter(json(PAGE, 200, { 'KaaS-Watch-Cursor': 'c1' }), json(PAGE));
    const model = new ClusterListModel(client, { changed: () => undefined, isAdmin: () => false, isReading: () => false });
    const watch = new ListWatch(client, { changed: () => void model.refreshQuietly(), same: () => model.noteAnswer(), silent: (error) => model.noteSilence(error) });
    await model.refresh();
    watch.follow(model.watched(), model.watchCursor);
    await vi.advanceTimersByTimeAsync(7_000);
    expect(model.failure).toBeNull(); // an answer may still come
    await vi.advanceTimersByTimeAsync(2_500);
    expect(model.failure?.failure).toEqual({ kind: 'timeout' });
    watch.rest();
    model.stop();
  });

  it('is waited for, said after five seconds and no longer than it lasts', async () => {
    const client = hangingAfter();
    const said: boolean[] = [];
    client.onSlow = (isSlow) => said.push(isSlow);
    const calls = Promise.allSettled([client.listClusters({}, null), client.whoami()]);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(said).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(said).toEqual([true, true]);
    await vi.advanceTimersByTimeAsync(25_000);
    expect((await calls).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(said.at(-1)).toBe(false);
  });

  it('is no news where waiting is what was asked for, and where the answer came in time', async () => {
    const client = hangingAfter(json(PAGE));
    const onSlow = vi.fn();
    client.onSlow = onSlow;
    await client.listClusters({}, null);
    const watched = failureOf(client.watchClusters({}, 'c1', new AbortController().signal));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await watched).toEqual({ kind: 'timeout' });
    expect(onSlow).not.toHaveBeenCalled();
  });
});

describe('without a token', () => {
  it('nothing is sent, and the session counts as over', async () => {
    const { client, sent } = clientOf();
    client.holder = { ...holderOf(), token: () => null };
    for (const call of [client.whoami(), client.listClusters({}, null), client.watchClusters({}, '', new AbortController().signal)]) {
      const error = await call.catch((e: unknown) => e);
      expect(isSessionOver(error)).toBe(true);
    }
    expect(sent).toEqual([]);
  });
});

describe('a refused token', () => {
  it('is reported to the holder', async () => {
    const { client } = clientOf(problem(401, 'token_expired'));
    const holder = holderOf('tok');
    client.holder = holder;
    await failureOf(client.whoami());
    expect(holder.refused).toHaveBeenCalledOnce();
    expect(holder.refused.mock.calls[0]?.[0]).toBe('tok');
  });

  it('is tried once more if it was exchanged meanwhile', async () => {
    const { client, sent } = clientOf(problem(401, 'session_ended'), json(PAGE));
    const holder = holderOf('old', 'new');
    client.holder = holder;
    await client.listClusters({}, null);
    expect(sent.map((s) => s.headers['Authorization'])).toEqual(['Bearer old', 'Bearer new']);
    expect(holder.refused).not.toHaveBeenCalled();
  });

  it('overtakes the answer that brings its successor', async () => {
    const { client, sent } = clientOf(problem(401, 'session_ended'), json(PAGE));
    const holder = holderOf('old');
    let current = 'old';
    holder.token = () => current;
    holder.exchanged = async () => {
      await new Promise((done) => setImmediate(done));
      current = 'new';
    };
    client.holder = holder;
    await client.listClusters({}, null);
    expect(sent.map((s) => s.headers['Authorization'])).toEqual(['Bearer old', 'Bearer new']);
    expect(holder.refused).not.toHaveBeenCalled();
  });

  it('is not what a refused password is', async () => {
    const { client } = clientOf(problem(401, 'invalid_credentials'));
    const holder = holderOf('tok');
    client.holder = holder;
    const error = await client.loginPassword({ username: 'u', password: 'p', source: 'local' }).catch((e: unknown) => e);
    expect(isSessionOver(error)).toBe(false);
    expect(holder.refused).not.toHaveBeenCalled();
  });
});

describe('a password that must be changed', () => {
  it('is reported to the holder', async () => {
    const { client } = clientOf(problem(403, 'password_change_required'));
    const holder = holderOf('tok');
    client.holder = holder;
    expect(await failureOf(client.listClusters({}, null))).toMatchObject({ kind: 'problem', problem: { code: 'password_change_required' } });
    expect(holder.passwordDue).toHaveBeenCalledExactlyOnceWith('tok');
    expect(holder.refused).not.toHaveBeenCalled();
  });

  it('is tried again while the change may not have spread', async () => {
    const { client, sent } = clientOf(problem(403, 'password_change_required'), problem(403, 'password_change_required'), json(PAGE));
    const holder = holderOf('tok');
    holder.passwordDue.mockReturnValue(true);
    client.holder = holder;
    await client.listClusters({}, null);
    expect(sent).toHaveLength(3);
  });

  it('is changed by a call with the token', async () => {
    const { client, sent } = clientOf(new Response(null, { status: 204 }));
    client.holder = holderOf('tok');
    await client.changePassword({ old_password: 'a', new_password: 'b' });
    expect(sent[0]?.url.href).toBe(`${BASE}password`);
    expect(sent[0]?.init.method).toBe('POST');
    expect(sent[0]?.headers).toMatchObject({ 'Authorization': 'Bearer tok', 'Content-Type': 'application/json', 'X-KaaS': '1' });
    expect(JSON.parse(String(sent[0]?.init.body))).toEqual({ old_password: 'a', new_password: 'b' });
  });

  it('is not what a wrong old password is: the session goes on', async () => {
    const { client } = clientOf(problem(401, 'invalid_credentials'));
    const holder = holderOf('tok');
    client.holder = holder;
    await failureOf(client.changePassword({ old_password: 'a', new_password: 'b' }));
    expect(holder.refused).not.toHaveBeenCalled();
  });
});

describe('headers', () => {
  it('reads KaaS-Stale; what is unknown still warns', () => {
    expect(parseStale(null)).toEqual([]);
    expect(parseStale('rights')).toEqual(['rights']);
    expect(parseStale('moon, database')).toEqual(['database']);
    expect(parseStale('')).toEqual(['database']);
  });

  it('reads seconds of Retry-After only', () => {
    expect(parseRetryAfter('30')).toBe(30);
    expect(parseRetryAfter('Wed, 21 Oct 2026 07:28:00 GMT')).toBeNull();
    expect(parseRetryAfter('-1')).toBeNull();
    expect(parseRetryAfter(null)).toBeNull();
  });
});
