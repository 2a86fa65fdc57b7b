// The list of clusters: puts toolbar, messages, table and pager together around the model.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import type { ApiClient } from '../api/client.js';
import type { Role, SortKey } from '../api/types.js';
import { ClusterListModel } from '../model/cluster-list.js';
import { describeFailure } from '../model/failure-text.js';
import { ListWatch } from '../model/list-watch.js';
import { absoluteTime, clockTime, describeHxClusters, type HxOption } from '../model/format.js';
import '../parts/cluster-table.js';
import '../parts/empty.js';
import '../parts/notice.js';
import '../parts/pager.js';
import '../parts/toolbar.js';
import type { ToolbarChange } from '../parts/toolbar.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';


@customElement('kaas-cluster-list')
export class ClusterList extends LitElement {
  static override styles = [shared, css`
    :host { display: block; max-width: 1440px; margin: 0 auto; padding: var(--space-5); }
    main { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--space-4); }
    h1:focus-visible { outline: none; }
    .head { display: flex; align-items: baseline; gap: var(--space-3); flex-wrap: wrap; }
    /* Live regions must be there before they speak; empty ones take no room. */
    [role]:empty { position: absolute; }
    .count { min-height: 1.45em; }
    .busy kaas-cluster-table { opacity: 0.55; }
    .wait { padding: var(--space-6) var(--space-5); text-align: center; color: var(--text-soft); animation: show 0.2s 0.3s both; }
    @keyframes show { from { opacity: 0; } }
    @media (max-width: 560px) { :host { padding: var(--space-4); } }
  `];

  @property({ attribute: false }) api!: ApiClient;
  @property() viewerRole: Role | null = null;
  /** What has just been done, to be said above the list until something is done here. */
  @property() notice = '';

  @state() private told = '';

  @query('h1') private heading!: HTMLElement;

  private model!: ClusterListModel;
  private watch!: ListWatch;
  /** Nobody looks at a hidden page: it asks for nothing, and catches up when it is shown. */
  private readonly onVisible = (): void => {
    if (document.visibilityState !== 'visible') return this.watch.rest();
    void this.model.refreshQuietly();
    this.watch.follow(this.model.watchQuery());
  };

  override connectedCallback() {
    super.connectedCallback();
    this.model = new ClusterListModel(this.api, () => this.onChange(), () => this.isAdmin);
    this.watch = new ListWatch(this.api, {
      changed: () => void this.model.refreshQuietly(),
      same: () => this.model.noteAnswer(),
      silent: (error) => this.model.noteSilence(error),
    });
    document.addEventListener('visibilitychange', this.onVisible);
    void this.model.refresh();
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    document.removeEventListener('visibilitychange', this.onVisible);
    this.watch.rest();
    this.model.stop();
  }

  private get isAdmin(): boolean {
    return this.viewerRole === 'admin';
  }

  /** What is asked for is what is followed, as soon as it has been answered: if by a failure, following finds out when that is over. */
  private onChange() {
    this.requestUpdate();
    if (!this.model.loading && document.visibilityState === 'visible') this.watch.follow(this.model.watchQuery());
  }

  override firstUpdated() {
    this.heading.focus();
  }

  /** One update later than the region it is said in: readers announce what changes, not what is there. */
  override updated(changed: Map<PropertyKey, unknown>) {
    if (changed.has('notice')) this.told = this.notice;
  }

  override render() {
    const { model } = this;
    return html`<main aria-busy=${model.loading}>
      <div class="head"><h1 tabindex="-1">${strings.list.title}</h1><span class="count soft" role="status">${this.countText()}</span></div>
      <kaas-toolbar .q=${model.query.q} .hxClusterId=${model.query.hxClusterId} .hxOptions=${this.hxOptions()} .hxFailed=${model.hxFailed}
        .loading=${model.loading} .refreshed=${model.refreshedAt ? strings.list.refreshed(clockTime(model.refreshedAt)) : ''}
        @kaas-query=${this.onQuery} @kaas-refresh=${this.onRefresh}></kaas-toolbar>
      <div role="status">${this.told ? html`<kaas-notice tone="good">${this.told}</kaas-notice>` : nothing}</div>
      <div role="status">${this.renderStale()}</div>
      <div role="alert">${this.renderFailure()}</div>
      ${this.renderRows()}
      ${this.renderPager()}
    </main>`;
  }

