// Calls to the service: addresses, headers, time limits, and what an answer means. Knows no session and no view; who holds the
// token is asked through TokenHolder.
// SPDX-License-Identifier: GPL-3.0-or-later
import { ApiError, isPasswordDue, isSessionOver } from './error.js';
import type {
  AuditEntry, AvailableVersion, Cluster, ClusterCounts, ClusterFilter, ClusterHealth, ClusterImpact, ClusterPage, ClusterQuery, ClusterUsage, Connected, ConnectRequest, Explanation, Grant, HostPlace, HxCluster, HxClusterWhole, HxConnection, List, LoginPasswordRequest, LoginWays, Node, NodePage, NodePlace, PasswordChange, PlacedNode,
  Problem, StaleReason, Token, Updates, Vcenter, Whoami,
} from './types.js';

/** Who has the current token, and wants to know when the service no longer takes it. */
export interface TokenHolder {
  token(): string | null;
  /** Ends when no exchange of the token is under way: a refusal of the old one may overtake the answer that brings the new one. */
  exchanged(): Promise<void>;
  /** `token` was refused with `error`; called only if it is still the current one. */
  refused(token: string, error: ApiError): void;
  /** `token` may do nothing before the password is replaced. True: the password was replaced a moment ago, so the call is worth another try. */
  passwordDue(token: string): boolean;
}

export interface ApiClientOptions {
  /** Absolute address of `/v2/`, with the slash at the end. */
  base: string;
  fetch: typeof fetch;
  timeoutMs?: number;
  /** May the browser keep the cookie by which a page that is loaded again is signed in? Not in a frame of another page. */
  keepsCookie?: boolean;
  /** How long to wait before a call is tried again of which a replica did not yet know that the password is replaced. */
  settleMs?: number;
}

/** An answer with the headers that matter to the page. `body` is null after 204 and 304. */
export interface Answer<T> {
  notModified: boolean;
  body: T | null;
  etag: string | null;
  asOf: string | null;
  stale: StaleReason[];
  watchCursor: string | null;
}

/** What became of waiting for a change. `cursor` is for the next wait. */
export interface Watched {
  changed: boolean;
  cursor: string;
}

export interface Call {
  method: 'GET' | 'POST';
  path: string;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  etag?: string | null;
  signal?: AbortSignal | undefined;
  /** Undefined: the holder's token. Null: none. */
  token?: string | null;
  /** The refresh cookie goes with it, or comes with the answer, where the page has one. */
  needsCookie?: boolean;
  /** Id of a session. */
  replaces?: string | null;
  /** Of the vSphere Client. */
  pluginSession?: string;
  /** The browser may answer the service's question for a Kerberos ticket (RFC 4559), for which it must be allowed to send credentials. */
  negotiates?: boolean;
  timeoutMs?: number;
  /** The browser sends it also when the page is being left. */
  outlivesPage?: boolean;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** Who waits longer is told that the page still waits. */
const SLOW_MS = 5_000;
const WAYS_TIMEOUT_MS = 5_000;
const DEFAULT_SETTLE_MS = 300;
/** Eleven steps, each of which the service gives up by itself. */
const CONNECT_TIMEOUT_MS = 120_000;
/** Of 500 HX clusters each. */
const HX_PAGES_MAX = 4;
/** The service holds a request so long; in a little more than that it has answered, or it hangs. */
const WATCH_WAIT_S = 5;
const WATCH_TIMEOUT_MS = 8_000;

export class ApiClient {
  holder: TokenHolder | null = null;
  /** Told when a call that may take its time begins to take long, and when none does any more. */
  onSlow: ((isSlow: boolean) => void) | null = null;

  private slow = 0;
  /** The token that came by the cookie, and brought the next one. */
  private kept = '';

  constructor(private readonly options: ApiClientOptions) {}

  /** Which ways to sign in there are. Who waits for that waits for the form, so not for long. */
  async loginWays(): Promise<LoginWays> {
    const body = (await this.send<LoginWays>({ method: 'GET', path: 'login', token: null, timeoutMs: WAYS_TIMEOUT_MS })).body;
    if (!Array.isArray(body?.directories)) throw new ApiError({ kind: 'malformed', status: 200 });
    return body;
  }

