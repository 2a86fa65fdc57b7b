// The rows: a native table. Where that has no room each cluster is two lines; the explicit roles keep it a table for screen readers then.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { repeat } from 'lit/directives/repeat.js';
import { textsBelowName, type Cluster, type HxCluster, type Replicas, type Sort } from '../api/types.js';
import { ALWAYS, COLUMNS, USUAL_COLUMNS, nextOrder, orderOf, type Column, type ColumnId } from '../model/columns.js';
import { absoluteTime, age, askedLabel, describePlacement, describeReason, describeReplicas, describeState, hostOf, relativeTime, safeHttpsUrl, sharedNames, shortNumber } from '../model/format.js';
import type { RowJob } from '../model/row-jobs.js';
import { numberRows } from '../model/rows.js';
import { strings } from '../strings/index.js';
import { progressStyles } from '../styles/progress.js';
import { shared } from '../styles/shared.js';
import { lineStyles, tableStyles } from '../styles/table.js';
import { toneStyles } from '../styles/tone.js';
import './copy.js';
import { none } from './dash.js';
import { externalIcon, sortIcon, toneIcon } from './icons.js';
import './state-badge.js';

/** More are behind a button. */
const LABELS_SHOWN = 2;

@customElement('kaas-cluster-table')
export class ClusterTable extends LitElement {
  static override styles = [shared, toneStyles, progressStyles, tableStyles, lineStyles];

  @property({ attribute: false }) clusters: readonly Cluster[] = [];
  /** All that the viewer may see, not of these rows only; null while they are not known. */
  @property({ attribute: false }) hxClusters: readonly HxCluster[] | null = null;
  @property({ attribute: false }) columns: readonly ColumnId[] = USUAL_COLUMNS;
  /** The jobs that work on these clusters, by id. */
  @property({ attribute: false }) jobs: ReadonlyMap<string, RowJob> = new Map();
  @property() sort: Sort = '-state';
  /** There is no room for columns: two lines have what matters most, whatever columns are chosen. */
  @property({ type: Boolean }) isNarrow = false;
  /** Ages go by minutes: nothing is rendered for less. */
  @property({ attribute: false, hasChanged: (now: number, before: number) => Math.trunc(now / 60_000) !== Math.trunc(before / 60_000) }) nowMs = 0;
  /** The address of a cluster's details. */
  @property({ attribute: false }) addressOf: (id: string) => string = () => '';

  /** Names of HX clusters that are those of several. */
  private shared: ReadonlySet<string> = new Set();
  /** By cluster: which of the elements that rows are made of are its own. */
  private numbers: ReadonlyMap<string, number> = new Map();
  /** As wide as the columns that are chosen are with these rows, where they were found to be too wide: less room has lines. 0: not found. */
  private needed = 0;
  /** In the next frame: what an observer changes itself it would be told of again. */
  private readonly resized = new ResizeObserver(() => requestAnimationFrame(() => this.fit()));
  /** Clusters of which all labels are shown. */
  private readonly unfolded = new Set<string>();
  private pointed = false;
  private focused = false;

  /** Does somebody point at a row, or has the focus in one? */
  get isReading(): boolean {
    return this.pointed || this.focused;
  }

  override connectedCallback() {
    super.connectedCallback();
    this.resized.observe(this);
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    this.resized.disconnect();
  }

  override willUpdate(changed: Map<PropertyKey, unknown>) {
    if (changed.has('columns')) this.needed = 0;
    if (changed.has('clusters')) this.numbers = numberRows(this.numbers, this.clusters);
    if (changed.has('clusters') || changed.has('hxClusters')) this.shared = sharedNames([...(this.hxClusters ?? []), ...this.clusters.flatMap(({ placement }) => placement.hx_clusters)]);
  }

  override render() {
    if (this.isLines) return this.renderLines();
    const columns = COLUMNS.filter(({ id }) => this.columns.includes(id));
    return html`<table role="table">
      <caption class="sr-only">${strings.list.tableLabel}</caption>
      <thead role="rowgroup"><tr role="row">${columns.map((column) => this.head(column))}</tr></thead>
      ${this.body((cluster) => this.row(cluster, columns))}
    </table>`;
  }

  /** Before it is seen, but with all that is in it. */
  override async updated() {
    await Promise.all(Array.from(this.renderRoot.querySelectorAll('kaas-state-badge'), (badge) => badge.updateComplete));
    this.fit();
  }

  /** Nothing is ever cut off, nor to be scrolled for. */
  private fit() {
    const table = this.renderRoot.querySelector<HTMLElement>('table:not(.lines)');
    if (table && table.offsetWidth > this.clientWidth) this.needed = table.offsetWidth;
    if (this.isConnected && (table === null) !== this.isLines) this.requestUpdate();
  }

