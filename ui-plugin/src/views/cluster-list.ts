// The list of clusters: puts toolbar, states, messages, table and pager together around the model.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, html, nothing } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import type { ApiClient } from '../api/client.js';
import { ApiError, isAborted, isSessionOver } from '../api/error.js';
import type { ClusterPage, ClusterScope, ClusterState, Role, Sort } from '../api/types.js';
import { FIRST_PLACE, FIRST_QUERY, writeAddress, type ListQuery, type PageSize } from '../model/address.js';
import { ClusterListModel } from '../model/cluster-list.js';
import { NARROW_COLUMNS, USUAL_COLUMNS, readColumns, type ColumnId } from '../model/columns.js';
import { clustersToCsv, readAll } from '../model/csv.js';
import { describeFailure } from '../model/failure-text.js';
import { describeHxClusters, mayHaveJob, type HxOption } from '../model/format.js';
import { ListWatch } from '../model/list-watch.js';
import type { RowJob, RowJobs } from '../model/row-jobs.js';
import '../parts/age.js';
import '../parts/cluster-table.js';
import type { ClusterTable } from '../parts/cluster-table.js';
import { download } from '../parts/download.js';
import { noClusters } from '../parts/empty.js';
import { externalIcon } from '../parts/icons.js';
import '../parts/notice.js';
import '../parts/pager.js';
import { dataTime, staleNotice } from '../parts/stale.js';
import '../parts/state-filter.js';
import '../parts/toolbar.js';
import { recall, remember } from '../session/memory.js';
import { strings } from '../strings/index.js';
import { listStyles } from '../styles/list.js';
import { shared } from '../styles/shared.js';

/** The list is asked something else. `isStep`: by a choice, which one goes back from. */
export interface QueryChange {
  query: ListQuery;
  isStep: boolean;
}

/** Where the form is that connects a cluster; null: not for this viewer. */
export type Connects = 'here' | 'window' | null;

/** How many rows of nothing stand for those that are on their way. */
const SKELETON_ROWS = [1, 2, 3, 4, 5, 6, 7, 8];

@customElement('kaas-cluster-list')
export class ClusterList extends LitElement {
  static override styles = [shared, listStyles];

  @property({ attribute: false }) api!: ApiClient;
  @property() viewerRole: Role | null = null;
  /** What alone is shown; null: everything. */
  @property({ attribute: false }) scope: ClusterScope | null = null;
  /** What has just been done, to be said above the list until something is done here. */
  @property() notice = '';
  /** What is asked, as the address has it; what is asked here is told by `kaas-query`. */
  @property({ attribute: false }) asked: ListQuery = FIRST_QUERY;
  /** The cluster whose details somebody comes back from; empty for none. */
  @property() cameFrom = '';
  @property() connects: Connects = null;

  @state() private told = '';
  /** The filters are shown, where they are behind a button. */
  @state() private isOpen = false;
  /** Null: the usual ones. */
  @state() private chosenColumns = readColumns(recall('columns'));
  /** How far an export is; null if there is none. */
  @state() private exported: { done: number; total: number } | null = null;
  @state() private exportFailure: ApiError | null = null;

  /** By id of the cluster: the jobs that work on rows of this page. */
  @state() private jobs: ReadonlyMap<string, RowJob> = new Map();

  @query('h1') private heading!: HTMLElement;
  @query('kaas-cluster-table') private table!: ClusterTable | null;

  private model!: ClusterListModel;
  private watch!: ListWatch;
  private readonly narrow = matchMedia('(max-width: 1100px)');
  /** Too narrow for any columns, and for a bar of filters. */
  private readonly lines = matchMedia('(max-width: 860px)');
  private readonly onWidth = (): void => this.requestUpdate();
  /** The same at each rendering: another one would have the whole table rendered. */
  private readonly addressOf = (id: string): string => writeAddress({ ...FIRST_PLACE, id, query: this.model.query });
  private rowJobs: Promise<RowJobs | null> = Promise.resolve(null);
  /** The rows whose jobs were looked for last. */
  private lookedAt: ClusterPage | null = null;
  private saving: AbortController | null = null;
  /** What is asked now has been chosen, and is no word in the making nor set right by an answer. */
  private isChosen = false;
  /** Nobody looks at a hidden page: it asks for nothing, and catches up when it is shown. */
  private readonly onVisible = (): void => {
    if (document.visibilityState !== 'visible') return this.watch.rest();
    void this.model.refreshQuietly();
    this.follow();
  };

