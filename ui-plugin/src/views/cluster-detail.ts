// The details of one cluster: what it is and how it is, its nodes, who may see it, what was done with it.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, html, nothing, type TemplateResult } from 'lit';
import { customElement, property, query } from 'lit/decorators.js';
import type { ApiClient } from '../api/client.js';
import type { Cluster, Replicas, Role } from '../api/types.js';
import { FIRST_PLACE, FIRST_QUERY, PARTS, listAddress, writeAddress, type ListQuery, type Part } from '../model/address.js';
import { ClusterDetailModel, type FindJob } from '../model/cluster-detail.js';
import { describeFailure } from '../model/failure-text.js';
import { absoluteTime, askedLabel, describeReason, describeReplicas, hxName, relativeTime, safeHttpsUrl, sharedNames, vsphereName } from '../model/format.js';
import { ListWatch } from '../model/list-watch.js';
import '../parts/age.js';
import { share } from '../parts/bar.js';
import '../parts/cluster-access.js';
import '../parts/cluster-events.js';
import '../parts/cluster-health.js';
import '../parts/copy.js';
import { none, notKnown } from '../parts/dash.js';
import '../parts/empty.js';
import { backIcon, externalIcon, refreshIcon } from '../parts/icons.js';
import '../parts/node-table.js';
import '../parts/notice.js';
import { dataTime, staleNotice } from '../parts/stale.js';
import '../parts/state-badge.js';
import { strings } from '../strings/index.js';
import { detailStyles } from '../styles/detail.js';
import { shared } from '../styles/shared.js';
import { toneStyles } from '../styles/tone.js';

@customElement('kaas-cluster-detail')
export class ClusterDetail extends LitElement {
  static override styles = [shared, toneStyles, detailStyles];

  @property({ attribute: false }) api!: ApiClient;
  @property() viewerRole: Role | null = null;
  /** Jobs can be canceled and retried here. */
  @property({ type: Boolean }) canAct = false;
  @property() clusterId = '';
  @property() openPart: Part = 'summary';
  /** Of the list that this was opened from. */
  @property({ attribute: false }) asked: ListQuery = FIRST_QUERY;

  @query('h1[tabindex]') private heading!: HTMLElement | null;

  private model!: ClusterDetailModel;
  private watch!: ListWatch;
  private isFocused = false;
  /** What shows a job is loaded with the first one. Without it, as for who has no network, the page is what it was. */
  private readonly findJob: FindJob = async (...asked) => {
    const part = await import('../parts/cluster-job.js').catch(() => null);
    return part && (await part.findJob(this.api, ...asked));
  };
  private readonly onVisible = (): void => {
    if (document.visibilityState !== 'visible') return this.watch.rest();
    void this.model.load(true);
    this.watch.follow({});
  };

  override connectedCallback() {
    super.connectedCallback();
    this.model = new ClusterDetailModel(this.api, this.clusterId, this.shownPart, () => this.onChange(), () => this.viewerRole === 'admin', this.findJob);
    this.watch = new ListWatch(this.api, {
      changed: () => void this.model.load(true),
      same: () => this.model.noteAnswer(),
      silent: (error) => this.model.noteSilence(error),
    });
    document.addEventListener('visibilitychange', this.onVisible);
    void this.model.load();
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    document.removeEventListener('visibilitychange', this.onVisible);
    this.watch.rest();
    this.model.stop();
  }

  override willUpdate(changed: Map<PropertyKey, unknown>) {
    if (this.hasUpdated && (changed.has('openPart') || changed.has('viewerRole'))) void this.model.open(this.shownPart);
  }

  /** The focus begins at what has been opened, as soon as that is there. */
  override updated() {
    if (this.isFocused || !this.heading) return;
    this.isFocused = true;
    this.heading.focus();
  }

  /** Everything anew, as the button does. */
  refresh(): void {
    void this.model.load();
  }

  private onChange() {
    this.requestUpdate();
    if (this.model.cluster) this.dispatchEvent(new CustomEvent<string>('kaas-title', { detail: strings.detail.documentTitle(this.model.cluster.name) }));
    if (!this.model.loading && !this.model.isGone && document.visibilityState === 'visible') this.watch.follow({});
  }

  /** The audit log is for administrators. */
  private get parts(): readonly Part[] {
    return PARTS.filter((part) => part !== 'events' || this.viewerRole === 'admin');
  }

  private get shownPart(): Part {
    return this.parts.includes(this.openPart) ? this.openPart : 'summary';
  }