  /**
   * Signs in by the Kerberos ticket that the browser gets for this address. Throws ApiError: `unauthenticated` if the browser sent none,
   * `invalid_credentials` if it was refused.
   */
  async loginKerberos(signal: AbortSignal): Promise<Token> {
    const call: Call = { method: 'POST', path: 'login/kerberos', token: null, negotiates: true, signal };
    try {
      return this.tokenFrom(await this.send(call));
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'unauthenticated') throw error;
      // Chromium on Linux gets its Kerberos library ready only when it is first asked for a ticket, and does without one that time.
      return this.tokenFrom(await this.send(call));
    }
  }

  /** Signs in by name and password. Throws ApiError (`invalid_credentials` for a refusal). */
  async loginPassword(request: LoginPasswordRequest): Promise<Token> {
    return this.tokenFrom(await this.send({ method: 'POST', path: 'login/password', body: request, token: null }));
  }

  /** Signs in by a one-time code; `origin` is of the page that handed it over, none for our own. */
  async loginCode(code: string, origin?: string): Promise<Token> {
    return this.tokenFrom(await this.send({ method: 'POST', path: 'login/code', body: { code, origin }, token: null }));
  }

  /** Signs in by a clone ticket of a vCenter. */
  async loginTicket(vcenter: string, cloneTicket: string): Promise<Token> {
    return this.tokenFrom(await this.send({ method: 'POST', path: 'login/vcenter', body: { vcenter, clone_ticket: cloneTicket }, token: null }));
  }

  /** Signs in by the session of the vSphere Client, which gives it to its plug-ins. */
  async loginPlugin(vcenter: string, session: string): Promise<Token> {
    return this.tokenFrom(await this.send({ method: 'POST', path: 'login/vcenter', body: { vcenter }, token: null, pluginSession: session }));
  }

  /** Adds a further vCenter to the session of `token`, in the same way. */
  async addVcenter(token: string, vcenter: string, session: string): Promise<void> {
    await this.send({ method: 'POST', path: 'session/vcenters', body: { vcenter }, token, pluginSession: session });
  }

  /** A one-time code for a window of the caller's own. */
  async makeCode(): Promise<string> {
    const { body } = await this.call<{ code: string }>({ method: 'POST', path: 'session/code' });
    if (typeof body?.code !== 'string') throw new ApiError({ kind: 'malformed', status: 200 });
    return body.code;
  }

  /** Signs in by the cookie that the browser keeps, in place of the session with the id `replaces`; null if there is none. */
  async loginCookie(replaces: string | null): Promise<Token | null> {
    const answer = await this.send({ method: 'POST', path: 'token/refresh', token: null, needsCookie: true, replaces });
    if (answer.body === null) return null;
    const token = this.tokenFrom(answer);
    this.kept = token.access_token;
    return token;
  }

  /** Has the browser keep a cookie for the session of `token`, if it may. */
  async keepCookie(token: string): Promise<void> {
    if (this.options.keepsCookie && token !== this.kept) await this.send({ method: 'POST', path: 'session/cookie', token, needsCookie: true });
  }

  /** Exchanges `token` for the next one of its session. */
  async refresh(token: string): Promise<Token> {
    return this.tokenFrom(await this.send({ method: 'POST', path: 'token/refresh', token }));
  }

  /** Ends the session of `token`; null: the one that the browser's cookie stands for. */
  async logout(token: string | null): Promise<void> {
    await this.send({ method: 'POST', path: 'logout', token, needsCookie: true });
  }

  /** Ends the session of `token`, also for a page that is being left; the browser's cookie stays, whoever's it is. */
  async endSession(token: string): Promise<void> {
    await this.send({ method: 'POST', path: 'logout', token, outlivesPage: true });
  }

  /** Replaces the caller's own password. Throws ApiError (`invalid_credentials` for a wrong old one, `unprocessable` for a new one that is not good enough). */
  async changePassword(change: PasswordChange): Promise<void> {
    await this.call({ method: 'POST', path: 'password', body: change });
  }

  /** Whose session `token` is of; without it: who is signed in. */
  async whoami(token?: string): Promise<Whoami> {
    const call: Call = { method: 'GET', path: 'whoami' };
    const body = (await (token === undefined ? this.call<Whoami>(call) : this.send<Whoami>({ ...call, token }))).body;
    if (typeof body?.name !== 'string') throw new ApiError({ kind: 'malformed', status: 200 });
    return body;
  }

  /** One page of clusters; with `etag` the answer may be "not modified". */
  async listClusters(query: ClusterQuery, etag: string | null, signal?: AbortSignal): Promise<Answer<ClusterPage>> {
    const answer = await this.call<ClusterPage>({ method: 'GET', path: 'clusters', query: { ...query }, etag, signal });
    const isPage = answer.notModified || (Array.isArray(answer.body?.items) && typeof answer.body.total === 'number');
    if (!isPage) throw new ApiError({ kind: 'malformed', status: 200 });
    return answer;
  }