  override connectedCallback() {
    super.connectedCallback();
    const listener = { changed: () => this.onChange(), isAdmin: () => this.viewerRole === 'admin', isReading: () => this.table?.isReading ?? false };
    this.model = new ClusterListModel(this.api, listener, this.asked, this.scope);
    this.watch = new ListWatch(this.api, {
      changed: () => {
        void this.model.refreshQuietly();
        this.lookAgain();
      },
      same: () => {
        this.model.noteAnswer();
        this.lookAgain();
      },
      silent: (error) => this.model.noteSilence(error),
    });
    document.addEventListener('visibilitychange', this.onVisible);
    for (const width of [this.narrow, this.lines]) width.addEventListener('change', this.onWidth);
    void this.model.refresh();
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    document.removeEventListener('visibilitychange', this.onVisible);
    for (const width of [this.narrow, this.lines]) width.removeEventListener('change', this.onWidth);
    this.watch.rest();
    this.model.stop();
    void this.rowJobs.then((jobs) => jobs?.stop());
    this.saving?.abort();
  }

  override willUpdate(changed: Map<PropertyKey, unknown>) {
    if (changed.has('asked') && this.hasUpdated) void this.model.go(this.asked);
  }

  override firstUpdated() {
    if (this.cameFrom === '') this.heading.focus();
  }

  /** One update later than the region it is said in: readers announce what changes, not what is there. */
  override async updated(changed: Map<PropertyKey, unknown>) {
    if (changed.has('notice')) this.told = this.notice;
    if (this.cameFrom === '' || this.model.page === null) return;
    const id = this.cameFrom;
    this.cameFrom = '';
    await this.table?.updateComplete;
    if (!this.table?.focusOn(id)) this.heading.focus();
  }

  /** Everything anew, as the button does. */
  refresh(): void {
    void this.act(this.model.refresh());
  }

  /** What is asked for is what is followed, as soon as it has been answered: if by a failure, following finds out when that is over. */
  private onChange() {
    this.requestUpdate();
    if (JSON.stringify(this.model.query) !== JSON.stringify(this.asked)) this.tellQuery();
    if (!this.model.loading && document.visibilityState === 'visible') this.follow();
    if (this.model.page !== this.lookedAt) void this.lookForJobs();
  }

  /** The service has answered: who is at work is further by now. */
  private lookAgain() {
    if (this.jobs.size > 0) void this.lookForJobs();
  }

  /** Most lists have nothing that is at work: what looks for it is loaded when one has. */
  private async lookForJobs() {
    this.lookedAt = this.model.page;
    const ids = (this.lookedAt?.items ?? []).filter(({ state }) => mayHaveJob(state)).map(({ id }) => id);
    if (ids.length === 0 && this.jobs.size === 0) return;
    this.rowJobs = this.rowJobs.then((known) => known ?? import('../model/row-jobs.js').then(({ RowJobs }) => new RowJobs(this.api, (jobs) => (this.jobs = jobs)), () => null));
    await (await this.rowJobs)?.look(ids);
  }

  private follow() {
    this.watch.follow(this.model.watched(), this.model.watchCursor);
  }

  private tellQuery() {
    this.asked = this.model.query;
    this.dispatchEvent(new CustomEvent<QueryChange>('kaas-query', { detail: { query: this.asked, isStep: this.isChosen } }));
  }