  private hxOptions(): readonly HxOption[] | null {
    return this.model.hxClusters && describeHxClusters(this.model.hxClusters);
  }

  private countText(): string {
    const { page, loading, pageNumber, hasNext } = this.model;
    if (page === null) return loading ? strings.list.loading : '';
    return strings.list.count(page.items.length, hasNext || pageNumber > 1);
  }

  private renderStale() {
    const { stale, asOf, awayVcenters } = this.model;
    if (stale.length === 0) return nothing;
    const words = { ...strings.stale.reason, ...(awayVcenters.length > 0 ? { vcenter: strings.stale.away(awayVcenters) } : {}) };
    const reasons = stale.map((reason) => words[reason]).join(' ');
    return html`<kaas-notice tone="warning" heading=${strings.stale.title}>${reasons} ${asOf ? strings.stale.asOf(absoluteTime(asOf)) : ''}</kaas-notice>`;
  }

  private renderFailure() {
    const { failure, page } = this.model;
    if (!failure) return nothing;
    const heading = page ? strings.error.refreshTitle : strings.error.listTitle;
    return html`<kaas-notice tone="bad" heading=${heading} .failure=${describeFailure(failure, this.isAdmin)}>
      ${page ? html`<p>${strings.error.keptRows}</p>` : nothing}
      <button slot="action" type="button" @click=${() => this.model.refresh()}>${strings.error.retry}</button>
    </kaas-notice>`;
  }

  private renderRows() {
    const { page, loading, failure } = this.model;
    if (page === null) return failure ? nothing : html`<div class="card"><p class="wait">${strings.list.loading}</p></div>`;
    if (page.items.length === 0) return html`<div class="card">${this.renderEmpty()}</div>`;
    return html`<div class="card ${loading ? 'busy' : ''}">
      <kaas-cluster-table .clusters=${page.items} .sort=${this.model.query.sort} .nowMs=${Date.now()}
        @kaas-sort=${(event: CustomEvent<SortKey>) => this.model.sortBy(event.detail)}></kaas-cluster-table>
    </div>`;
  }

  private renderEmpty() {
    const { model } = this;
    const empty = strings.empty;
    if (model.pageNumber > 1) return html`<kaas-empty heading=${empty.noMatchTitle} text=${empty.pastEnd}></kaas-empty>`;
    if (model.isFiltered) {
      const hx = this.hxOptions()?.find((option) => option.id === model.query.hxClusterId);
      const why = hx && model.query.q === '' ? empty.noneOnHx(hx.label) : empty.noMatch;
      return html`<kaas-empty heading=${empty.noMatchTitle} text=${why}>
        <button type="button" @click=${() => model.clearFilters()}>${strings.list.clearFilters}</button>
      </kaas-empty>`;
    }
    const mayAdd = this.isAdmin || this.viewerRole === 'provisioner';
    if (mayAdd) return html`<kaas-empty heading=${empty.noneTitle} text=${empty.noneAdmin} command=${empty.noneAdminCommand}></kaas-empty>`;
    return html`<kaas-empty heading=${empty.noneUserTitle} text=${empty.noneUser}></kaas-empty>`;
  }

  private renderPager() {
    const { pageNumber, hasNext, loading } = this.model;
    if (pageNumber === 1 && !hasNext) return nothing;
    return html`<kaas-pager .page=${pageNumber} .more=${hasNext} .busy=${loading}
      @kaas-next=${() => this.turn(() => this.model.nextPage())} @kaas-previous=${() => this.turn(() => this.model.previousPage())}></kaas-pager>`;
  }

  /** Shows another page from its top, and puts the focus there: the button pressed may be disabled afterwards. */
  private async turn(page: () => Promise<void>) {
    await page();
    await this.updateComplete;
    this.heading.focus({ preventScroll: true });
    window.scrollTo({ top: 0 });
  }

  private onRefresh() {
    this.told = '';
    void this.model.refresh();
  }

  private onQuery(event: CustomEvent<ToolbarChange>) {
    this.told = '';
    void this.model.ask(event.detail);
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-cluster-list': ClusterList;
  }
}