  async countClusters(filter: ClusterFilter, signal?: AbortSignal): Promise<ClusterCounts> {
    const { body, stale, asOf } = await this.call<ClusterCounts>({ method: 'GET', path: 'clusters/counts', query: { ...filter }, signal });
    if (typeof body?.total !== 'number' || typeof body.states !== 'object') throw new ApiError({ kind: 'malformed', status: 200 });
    return { ...body, stale, asOf };
  }

  /**
   * Waits until the list is another one than `cursor` stands for (empty: does not wait), or for a while. The cursor speaks of all pages, so
   * one row is enough.
   */
  async watchClusters(filter: ClusterFilter, cursor: string, signal: AbortSignal): Promise<Watched> {
    const query = { ...filter, limit: 1, watch: cursor, wait: WATCH_WAIT_S };
    const answer = await this.call({ method: 'GET', path: 'clusters', query, signal, timeoutMs: WATCH_TIMEOUT_MS });
    if (answer.watchCursor === null) throw new ApiError({ kind: 'malformed', status: 200 });
    return { changed: answer.body !== null, cursor: answer.watchCursor };
  }

  /** One cluster; with `etag` the answer may be "not modified". Throws ApiError (`not_found` also for one that the caller may not see). */
  async getCluster(id: string, etag: string | null, signal?: AbortSignal): Promise<Answer<Cluster>> {
    const answer = await this.call<Cluster>({ method: 'GET', path: `clusters/${id}`, etag, signal });
    if (!answer.notModified && typeof answer.body?.name !== 'string') throw new ApiError({ kind: 'malformed', status: 200 });
    return answer;
  }