  private get isLines(): boolean {
    return this.isNarrow || this.clientWidth < this.needed;
  }

  private renderLines() {
    const choices = COLUMNS.flatMap((column) => (column.sort ? (['ascending', 'descending'] as const).map((order) => ({ id: column.id, order, sort: column.sort?.[order] })) : []));
    return html`<label class="order">${strings.list.order}
        <select @change=${(event: Event) => this.tell('kaas-sort', (event.target as HTMLSelectElement).value)}>${choices.map(({ id, order, sort }) => html`<option
          value=${sort} ?selected=${sort === this.sort}>${strings.list.orderBy(id, strings.table.column[id], order)}</option>`)}</select></label>
      <table role="table" class="lines"><caption class="sr-only">${strings.list.tableLabel}</caption>${this.body((cluster) => this.lines(cluster))}</table>`;
  }

  private body(row: (cluster: Cluster) => TemplateResult) {
    return html`<tbody role="rowgroup" @pointerenter=${() => (this.pointed = true)} @pointerleave=${() => (this.pointed = false)}
        @focusin=${() => (this.focused = true)} @focusout=${this.onFocusOut}>
        ${repeat(this.clusters, (cluster) => this.numbers.get(cluster.id), row)}
      </tbody>`;
  }

  /** Name and state; below that why, or where, and the rest as far as it fits. */
  private lines(cluster: Cluster) {
    const { word, tone } = describeState(cluster.state, cluster.state_source);
    const reason = this.reason(cluster);
    const spoken = (id: ColumnId) => html`<span class="sr-only">${strings.table.column[id]}</span>`;
    return html`<tr role="row" data-id=${cluster.id}>
      <th scope="row" role="rowheader" class="name"><span class=${tone}>${toneIcon[tone]}</span><a href=${this.addressOf(cluster.id)}><bdi>${cluster.name}</bdi></a></th>
      <td role="cell" class="state ${tone}">${word}${this.progress(cluster)}</td>
      <td role="cell" class="below soft">${reason ? html`<bdi title=${reason}>${reason}</bdi>` : this.placement(cluster)}</td>
      <td role="cell" class="facts soft">${this.version(cluster)}${spoken('controlPlane')}${this.replicas(cluster.control_plane, cluster)}${spoken('workers')}${this.replicas(cluster.workers, cluster)}</td>
    </tr>`;
  }

  /** The focus goes to this cluster's name; false if there is no such row. */
  focusOn(id: string): boolean {
    const link = this.renderRoot.querySelector<HTMLElement>(`tr[data-id="${CSS.escape(id)}"] .name a`);
    link?.focus();
    return link !== null;
  }

  private onFocusOut(event: FocusEvent) {
    const next = event.relatedTarget;
    this.focused = next instanceof Node && (event.currentTarget as HTMLElement).contains(next);
  }

  private head(column: Column) {
    const label = strings.table.column[column.id];
    if (!column.sort) return html`<th scope="col" role="columnheader" class=${column.id}>${label}</th>`;
    const order = orderOf(column, this.sort);
    const next = column.sort[nextOrder(column, this.sort)];
    return html`<th scope="col" role="columnheader" class=${column.id} aria-sort=${order}>
      <button type="button" class="sort ${order}" @click=${() => this.tell<Sort>('kaas-sort', next)}>${label}${sortIcon[order]}</button>
    </th>`;
  }

  private tell<T>(name: string, detail: T) {
    this.dispatchEvent(new CustomEvent<T>(name, { detail }));
  }

  private row(cluster: Cluster, columns: readonly Column[]) {
    return html`<tr role="row" data-id=${cluster.id}>${columns.map(({ id }) => (id === ALWAYS ? this.name(cluster) : this.cell(id, this.content(id, cluster))))}</tr>`;
  }

  private name(cluster: Cluster) {
    return html`<th scope="row" role="rowheader" class="name">
      <a href=${this.addressOf(cluster.id)}><bdi>${cluster.name}</bdi></a>
      ${textsBelowName.map((text) => (cluster[text] ? html`<bdi class="soft sub" title=${cluster[text]}>${cluster[text]}</bdi>` : nothing))}
    </th>`;
  }

  private cell(id: ColumnId, content: TemplateResult) {
    return html`<td role="cell" class=${id}><span class="label" aria-hidden="true">${strings.table.column[id]}</span><div class="value">${content}</div></td>`;
  }

