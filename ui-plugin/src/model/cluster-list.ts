// The state behind the list: query, page, freshness, failure. Asks the service and tells its listener of changes; no markup.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { Answer, ApiClient } from '../api/client.js';
import { ApiError, isAborted, isSessionOver } from '../api/error.js';
import type { Cluster, ClusterQuery, HxCluster, List, Sort, SortKey, StaleReason } from '../api/types.js';

type Api = Pick<ApiClient, 'listClusters' | 'listHxClusters' | 'listVcenters'>;

export interface Query {
  q: string;
  hxClusterId: string;
  sort: Sort;
}

export const PAGE_SIZE = 50;
const FIRST_QUERY: Query = { q: '', hxClusterId: '', sort: 'name' };
/** The selector needs no more; beyond that the filter box serves better. */
const HX_PAGES_MAX = 4;

export class ClusterListModel {
  query: Query = { ...FIRST_QUERY };
  /** The last good page; stays while the next one is fetched and when that fails. */
  page: List<Cluster> | null = null;
  hxClusters: HxCluster[] | null = null;
  hxFailed = false;
  loading = false;
  failure: ApiError | null = null;
  stale: StaleReason[] = [];
  /** Names of the vCenters that make the list stale, where the viewer may know them. */
  awayVcenters: string[] = [];
  asOf: string | null = null;
  refreshedAt: Date | null = null;
  /** Number of the page that is shown; not of one that is still on its way. */
  pageNumber = 1;

  /** Cursors of the pages before and of this one; empty on the first. */
  private cursors: string[] = [];
  private etag: string | null = null;
  /** What `page` answers. */
  private pageKey = '';
  private running: AbortController | null = null;
  /** The list has changed since what is under way was asked for. */
  private isDue = false;
  /** Aborted when the list goes away; what is under way then says nothing any more. */
  private readonly life = new AbortController();

  constructor(
    private readonly api: Api, private readonly changed: () => void, private readonly isAdmin: () => boolean, private readonly now: () => Date = () => new Date(),
  ) {}

  get hasNext(): boolean {
    return this.page?.next_cursor != null;
  }

  get isFiltered(): boolean {
    return this.query.q !== '' || this.query.hxClusterId !== '';
  }

  /** What to follow: the question, whatever its page and order. */
  watchQuery(): ClusterQuery {
    return { q: this.query.q, hx_cluster_id: this.query.hxClusterId };
  }

  /** Everything anew: the rows and the entries of the selector. */
  async refresh(): Promise<void> {
    await Promise.all([this.load(), this.loadHxClusters()]);
  }

  /**
   * The same page again, without fuss: nothing is shown as loading, an unchanged page costs one short answer. While a page that somebody
   * waits for is under way, afterwards: that answer may be from before the change.
   */
  async refreshQuietly(): Promise<void> {
    if (this.loading) this.isDue = true;
    else await this.load(true);
  }

  /** The service answers, and nothing has changed: if a call has failed before, another one will not. */
  noteAnswer(): void {
    if (this.failure) void this.refreshQuietly();
  }

  /** The service has not answered somebody else's call. A call of one's own that is under way tells by itself. */
  noteSilence(error: ApiError): void {
    if (this.loading) return;
    this.failure = error;
    this.changed();
  }

  async ask(change: Partial<Query>): Promise<void> {
    const next = { ...this.query, ...change };
    if (next.q === this.query.q && next.hxClusterId === this.query.hxClusterId && next.sort === this.query.sort) return;
    this.query = next;
    this.firstPage();
    await this.load();
  }

  async clearFilters(): Promise<void> {
    await this.ask({ q: '', hxClusterId: '' });
  }

  /** Sorts by `key`, or turns the order around if it is the key already. */
  async sortBy(key: SortKey): Promise<void> {
    await this.ask({ sort: this.query.sort === key ? `-${key}` : key });
  }

