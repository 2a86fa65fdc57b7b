// The rows: a native table. On narrow screens each row becomes a card; the explicit roles keep it a table for screen readers then.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { repeat } from 'lit/directives/repeat.js';
import { textsBelowName, type Cluster, type ClusterState, type Replicas, type Sort, type SortKey } from '../api/types.js';
import { absoluteTime, describePlacement, describeReplicas, hostOf, relativeTime, safeHttpsUrl } from '../model/format.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { tableStyles } from '../styles/table.js';
import { externalIcon, sortIcon, toneIcon } from './icons.js';
import './state-badge.js';


@customElement('kaas-cluster-table')
export class ClusterTable extends LitElement {
  static override styles = [shared, tableStyles];

  @property({ attribute: false }) clusters: readonly Cluster[] = [];
  @property() sort: Sort = 'name';
  @property({ attribute: false }) nowMs = 0;

  override render() {
    return html`<table role="table">
      <caption class="sr-only">${strings.list.tableLabel}</caption>
      <thead role="rowgroup"><tr role="row">
        ${this.sortableHead('name', strings.table.name)} ${this.sortableHead('state', strings.table.state)} ${this.sortableHead('kubernetes_version', strings.table.version)}
        ${this.head(strings.table.controlPlane)} ${this.head(strings.table.workers)} ${this.head(strings.table.placement)} ${this.head(strings.table.access)} ${this.head(strings.table.observed)}
      </tr></thead>
      <tbody role="rowgroup">${repeat(this.clusters, (cluster) => cluster.id, (cluster) => this.row(cluster))}</tbody>
    </table>`;
  }

  private head(label: string) {
    return html`<th scope="col" role="columnheader">${label}</th>`;
  }

  private sortableHead(key: SortKey, label: string) {
    const order = this.sort === key ? 'ascending' : this.sort === `-${key}` ? 'descending' : 'none';
    return html`<th scope="col" role="columnheader" aria-sort=${order}>
      <button type="button" class="sort ${order}" @click=${() => this.askSort(key)}>${label}${sortIcon[order]}</button>
    </th>`;
  }

  private askSort(key: SortKey) {
    this.dispatchEvent(new CustomEvent<SortKey>('kaas-sort', { detail: key }));
  }

  private row(cluster: Cluster) {
    return html`<tr role="row" data-id=${cluster.id}>
      <th scope="row" role="rowheader" class="name">
        <bdi>${cluster.name}</bdi>
        ${textsBelowName.map((text) => (cluster[text] ? html`<bdi class="soft sub">${cluster[text]}</bdi>` : nothing))}
      </th>
      ${this.cell('state', strings.table.state, html`<kaas-state-badge .state=${cluster.state}></kaas-state-badge>
        ${cluster.state_reason ? html`<bdi class="soft sub reason">${cluster.state_reason}</bdi>` : nothing}`)}
      ${this.cell('version', strings.table.version, html`<span>${cluster.kubernetes_version}</span>`)}
      ${this.cell('control-plane', strings.table.controlPlane, this.replicas(cluster.control_plane, cluster.state))}
      ${this.cell('workers', strings.table.workers, this.replicas(cluster.workers, cluster.state))}
      ${this.cell('placement', strings.table.placement, this.placement(cluster))}
      ${this.cell('access', strings.table.access, this.links(cluster))}
      ${this.cell('observed', strings.table.observed, this.observed(cluster.observed_at))}
    </tr>`;
  }

  private cell(name: string, label: string, content: TemplateResult) {
    return html`<td role="cell" class=${name}><span class="label" aria-hidden="true">${label}</span><div class="value">${content}</div></td>`;
  }

  private replicas(replicas: Replicas, state: ClusterState) {
    const { short, spoken, tone } = describeReplicas(replicas, state);
    const icon = tone === 'warning' || tone === 'bad' ? toneIcon[tone] : nothing;
    return html`<span class="count ${tone}" title=${spoken}><span aria-hidden="true">${short}</span>${icon}<span class="sr-only">${spoken}</span></span>`;
  }

  private placement(cluster: Cluster) {
    const { title, lines, hidden, declared } = describePlacement(cluster.placement);
    const tag = declared && lines.length > 0 ? html`<span class="tag" title=${strings.table.declaredHint}>${strings.table.declared}</span>` : nothing;
    return html`<span class="line"><bdi>${title}</bdi>${tag}</span>
      ${lines.map((line) => html`<bdi class="soft sub">${line}</bdi>`)}
      ${hidden ? html`<span class="soft sub">${hidden}</span>` : nothing}`;
  }

  private links(cluster: Cluster) {
    const dashboard = safeHttpsUrl(cluster.dashboard_url);
    const api = safeHttpsUrl(cluster.api_endpoint);
    if (!dashboard && !api) return html`<span class="soft">${strings.table.none}</span>`;
    return html`<span class="links">
      ${dashboard ? link(dashboard, strings.table.dashboard, strings.table.dashboardOf(cluster.name), dashboard) : nothing}
      ${api ? link(api, strings.table.api, strings.table.apiOf(cluster.name), hostOf(cluster) ?? '') : nothing}
    </span>`;
  }

  private observed(iso: string | null) {
    if (iso === null) return html`<span class="soft">${strings.table.never}</span>`;
    return html`<time datetime=${iso} title=${absoluteTime(iso)}>${relativeTime(iso, this.nowMs)}</time>`;
  }
}

function link(href: string, label: string, spoken: string, title: string) {
  return html`<a href=${href} target="_blank" rel="noopener noreferrer" aria-label=${spoken} title=${title}>${label}${externalIcon}</a>`;
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-cluster-table': ClusterTable;
  }
}