  /** All nodes of a cluster, and how many more the caller may not see. */
  async listNodes(id: string, signal?: AbortSignal): Promise<{ nodes: Node[]; hidden: number }> {
    const nodes: Node[] = [];
    let hidden = 0;
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const query = { limit: 500, cursor };
      const { body } = await this.list<Node>({ method: 'GET', path: `clusters/${id}/nodes`, query, signal });
      nodes.push(...(body?.items ?? []));
      hidden = (body as NodePage | null)?.hidden ?? 0;
      cursor = body?.next_cursor ?? null;
    }
    return { nodes, hidden };
  }

  /** The nodes on a virtual machine or a host. */
  async listNodesOn(place: NodePlace, signal?: AbortSignal): Promise<PlacedNode[]> {
    return (await this.list<PlacedNode>({ method: 'GET', path: 'nodes', query: { limit: 500, ...place }, signal })).body?.items ?? [];
  }

  /** What becomes of the clusters on a host without it, the worst first; none where it has no node of theirs. */
  async listHostImpact(place: HostPlace, signal?: AbortSignal): Promise<ClusterImpact[]> {
    try {
      const { body } = await this.call<{ clusters: ClusterImpact[] }>({ method: 'GET', path: 'impact/hosts', query: { ...place }, signal });
      if (!Array.isArray(body?.clusters)) throw new ApiError({ kind: 'malformed', status: 200 });
      return body.clusters;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_found') return [];
      throw error;
    }
  }

  /** What the virtual machines of the nodes have and use now: as fast as vCenter tells. */
  async getUsage(id: string, signal?: AbortSignal): Promise<ClusterUsage> {
    const { body } = await this.call<ClusterUsage>({ method: 'GET', path: `clusters/${id}/usage`, signal });
    if (!Array.isArray(body?.items) || !Array.isArray(body.silent_vcenters)) throw new ApiError({ kind: 'malformed', status: 200 });
    return body;
  }

  /** Why a cluster is as it is. */
  async getHealth(id: string, signal?: AbortSignal): Promise<ClusterHealth> {
    const { body } = await this.call<ClusterHealth>({ method: 'GET', path: `clusters/${id}/health`, signal });
    if (!Array.isArray(body?.reasons)) throw new ApiError({ kind: 'malformed', status: 200 });
    return body;
  }

  /** For administrators: connects a Kubernetes cluster, or sees whether that would work. Throws ApiError, whose problem has the steps as far as they went. */
  async connectCluster(request: ConnectRequest, signal: AbortSignal): Promise<Connected> {
    // With the dot, since what stands in front of a colon would be the scheme of another address.
    const { body } = await this.call<Connected>({ method: 'POST', path: './clusters:connect', body: request, signal, timeoutMs: CONNECT_TIMEOUT_MS });
    if (!Array.isArray(body?.steps)) throw new ApiError({ kind: 'malformed', status: 200 });
    return body;
  }

  /** By which rules the caller sees a cluster. */
  async explain(id: string, signal?: AbortSignal): Promise<Explanation> {
    const { body } = await this.call<Explanation>({ method: 'GET', path: `clusters/${id}/explain`, signal });
    if (!Array.isArray(body?.rules)) throw new ApiError({ kind: 'malformed', status: 200 });
    return body;
  }

  /** The first grants by which a cluster is seen. Throws ApiError `forbidden` for who may not know them. */
  async listClusterGrants(id: string, signal?: AbortSignal): Promise<Grant[]> {
    return (await this.list<Grant>({ method: 'GET', path: `clusters/${id}/grants`, query: { limit: 500 }, signal })).body?.items ?? [];
  }

  /** For administrators: what was done with a cluster lately, newest first. */
  async listClusterEvents(id: string, limit: number, signal?: AbortSignal): Promise<AuditEntry[]> {
    const query = { object_kind: 'cluster', object_id: id, limit };
    return (await this.list<AuditEntry>({ method: 'GET', path: 'audit', query, signal })).body?.items ?? [];
  }

  /** All of them, up to as many as a selector or a page can hold. */
  listAllHxClusters(signal?: AbortSignal): Promise<HxCluster[]> {
    return this.listHx<HxCluster>({}, signal);
  }

  /** The same, each with what runs on it and what it said of itself. */
  listWholeHxClusters(signal?: AbortSignal): Promise<HxClusterWhole[]> {
    return this.listHx<HxClusterWhole>({ whole: 'true' }, signal);
  }

  /** For administrators. */
  async listHxConnections(signal?: AbortSignal): Promise<HxConnection[]> {
    return (await this.list<HxConnection>({ method: 'GET', path: 'hx-connections', query: { limit: 500 }, signal })).body?.items ?? [];
  }

  /** For administrators. */
  async listVcenters(signal?: AbortSignal): Promise<Vcenter[]> {
    const answer = await this.list<Vcenter>({ method: 'GET', path: 'vcenters', query: { limit: 500 }, signal });
    return answer.body?.items ?? [];
  }

  /** For administrators: a newer version of the service; null: none is known. */
  async getNewVersion(): Promise<AvailableVersion | null> {
    const { body } = await this.call<Updates>({ method: 'GET', path: 'updates' });
    if (typeof body?.version !== 'string') throw new ApiError({ kind: 'malformed', status: 200 });
    return body.available;
  }

  private async listHx<T>(more: Record<string, string>, signal?: AbortSignal): Promise<T[]> {
    const all: T[] = [];
    let cursor: string | null = null;
    for (let n = 0; n < HX_PAGES_MAX && (n === 0 || cursor !== null); n += 1) {
      const call: Call = { method: 'GET', path: 'hx-clusters', query: { limit: 500, ...more, cursor: cursor ?? undefined }, signal };
      const { body }: Answer<List<T>> = await this.list<T>(call);
      all.push(...(body?.items ?? []));
      cursor = body?.next_cursor ?? null;
    }
    return all;
  }

  private async list<T>(call: Call): Promise<Answer<List<T>>> {
    const answer = await this.call<List<T>>(call);
    if (!answer.notModified && !Array.isArray(answer.body?.items)) throw new ApiError({ kind: 'malformed', status: 200 });
    return answer;
  }

  private tokenFrom(answer: Answer<unknown>): Token {
    const token = answer.body as Token | null;
    if (typeof token?.access_token !== 'string' || !(token.expires_in > 0)) throw new ApiError({ kind: 'malformed', status: 200 });
    return token;
  }

  /** A call in the holder's name, tried again where the refusal may be a thing of the past. Nothing is sent in nobody's name. Also for calls of parts that are loaded when they are needed (jobs.ts). */
  async call<T>(call: Call): Promise<Answer<T>> {
    const token = this.holder?.token() ?? null;
    if (token === null) throw new ApiError({ kind: 'signed-out' });
    try {
      return await this.send<T>({ ...call, token });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (isPasswordDue(error)) return await this.callSettled<T>(call, token, error);
      if (!isSessionOver(error)) throw error;
      await this.holder?.exchanged();
      const current = this.holder?.token() ?? null;
      if (current === null || current === token) {
        this.holder?.refused(token, error);
        throw error;
      }
      // The token was exchanged while the call was under way.
      return await this.send<T>({ ...call, token: current });
    }
  }

  /** Another replica hears of the new password within a second. */
  private async callSettled<T>(call: Call, token: string, error: ApiError): Promise<Answer<T>> {
    if (!this.holder?.passwordDue(token)) throw error;
    await new Promise((done) => setTimeout(done, this.options.settleMs ?? DEFAULT_SETTLE_MS));
    return await this.call<T>(call);
  }

  private async send<T>(call: Call): Promise<Answer<T>> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), call.timeoutMs ?? this.options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    const signal = call.signal ? AbortSignal.any([limit.signal, call.signal]) : limit.signal;
    const notSlow = call.timeoutMs === undefined ? this.noteSlow() : null;
    try {
      const response = await this.options.fetch(this.address(call), {
        method: call.method,
        headers: headersOf(call),
        body: call.body === undefined ? null : JSON.stringify(call.body),
        cache: 'no-store',
        credentials: call.negotiates || (call.needsCookie && this.options.keepsCookie) ? 'same-origin' : 'omit',
        redirect: 'error',
        referrerPolicy: 'no-referrer',
        keepalive: call.outlivesPage ?? false,
        signal,
      });
      return await readAnswer<T>(response);
    } catch (error) {
      if (error instanceof ApiError || call.signal?.aborted) throw error;
      throw new ApiError({ kind: limit.signal.aborted ? 'timeout' : 'unreachable' });
    } finally {
      clearTimeout(timer);
      notSlow?.();
    }
  }

  /** A call begins; the function is for its end. */
  private noteSlow(): () => void {
    const count = (n: number): void => {
      this.slow += n;
      this.onSlow?.(this.slow > 0);
    };
    let isSlow = false;
    const timer = setTimeout(() => {
      isSlow = true;
      count(1);
    }, SLOW_MS);
    return () => {
      clearTimeout(timer);
      if (isSlow) count(-1);
    };
  }

  private address(call: Call): string {
    const url = new URL(call.path, this.options.base);
    for (const [key, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined && (value !== '' || key === 'watch')) url.searchParams.set(key, String(value));
    }
    return url.href;
  }
}