  override render() {
    const { model } = this;
    return html`<main aria-busy=${model.loading}>
      <div class="head"><h1 tabindex="-1">${strings.list.title}</h1><span class="count soft" role="status">${this.countText()}</span>${this.renderConnect()}</div>
      <kaas-toolbar .isNarrow=${this.lines.matches} .isOpen=${this.isOpen} .chosen=${this.chosen} .q=${model.query.q} .hxClusterId=${model.query.hxClusterId} .hxName=${model.query.hxName} .onHx=${model.query.onHx} .label=${model.query.label} .isFiltered=${model.isFiltered}
        .hxOptions=${this.hxOptions()} .hxFailed=${model.hxFailed} .isScoped=${this.scope !== null} .loading=${model.loading} .columns=${this.columns} .exporting=${this.exported !== null}
        @kaas-type=${(event: CustomEvent<string>) => this.act(model.type(event.detail))} @kaas-ask=${(event: CustomEvent<Partial<ListQuery>>) => this.ask(event.detail)}
        @kaas-clear=${() => this.choose(() => model.clearFilters())} @kaas-refresh=${() => this.act(model.refresh())} @kaas-columns=${this.onColumns} @kaas-export=${this.save} @kaas-filters=${() => (this.isOpen = !this.isOpen)}></kaas-toolbar>
      ${this.renderMessages()}
      <div class="line">
        <kaas-state-filter ?hidden=${this.lines.matches && !this.isOpen} .states=${model.query.states} .counts=${model.counts}
          @kaas-states=${(event: CustomEvent<readonly ClusterState[]>) => this.ask({ states: event.detail })}></kaas-state-filter>
        <div class="fresh">
          <span role="status">${model.heldMoves > 0 ? html`<button type="button" class="held" @click=${() => model.showHeld()}>${strings.list.held(model.heldMoves)}</button>` : nothing}</span>
          <kaas-age .at=${dataTime(model.stale, model.asOf, model.refreshedAt)}></kaas-age>
        </div>
      </div>
      ${this.renderRows()}
    </main>`;
  }

  private renderConnect() {
    if (this.connects === null) return nothing;
    if (this.connects === 'here') return html`<a class="connect" href=${writeAddress({ ...FIRST_PLACE, view: 'connect' })}>${strings.connect.title}</a>`;
    return html`<button type="button" class="connect plain" @click=${() => this.dispatchEvent(new CustomEvent('kaas-connect'))}>${strings.connect.title}${externalIcon}</button>`;
  }

  private renderMessages() {
    const { model } = this;
    return html`<div role="status">${this.told ? html`<kaas-notice tone="good">${this.told}</kaas-notice>` : nothing}</div>
      <div role="status">${this.exported ? html`<kaas-notice tone="busy">${strings.list.exporting(this.exported.done, this.exported.total)}</kaas-notice>` : nothing}</div>
      <div role="status">${staleNotice(strings.stale.title, model.stale, model.asOf, model.away.names)}</div>
      <div role="alert">${this.renderFailure()}${this.renderExportFailure()}</div>`;
  }

  /** How many filters are set that are behind the button. */
  private get chosen(): number {
    const { states, label, hxClusterId, hxName, onHx } = this.model.query;
    return states.length + [label, hxClusterId || hxName, onHx ?? ''].filter((value) => value !== '').length;
  }

  private hxOptions(): readonly HxOption[] | null {
    return this.model.hxClusters && describeHxClusters(this.model.hxClusters);
  }

  private countText(): string {
    const { page, loading } = this.model;
    if (page === null) return loading ? strings.list.loading : '';
    return strings.list.count(page.total);
  }

  private renderHxFault({ failure, candidates }: NonNullable<ClusterListModel['hxFault']>) {
    const heading = (candidates.length > 0 ? strings.list.hxSeveral : strings.list.hxUnknown)(this.model.query.hxName);
    const label = ({ name, path }: (typeof candidates)[number]): string => (path ? `${name} (${path})` : name);
    return html`<kaas-notice tone="warning" heading=${heading} .failure=${candidates.length > 0 ? null : describeFailure(failure, this.viewerRole === 'admin')}>
      <p class="choices">${candidates.map((hx) => html`<button type="button" @click=${() => this.ask({ hxClusterId: hx.id })}><bdi>${label(hx)}</bdi></button>`)}
        <button type="button" @click=${() => this.ask({ hxClusterId: '' })}>${strings.list.showAll}</button></p>
    </kaas-notice>`;
  }

  private renderFailure() {
    const { failure, hxFault, page } = this.model;
    if (!failure) return nothing;
    if (hxFault) return this.renderHxFault(hxFault);
    const heading = page ? strings.error.refreshTitle : strings.error.listTitle;
    return html`<kaas-notice tone="bad" heading=${heading} .failure=${describeFailure(failure, this.viewerRole === 'admin')}>
      ${page ? html`<p>${strings.error.keptRows}</p>` : nothing}
      <button slot="action" type="button" @click=${() => this.model.refresh()}>${strings.error.retry}</button>
    </kaas-notice>`;
  }