  private content(id: ColumnId, cluster: Cluster): TemplateResult {
    switch (id) {
      case 'state': return this.state(cluster);
      case 'version': return this.version(cluster);
      case 'controlPlane': return this.replicas(cluster.control_plane, cluster);
      case 'workers': return this.replicas(cluster.workers, cluster);
      case 'placement': return this.placement(cluster);
      case 'access': return this.access(cluster);
      case 'labels': return this.labels(cluster);
      case 'age': return html`<time datetime=${cluster.created_at} title=${absoluteTime(cluster.created_at)}>${age(cluster.created_at, this.nowMs)}</time>`;
      case 'changed': return html`<time datetime=${cluster.updated_at} title=${absoluteTime(cluster.updated_at)}>${relativeTime(cluster.updated_at, this.nowMs)}</time>`;
      case 'name': return html``;
    }
  }

  private version({ kubernetes_version: version }: Cluster) {
    return html`<bdi class="place" title=${version}>${version}</bdi>`;
  }

  private reason({ state, state_reason: reason, state_source: source }: Cluster): string {
    return describeReason(reason) || (source === 'declared' && state !== 'unknown' ? strings.table.byHand : '');
  }

  private state(cluster: Cluster) {
    const { state, state_source: source } = cluster;
    const reason = this.reason(cluster);
    return html`<kaas-state-badge .state=${state} .source=${source}></kaas-state-badge>${reason ? html`<bdi class="soft sub reason" title=${reason}>${reason}</bdi>` : nothing}${this.progress(cluster)}`;
  }

  /** In room that is there: rows stay where they are when it comes and goes. */
  private progress({ id }: Cluster) {
    const job = this.jobs.get(id);
    return job ? html`<progress class="busy" max="100" .value=${job.percent} aria-label=${job.title} title=${`${job.title}: ${shortNumber(job.percent)} %`}></progress>` : nothing;
  }

  private replicas(replicas: Replicas, cluster: Cluster) {
    const { short, spoken, tone } = describeReplicas(replicas, cluster);
    const icon = tone === 'warning' || tone === 'bad' ? toneIcon[tone] : nothing;
    return html`<span class="count ${tone === 'good' ? '' : tone}" title=${spoken}><span aria-hidden="true">${short}</span>${icon}<span class="sr-only">${spoken}</span></span>`;
  }

  private placement(cluster: Cluster) {
    const { names, hidden } = describePlacement(cluster.placement, this.shared);
    return html`<span class="places" title=${names.join(', ')}>${names.map((name, n) => html`${n > 0 ? ', ' : ''}<bdi class="place">${name}</bdi>`)}</span>${hidden ? html`<span class="soft sub">${hidden}</span>` : nothing}`;
  }

  private access(cluster: Cluster) {
    const dashboard = safeHttpsUrl(cluster.dashboard_url);
    const api = safeHttpsUrl(cluster.api_endpoint);
    if (!dashboard && !api) return html`<span class="soft">${none()}</span>`;
    return html`<span class="endpoint">
      ${api ? html`<bdi title=${api}>${hostOf(cluster)}</bdi><kaas-copy .value=${api} .label=${strings.table.copyApi(cluster.name)}></kaas-copy>` : nothing}
      ${dashboard ? html`<a class="dashboard" href=${dashboard} target="_blank" rel="noopener noreferrer" title=${strings.table.dashboard}
        aria-label=${strings.table.dashboardOf(cluster.name)}>${externalIcon}</a>` : nothing}
    </span>`;
  }

  private labels({ id, name, labels }: Cluster) {
    const all = Object.entries(labels);
    if (all.length === 0) return html`<span class="soft">${none()}</span>`;
    const more = all.length - LABELS_SHOWN;
    const isOpen = this.unfolded.has(id);
    return html`<span class="tags">${(isOpen ? all : all.slice(0, LABELS_SHOWN)).map(([key, value]) => this.label(key, value))}
      ${more > 0 ? html`<button type="button" class="tag" aria-expanded=${isOpen} @click=${() => this.unfold(id)}>${isOpen ? strings.table.fewerLabels
        : html`<span aria-hidden="true">+${more}</span><span class="sr-only">${strings.table.moreLabels(more, name)}</span>`}</button>` : nothing}</span>`;
  }

  /** All labels of a cluster, or those again that there is room for. */
  private unfold(id: string) {
    if (!this.unfolded.delete(id)) this.unfolded.add(id);
    this.requestUpdate();
  }

  private label(key: string, value: string) {
    const asked = askedLabel(key, value);
    return html`<button type="button" class="tag" title=${strings.table.onlyWith(asked)} @click=${() => this.tell<string>('kaas-label', asked)}
      ><bdi>${key}=${value}</bdi></button>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-cluster-table': ClusterTable;
  }
}