  override render() {
    const { model } = this;
    return html`<main aria-busy=${model.loading}>
      <a class="back" href=${listAddress(this.asked)}>${backIcon}${strings.detail.back}</a>
      ${this.renderHead()}
      <div role="status">${staleNotice(strings.detail.stale, model.stale, model.asOf, model.away.names)}</div>
      <div role="alert">${this.renderFailure()}</div>
      ${model.isGone ? html`<div class="card"><kaas-empty heading=${strings.detail.goneTitle} text=${strings.detail.gone}></kaas-empty></div>` : this.renderParts()}
    </main>`;
  }

  private renderHead() {
    const { cluster, isGone, loading, stale, asOf, refreshedAt } = this.model;
    if (isGone) return html`<h1 tabindex="-1" class="sr-only">${strings.detail.goneTitle}</h1>`;
    if (!cluster) return html`<h1 class="sr-only">${strings.detail.parts}</h1>${loading ? html`<p class="soft wait" role="status">${strings.detail.loading}</p>` : nothing}`;
    return html`<div class="head">
      <h1 tabindex="-1"><bdi>${cluster.name}</bdi></h1>
      <kaas-state-badge .state=${cluster.state} .source=${cluster.state_source}></kaas-state-badge>
      <div class="fresh"><kaas-age .at=${dataTime(stale, asOf, refreshedAt)}></kaas-age>
        <button type="button" @click=${() => this.model.load()}>${refreshIcon}${strings.list.refresh}</button></div>
    </div>`;
  }

  private renderFailure() {
    const { failure, cluster } = this.model;
    if (!failure) return nothing;
    const heading = cluster ? strings.detail.refreshFailed : strings.detail.failed;
    return html`<kaas-notice tone="bad" heading=${heading} .failure=${describeFailure(failure, this.viewerRole === 'admin')}>
      ${cluster ? html`<p>${strings.error.keptContent}</p>` : nothing}
      <button slot="action" type="button" @click=${() => this.model.load()}>${strings.error.retry}</button>
    </kaas-notice>`;
  }

  private renderParts() {
    const { cluster } = this.model;
    if (!cluster) return nothing;
    const address = (part: Part) => writeAddress({ ...FIRST_PLACE, id: this.clusterId, part, query: this.asked });
    return html`<nav aria-label=${strings.detail.parts}>
        ${this.parts.map((part) => html`<a href=${address(part)} aria-current=${part === this.shownPart ? 'page' : nothing}>${strings.detail.part[part]}</a>`)}
      </nav>
      ${this.renderPart(cluster)}`;
  }

  private renderPart(cluster: Cluster) {
    const { content: { nodes, access, events }, usage } = this.model;
    switch (this.shownPart) {
      case 'summary': return this.renderSummary(cluster);
      case 'nodes': return nodes ? html`<kaas-node-table .clusterName=${cluster.name} .nodes=${nodes.nodes} .hiddenNodes=${nodes.hidden} .toldNodes=${cluster.control_plane.desired + cluster.workers.desired} .usage=${usage}></kaas-node-table>` : nothing;
      case 'access': return access ? html`<kaas-cluster-access .access=${access}></kaas-cluster-access>` : nothing;
      case 'events': return events ? html`<kaas-cluster-events .events=${events}></kaas-cluster-events>` : nothing;
    }
  }

  private renderSummary(cluster: Cluster) {
    const { health, job } = this.model.content;
    return html`${job ? html`<kaas-cluster-job .api=${this.api} .job=${job} .isAdmin=${this.viewerRole === 'admin'} .canAct=${this.canAct} @kaas-job-news=${() => this.model.load(true)}></kaas-cluster-job>` : nothing}${health ? html`<kaas-cluster-health .health=${health} .isAdmin=${this.viewerRole === 'admin'}></kaas-cluster-health>` : nothing}<div class="cards">${this.renderState(cluster)}${this.renderAccess(cluster)}${this.renderPlace(cluster)}${this.renderLabels(cluster)}${this.renderRecord(cluster)}</div>`;
  }