  private renderExportFailure() {
    if (!this.exportFailure) return nothing;
    return html`<kaas-notice tone="bad" heading=${strings.list.exportFailed} .failure=${describeFailure(this.exportFailure, this.viewerRole === 'admin')}></kaas-notice>`;
  }

  private renderRows() {
    const { model } = this;
    const { page, failure } = model;
    if (page === null) return failure ? nothing : this.renderSkeleton();
    if (page.items.length === 0) return html`<div class="card">${this.renderEmpty()}</div>`;
    return html`<div class="card rows ${model.loading ? 'busy' : ''}">
      <kaas-cluster-table .clusters=${page.items} .hxClusters=${model.hxClusters} .isNarrow=${this.lines.matches} .columns=${this.columns} .jobs=${this.jobs} .sort=${model.query.sort} .nowMs=${Date.now()} .addressOf=${this.addressOf}
        @kaas-sort=${(event: CustomEvent<Sort>) => this.choose(() => model.sortBy(event.detail))} @kaas-label=${(event: CustomEvent<string>) => this.ask({ label: event.detail })}></kaas-cluster-table>
      <kaas-pager .page=${model.pageNumber} .pageCount=${model.pageCount} .size=${model.query.size} .shown=${page.items.length} .total=${page.total}
        @kaas-page=${(event: CustomEvent<number>) => this.turn(event.detail)} @kaas-size=${(event: CustomEvent<PageSize>) => this.ask({ size: event.detail })}></kaas-pager>
    </div>`;
  }

  private renderSkeleton() {
    return html`<div class="card skeleton" aria-hidden="true">${SKELETON_ROWS.map(() => html`<div><i></i><i></i><i></i><i></i></div>`)}</div>`;
  }

  private renderEmpty() {
    const { model } = this;
    const empty = strings.empty;
    if (model.isFiltered) {
      const hx = this.hxOptions()?.find((option) => option.id === model.query.hxClusterId);
      const { q, states, label } = model.query;
      const why = hx && q.trim() === '' && states.length === 0 && label === '' ? empty.noneOnHx(hx.label) : empty.noMatch;
      return html`<kaas-empty heading=${empty.noMatchTitle} text=${why}>
        <button type="button" @click=${() => this.choose(() => model.clearFilters())}>${strings.list.clearFilters}</button>
      </kaas-empty>`;
    }
    return noClusters(this.viewerRole);
  }

  /** Shows another page from its top, and puts the focus there: the button pressed may be disabled afterwards. */
  private async turn(page: number) {
    await this.choose(() => this.model.turnTo(page));
    await this.updateComplete;
    this.heading.focus({ preventScroll: true });
    window.scrollTo({ top: 0 });
  }

  private ask(change: Partial<ListQuery>) {
    return this.choose(() => this.model.ask(change));
  }

  /** A step to go back from: the model tells of another question before it asks it. */
  private choose(deed: () => Promise<void>): Promise<void> {
    this.isChosen = true;
    const done = this.act(deed());
    this.isChosen = false;
    return done;
  }

  /** What was said of the time before is over when somebody does something. */
  private act(done: Promise<void>): Promise<void> {
    this.told = '';
    this.exportFailure = null;
    return done;
  }

  private get columns(): readonly ColumnId[] {
    return this.chosenColumns ?? (this.narrow.matches ? NARROW_COLUMNS : USUAL_COLUMNS);
  }

  private onColumns(event: CustomEvent<readonly ColumnId[] | null>) {
    this.chosenColumns = event.detail;
    remember('columns', event.detail && event.detail.join());
  }

  private async save() {
    void this.act(Promise.resolve());
    const saving = new AbortController();
    this.saving = saving;
    this.exported = { done: 0, total: this.model.page?.total ?? 0 };
    try {
      const rows = await readAll(this.api, this.model.wholeQuery(), (done, total) => (this.exported = { done, total }), saving.signal);
      download(strings.list.file(new Date().toISOString().slice(0, 10)), 'text/csv;charset=utf-8', clustersToCsv(rows));
      this.told = strings.list.exported(rows.length);
    } catch (error) {
      if (isAborted(error) || isSessionOver(error)) return;
      if (!(error instanceof ApiError)) throw error;
      this.exportFailure = error;
    } finally {
      this.exported = null;
    }
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-cluster-list': ClusterList;
  }
}