  async nextPage(): Promise<void> {
    const cursor = this.page?.next_cursor;
    if (cursor == null || this.loading) return;
    this.cursors = [...this.cursors, cursor];
    this.etag = null;
    await this.load();
  }

  async previousPage(): Promise<void> {
    if (this.cursors.length === 0 || this.loading) return;
    this.cursors = this.cursors.slice(0, -1);
    this.etag = null;
    await this.load();
  }

  /** Gives up what is under way, for good; the answers are dropped. */
  stop(): void {
    this.life.abort();
    this.running?.abort();
    this.running = null;
  }

  private firstPage(): void {
    this.cursors = [];
    this.etag = null;
  }

  private async load(quiet = false): Promise<void> {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    this.loading = !quiet;
    this.isDue = false;
    if (!quiet) this.changed();
    try {
      const answer = await this.api.listClusters(this.wireQuery(), this.etag, running.signal);
      if (this.running === running) this.take(answer);
    } catch (error) {
      if (this.running === running) await this.fail(error, quiet);
    }
  }

  private take(answer: Answer<List<Cluster>>): void {
    if (answer.body !== null) {
      this.page = answer.body;
      this.pageKey = this.key();
      this.pageNumber = this.cursors.length + 1;
      this.etag = answer.etag;
    }
    this.asOf = answer.asOf;
    this.stale = answer.stale;
    this.failure = null;
    this.refreshedAt = this.now();
    this.done();
    void this.nameAway();
    if (this.isDue) void this.load(true);
  }

  private async fail(error: unknown, quiet: boolean): Promise<void> {
    if (isAborted(error)) return;
    if (!(error instanceof ApiError)) {
      this.done();
      throw error;
    }
    // The session tells the page itself, and the page goes away with all its rows.
    if (isSessionOver(error)) return this.done();
    if (this.cursors.length > 0 && error.code === 'invalid_request') {
      // The place in the list is no longer known (the service has been updated, say): begin again at the front.
      this.firstPage();
      await this.load(quiet);
      return;
    }
    // Rows of another question would be taken for the answer to this one.
    if (this.pageKey !== this.key()) {
      this.page = null;
      this.pageNumber = this.cursors.length + 1;
    }
    this.failure = error;
    this.done();
  }

  private done(): void {
    this.running = null;
    this.loading = false;
    this.changed();
  }

  /** Who can do something about a vCenter that is away is told which it is. */
  private async nameAway(): Promise<void> {
    let names: string[] = [];
    try {
      const isTold = this.stale.includes('vcenter') && this.isAdmin();
      const vcenters = isTold ? await this.api.listVcenters(this.life.signal) : [];
      names = vcenters.filter(({ state }) => state === 'unreachable' || state === 'refused').map(({ name }) => name);
    } catch (error) {
      // Without names it is still told that one is away.
      if (!(error instanceof ApiError) && !isAborted(error)) throw error;
    }
    if (this.life.signal.aborted || names.join() === this.awayVcenters.join()) return;
    this.awayVcenters = names;
    this.changed();
  }

  private async loadHxClusters(): Promise<void> {
    try {
      const all: HxCluster[] = [];
      let cursor: string | null = null;
      for (let n = 0; n < HX_PAGES_MAX; n += 1) {
        const page: List<HxCluster> = await this.api.listHxClusters(cursor, this.life.signal);
        if (this.life.signal.aborted) return;
        all.push(...page.items);
        cursor = page.next_cursor;
        if (cursor === null) break;
      }
      this.hxClusters = all;
      this.hxFailed = false;
    } catch (error) {
      if (this.life.signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      this.hxFailed = this.hxClusters === null;
    }
    this.changed();
  }

  private key(): string {
    return JSON.stringify(this.wireQuery());
  }

  private wireQuery(): ClusterQuery {
    const { q, hxClusterId, sort } = this.query;
    const cursor = this.cursors.at(-1);
    return { q, hx_cluster_id: hxClusterId, sort, limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) };
  }
}
