// The state behind the list: question, page, counts, freshness, failure. Asks the service and tells its listener of changes; no markup.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { Answer, ApiClient } from '../api/client.js';
import { ApiError, isAborted, isSessionOver } from '../api/error.js';
import type { ClusterCounts, ClusterFilter, ClusterPage, ClusterQuery, ClusterScope, HxCluster, Problem, Sort, StaleReason } from '../api/types.js';
import { FIRST_QUERY, type ListQuery } from './address.js';
import { AwayVcenters } from './away-vcenters.js';
import { STATES } from './format.js';
import { countMoves, inPlace } from './rows.js';

type Api = Pick<ApiClient, 'listClusters' | 'countClusters' | 'listAllHxClusters' | 'listVcenters'>;

/** Codes that say what is wrong with a name: nothing is called so, or several things. */
const HX_FAULTS = new Set(['not_found', 'hx_name_unknown', 'ambiguous']);

export interface ListListener {
  /** Something of the model is another than before. */
  changed(): void;
  isAdmin(): boolean;
  /** Somebody points at the rows or has the focus in them: they must not move. */
  isReading(): boolean;
}

export class ClusterListModel {
  /** What is asked; `page` is the last good answer, which may be one to the question before. */
  query: ListQuery;
  /** The last good page; stays while the next one is fetched and when that fails. */
  page: ClusterPage | null = null;
  /** The number of that page. */
  pageNumber = 1;
  /** Of what fits the filters but the one by state; null while they are not known. */
  counts: ClusterCounts | null = null;
  /** How many changes are held back, since they would move rows that somebody reads. */
  heldMoves = 0;
  hxClusters: HxCluster[] | null = null;
  hxFailed = false;
  loading = false;
  failure: ApiError | null = null;
  stale: StaleReason[] = [];
  /** The vCenters that make the list stale. */
  readonly away: AwayVcenters;
  asOf: string | null = null;
  /** When the service last said that this is how it is. */
  refreshedAt: Date | null = null;
  /** Where to follow `watched` from: given by the first answer to it. Empty: not known. */
  watchCursor = '';

  /** `counts` are those of the rows, which are all there are. */
  private isCounted = false;
  private held: ClusterPage | null = null;
  private etag: string | null = null;
  /** What `page` answers, and what is asked for by the call under way. */
  private pageKey = '';
  private askedKey = '';
  private running: AbortController | null = null;
  private counting: AbortController | null = null;
  /** The list has changed since what is under way was asked for. */
  private isDue = false;
  /** Aborted when the list goes away; what is under way then says nothing any more. */
  private readonly life = new AbortController();

  constructor(
    private readonly api: Api, private readonly listener: ListListener, query: ListQuery = FIRST_QUERY, readonly scope: ClusterScope | null = null, private readonly now: () => Date = () => new Date(),
  ) {
    this.query = query;
    this.away = new AwayVcenters(api, () => listener.isAdmin(), () => listener.changed());
  }

  get pageCount(): number {
    return Math.max(1, Math.ceil((this.page?.total ?? 0) / this.query.size));
  }

  get isFiltered(): boolean {
    const { q, states, label, hxClusterId, hxName, onHx } = this.query;
    return q.trim() !== '' || states.length > 0 || label !== '' || hxClusterId !== '' || hxName !== '' || onHx !== null;
  }

  /** What to follow, and to count: the question, whatever its page, order and states, since the counts are of all states. */
  watched(): ClusterFilter {
    const { q, hxClusterId, hxName, onHx, label } = this.query;
    const flag = onHx === null ? {} : { on_hx: onHx ? 'true' : 'false' } as const;
    return { ...this.scope, q: q.trim(), hx_cluster_id: hxClusterId, hx_cluster: hxName, ...flag, label };
  }

  /** The question without its page, for all of its rows. */
  wholeQuery(): ClusterQuery {
    return { ...this.watched(), state: this.query.states.join(), sort: this.query.sort };
  }

  /** Why there are no rows where the HX cluster is asked for by its name: none is called so, or several are. */
  get hxFault(): { failure: ApiError; candidates: NonNullable<Problem['candidates']> } | null {
    const { failure } = this;
    if (this.query.hxName === '' || failure?.failure.kind !== 'problem' || !HX_FAULTS.has(failure.failure.problem.code)) return null;
    return { failure, candidates: failure.failure.problem.candidates ?? [] };
  }