function headersOf(call: Call): Record<string, string> {
  const headers: Record<string, string> = { Accept: 'application/json, application/problem+json', 'X-KaaS': '1' };
  if (call.token) headers['Authorization'] = `Bearer ${call.token}`;
  if (call.body !== undefined) headers['Content-Type'] = 'application/json';
  if (call.pluginSession) headers['vmware-api-session-id'] = call.pluginSession;
  if (call.replaces) headers['KaaS-Replaces'] = call.replaces;
  if (call.etag) headers['If-None-Match'] = call.etag;
  return headers;
}

async function readAnswer<T>(response: Response): Promise<Answer<T>> {
  const about = {
    etag: response.headers.get('ETag'),
    asOf: response.headers.get('KaaS-As-Of'),
    stale: parseStale(response.headers.get('KaaS-Stale')),
    watchCursor: response.headers.get('KaaS-Watch-Cursor'),
  };
  if (response.status === 204 || response.status === 304) return { ...about, notModified: response.status === 304, body: null };
  const body = await readJson(response);
  if (response.ok) return { ...about, notModified: false, body: body as T };
  if (!isProblem(body)) throw new ApiError({ kind: 'malformed', status: response.status });
  throw new ApiError({ kind: 'problem', problem: body, retryAfterS: parseRetryAfter(response.headers.get('Retry-After')) });
}

async function readJson(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError({ kind: 'malformed', status: response.status });
  }
}

function isProblem(body: unknown): body is Problem {
  const problem = body as Partial<Problem> | null;
  return typeof problem === 'object' && typeof problem?.code === 'string' && typeof problem.detail === 'string' && typeof problem.status === 'number';
}

/** The reasons in a KaaS-Stale header; unknown ones of a newer service count as `database`, so that the reader is warned at all. */
export function parseStale(header: string | null): StaleReason[] {
  if (header === null) return [];
  const known = new Set(['database', 'vcenter', 'rights']);
  const words = header.split(',').map((word) => word.trim()).filter((word) => word !== '');
  const reasons = words.map((word) => (known.has(word) ? (word as StaleReason) : 'database'));
  return [...new Set<StaleReason>(reasons.length > 0 ? reasons : ['database'])];
}

/** Seconds of a Retry-After header; the date form is not used by the service. */
export function parseRetryAfter(header: string | null): number | null {
  if (header === null || !/^\d{1,6}$/.test(header.trim())) return null;
  return Number(header.trim());
}