  private renderState(cluster: Cluster) {
    const reason = describeReason(cluster.state_reason);
    return card(strings.detail.state, html`<dl>
      <dt>${strings.detail.state}</dt><dd><kaas-state-badge .state=${cluster.state} .source=${cluster.state_source}></kaas-state-badge>${reason ? html`<p><bdi>${reason}</bdi></p>` : nothing}</dd>
      <dt>${strings.table.column.controlPlane}</dt><dd>${replicas(cluster.control_plane, cluster)}</dd>
      <dt>${strings.table.column.workers}</dt><dd>${replicas(cluster.workers, cluster)}</dd>
      <dt>${strings.detail.version}</dt><dd>${cluster.kubernetes_version}</dd>
      <dt>${strings.detail.said}</dt><dd>${strings.detail.source[cluster.state_source]}${cluster.state_by ? html` (<bdi>${cluster.state_by}</bdi>)` : nothing}</dd>
      <dt>${strings.detail.since}</dt><dd>${time(cluster.state_since, notKnown())}</dd>
      <dt>${strings.detail.confirmed}</dt><dd>${time(cluster.observed_at, strings.detail.unconfirmed)}</dd>
    </dl>`);
  }

  private renderAccess(cluster: Cluster) {
    const api = safeHttpsUrl(cluster.api_endpoint);
    const dashboard = safeHttpsUrl(cluster.dashboard_url);
    return card(strings.detail.access, html`<dl>
      <dt>${strings.detail.endpoint}</dt><dd>${api ? html`<bdi class="code">${api}</bdi> <kaas-copy .value=${api} .label=${strings.table.copyApi(cluster.name)}></kaas-copy>` : none()}</dd>
      <dt>${strings.table.dashboard}</dt><dd>${dashboard ? html`<a href=${dashboard} target="_blank" rel="noopener noreferrer">${new URL(dashboard).host}<span class="sr-only">${strings.table.dashboardOf(cluster.name)}</span>${externalIcon}</a>` : none()}</dd>
    </dl>`);
  }

  private renderPlace({ placement }: Cluster) {
    const { hx_clusters, vsphere_clusters, hidden, source } = placement;
    return card(strings.detail.place, html`<dl>
      <dt>${strings.detail.hxClusters}</dt><dd>${lines(hx_clusters.map((hx) => hxName(hx, sharedNames(hx_clusters))))}</dd>
      <dt>${strings.detail.vsphereClusters}</dt><dd>${vsphere_clusters.length > 0 || hidden === 0 ? lines(vsphere_clusters.map(vsphereName)) : nothing}${hidden > 0 ? html`<p class="soft">${vsphere_clusters.length > 0 ? strings.table.hidden(hidden) : strings.table.onlyHidden(hidden)}</p>` : nothing}</dd>
      <dt>${strings.detail.said}</dt><dd>${strings.detail.placeSource[source]}</dd>
    </dl>`);
  }

  private renderLabels({ labels }: Cluster) {
    const all = Object.entries(labels);
    const address = (label: string) => listAddress({ label });
    const link = ([key, value]: [string, string]) => {
      const asked = askedLabel(key, value);
      return html`<li><a class="tag" href=${address(asked)} title=${strings.table.onlyWith(asked)}><bdi>${key}=${value}</bdi></a></li>`;
    };
    return card(strings.detail.labels, all.length > 0 ? html`<ul class="tags">${all.map(link)}</ul>` : html`<p class="soft">${strings.detail.noLabels}</p>`);
  }

  private renderRecord(cluster: Cluster) {
    return card(strings.detail.record, html`<dl>
      <dt>${strings.detail.description}</dt><dd class="text"><bdi>${cluster.description ?? none()}</bdi></dd>
      <dt>${strings.detail.created}</dt><dd>${time(cluster.created_at)}</dd>
      <dt>${strings.detail.changed}</dt><dd>${time(cluster.updated_at)}</dd>
      <dt>${strings.detail.id}</dt><dd><span class="code">${cluster.id}</span> <kaas-copy .value=${cluster.id} .label=${strings.detail.copyId}></kaas-copy></dd>
    </dl>`);
  }
}

function card(title: string, content: TemplateResult) {
  return html`<section class="card"><h2>${title}</h2>${content}</section>`;
}

function lines(texts: readonly string[]) {
  return texts.length > 0 ? texts.map((text) => html`<p><bdi>${text}</bdi></p>`) : none();
}

function time(iso: string | null, otherwise: TemplateResult | string = '') {
  if (iso === null) return otherwise;
  return html`<time datetime=${iso}>${absoluteTime(iso)} <span class="soft">(${relativeTime(iso, Date.now())})</span></time>`;
}

function replicas(counted: Replicas, cluster: Cluster) {
  const { spoken, tone } = describeReplicas(counted, cluster);
  return html`<span class="replicas">${counted.ready === null ? nothing : html`<span class=${tone}>${share(counted.ready, counted.desired)}</span>`}${spoken}</span>`;
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-cluster-detail': ClusterDetail;
  }
}