  /** Everything anew: the rows, then the entries of the selector. */
  async refresh(): Promise<void> {
    await this.load();
    await this.loadHxClusters();
    this.nameToId();
  }

  /**
   * The same page again, without fuss: nothing is shown as loading, an unchanged page costs one short answer. While a page that somebody
   * waits for is under way, afterwards: that answer may be from before the change.
   */
  async refreshQuietly(): Promise<void> {
    if (this.loading) this.isDue = true;
    else await this.load(true);
  }

  /** The service answers, and nothing has changed: if a call has failed before, another one will not. What was held back is shown if nobody reads any more. */
  noteAnswer(): void {
    if (this.failure) return void this.refreshQuietly();
    this.refreshedAt = this.now();
    if (this.listener.isReading()) this.listener.changed();
    else this.showHeld();
  }

  /** The service has not answered somebody else's call. A call of one's own that is under way tells by itself. */
  noteSilence(error: ApiError): void {
    if (this.loading) return;
    this.failure = error;
    this.listener.changed();
  }

  /** Another question, from its first page, unless the page is what is asked for. */
  async ask(change: Partial<ListQuery>): Promise<void> {
    if (this.change(change)) await this.load();
  }

  /** What is typed is asked for at once, but while somebody waits for an answer only when that is there: one call at a time follows the fingers. */
  async type(q: string): Promise<void> {
    if (!this.change({ q })) return;
    if (this.loading) this.listener.changed();
    else await this.load();
  }

  /** Another place of the same page: an address that somebody has followed. */
  async go(query: ListQuery): Promise<void> {
    if (JSON.stringify(query) !== JSON.stringify(this.query)) await this.ask(query);
  }

  async clearFilters(): Promise<void> {
    await this.ask({ q: '', states: [], label: '', hxClusterId: '', onHx: null });
  }

  async sortBy(sort: Sort): Promise<void> {
    await this.ask({ sort });
  }

  async turnTo(page: number): Promise<void> {
    if (page >= 1 && page <= this.pageCount) await this.ask({ page });
  }

  /** Shows what was held back, if something was. */
  showHeld(): void {
    if (this.held !== null) this.page = this.held;
    this.letGo();
    this.listener.changed();
  }

  /** Gives up what is under way, for good; the answers are dropped. */
  stop(): void {
    this.life.abort();
    this.away.stop();
    this.running?.abort();
    this.running = null;
    this.stopCounting();
  }

  /** Is it another question than before? */
  private change(change: Partial<ListQuery>): boolean {
    const before = this.query;
    const watched = JSON.stringify(this.watched());
    const hxName = change.hxClusterId === undefined ? before.hxName : '';
    this.query = { ...before, page: 1, hxName, ...change };
    if (JSON.stringify(this.watched()) !== watched) this.watchCursor = '';
    const isOther = JSON.stringify(before) !== JSON.stringify(this.query);
    if (isOther) this.etag = null;
    return isOther;
  }

  private async load(quiet = false): Promise<void> {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    this.loading = !quiet;
    this.isDue = false;
    this.askedKey = this.key();
    const page = this.query.page;
    if (!quiet) this.listener.changed();
    // A cursor stands for all that its question has. With states, that is less than what is watched.
    const watch = this.watchCursor === '' && this.query.states.length === 0 ? { watch: '' } : {};
    try {
      const answer = await this.api.listClusters({ ...this.wireQuery(), ...watch }, this.etag, running.signal);
      if (this.running === running) await this.take(answer, page, quiet);
    } catch (error) {
      if (this.running === running) await this.fail(error);
    }
  }

  private async take(answer: Answer<ClusterPage>, pageNumber: number, quiet: boolean): Promise<void> {
    if (answer.body !== null) {
      if (quiet && this.pageKey === this.askedKey) this.showQuietly(answer.body);
      else this.show(answer.body);
      this.pageKey = this.askedKey;
      this.pageNumber = pageNumber;
      this.etag = answer.etag;
      this.countRows(answer.body);
    } else if (!this.listener.isReading()) {
      this.showHeld();
    }
    this.asOf = answer.asOf;
    this.stale = answer.stale;
    this.failure = null;
    this.refreshedAt = this.now();
    if (this.askedKey !== this.key()) return await this.load();
    this.watchCursor = answer.watchCursor ?? this.watchCursor;
    this.done();
    void this.away.look(this.stale);
    if (pageNumber > this.pageCount) await this.ask({ page: this.pageCount });
    else if (this.isDue) void this.load(true);
    else if (!this.isCounted) void this.loadCounts();
  }

  private show(page: ClusterPage): void {
    this.page = page;
    this.letGo();
  }

  /** What is new of each row at once; where rows stand only when nobody reads them. */
  private showQuietly(page: ClusterPage): void {
    const shown = this.page?.items ?? [];
    const moves = this.listener.isReading() ? countMoves(shown, page.items) : 0;
    if (moves === 0) return this.show(page);
    this.page = { ...page, items: inPlace(shown, page.items) };
    this.held = page;
    this.heldMoves = moves;
  }

  private letGo(): void {
    this.held = null;
    this.heldMoves = 0;
  }

  private async fail(error: unknown): Promise<void> {
    if (isAborted(error)) return;
    if (!(error instanceof ApiError)) {
      this.done();
      throw error;
    }
    // The session tells the page itself, and the page goes away with all its rows.
    if (isSessionOver(error)) return this.done();
    if (this.askedKey !== this.key()) return await this.load();
    // Rows of another question would be taken for the answer to this one.
    if (this.pageKey !== this.askedKey) {
      this.page = null;
      this.counts = null;
      this.stopCounting();
      this.letGo();
    }
    this.failure = error;
    this.done();
  }

  private done(): void {
    this.running = null;
    this.loading = false;
    this.listener.changed();
  }

  /** Counts that come behind the rows may move them; but most lists are one page, which tells by itself. */
  private countRows({ items, total }: ClusterPage): void {
    this.isCounted = items.length === total && this.query.states.length === 0;
    if (!this.isCounted) return;
    this.stopCounting();
    const states = STATES.map((state) => [state, items.filter((row) => row.state === state).length]);
    const declared = items.filter(({ state, state_source }) => state === 'ready' && state_source === 'declared').length;
    this.counts = { total, states: Object.fromEntries(states) as ClusterCounts['states'], ready_declared: declared };
  }

  private stopCounting(): void {
    this.counting?.abort();
    this.counting = null;
  }

  /** The list does not wait for counts, which are asked for when its rows are there, and is as good as it was without them. */
  private async loadCounts(): Promise<void> {
    this.counting?.abort();
    const counting = new AbortController();
    this.counting = counting;
    let counts: ClusterCounts | null = null;
    try {
      counts = await this.api.countClusters(this.watched(), counting.signal);
    } catch (error) {
      if (!(error instanceof ApiError) && !isAborted(error)) throw error;
    }
    if (this.counting !== counting) return;
    this.counts = counts;
    this.listener.changed();
  }

  /** What lies on one vSphere cluster lies on one HX cluster at most. */
  private async loadHxClusters(): Promise<void> {
    if (this.scope !== null) return;
    try {
      const all = await this.api.listAllHxClusters(this.life.signal);
      if (this.life.signal.aborted) return;
      this.hxClusters = all;
      this.hxFailed = false;
    } catch (error) {
      if (this.life.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      this.hxFailed = this.hxClusters === null;
    }
    this.listener.changed();
  }

  /** The service has answered by name. Its id means the same, and goes on doing so when the HX cluster is renamed: nothing is asked again. */
  private nameToId(): void {
    const { hxName } = this.query;
    if (hxName === '' || this.running !== null || this.failure !== null) return;
    const [hx, ...others] = (this.hxClusters ?? []).filter((one) => isCalled(one, hxName));
    if (hx === undefined || others.length > 0) return;
    this.query = { ...this.query, hxName: '', hxClusterId: hx.id };
    this.pageKey = this.key();
    this.listener.changed();
  }

  private key(): string {
    return JSON.stringify(this.wireQuery());
  }

  private wireQuery(): ClusterQuery {
    const { page, size } = this.query;
    const offset = (page - 1) * size;
    return { ...this.wholeQuery(), limit: size, ...(offset > 0 ? { offset } : {}) };
  }
}

function isCalled({ name, hx_uuid, management_address, vsphere_cluster: { datacenter, name: vsphere } }: HxCluster, reference: string): boolean {
  const path = datacenter !== null && vsphere !== null ? `${datacenter}/${vsphere}` : null;
  return [name, hx_uuid, management_address, path].includes(reference);
}
