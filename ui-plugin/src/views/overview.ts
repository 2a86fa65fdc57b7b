// The overview: how many clusters are in which state, and the HX clusters with their health and capacity.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, html, nothing } from 'lit';
import { customElement, property, query } from 'lit/decorators.js';
import type { ApiClient } from '../api/client.js';
import type { ClusterCounts, ClusterState, HxConnection, HxFacts, Role } from '../api/types.js';
import { listAddress } from '../model/address.js';
import { describeFailure } from '../model/failure-text.js';
import { STATES, absoluteTime, describeState, relativeTime, shortNumber, vsphereName } from '../model/format.js';
import { describeCapacity, describeHealth, type HealthText } from '../model/hx-health.js';
import { ListWatch } from '../model/list-watch.js';
import { ASKED, OverviewModel, type HxOverview } from '../model/overview.js';
import { sentence } from '../model/sentence.js';
import '../parts/age.js';
import { ring, stateBar } from '../parts/drawings.js';
import { noClusters } from '../parts/empty.js';
import { refreshIcon, toneIcon } from '../parts/icons.js';
import '../parts/notice.js';
import { dataTime, staleNotice } from '../parts/stale.js';
import { strings } from '../strings/index.js';
import { overviewStyles } from '../styles/overview.js';
import { shared } from '../styles/shared.js';
import { toneStyles } from '../styles/tone.js';

@customElement('kaas-overview')
export class Overview extends LitElement {
  static override styles = [shared, toneStyles, overviewStyles];

  @property({ attribute: false }) api!: ApiClient;
  @property() viewerRole: Role | null = null;

  @query('h1') private heading!: HTMLElement;

  private model!: OverviewModel;
  private watch!: ListWatch;
  private readonly onVisible = (): void => {
    if (document.visibilityState !== 'visible') return this.watch.rest();
    void this.model.load(true);
    this.watch.follow({});
  };

  override connectedCallback() {
    super.connectedCallback();
    this.model = new OverviewModel(this.api, () => this.onChange(), () => this.viewerRole === 'admin');
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
    if (this.hasUpdated && changed.has('viewerRole')) void this.model.load(true);
  }

  override firstUpdated() {
    this.heading.focus();
  }

  /** Everything anew, as the button does. */
  refresh(): void {
    void this.model.load();
  }

  private onChange() {
    this.requestUpdate();
    if (!this.model.loading && document.visibilityState === 'visible') this.watch.follow({});
  }

  override render() {
    const { counts, hxClusters, loading, refreshedAt } = this.model;
    const { stale = [], asOf = null } = counts ?? {};
    return html`<main aria-busy=${loading}>
      <div class="head"><h1 tabindex="-1">${strings.overview.title}</h1>
        <div class="fresh"><kaas-age .at=${dataTime(stale, asOf, refreshedAt)}></kaas-age>
          <button type="button" @click=${() => this.model.load()}>${refreshIcon}${strings.list.refresh}</button></div></div>
      <div role="status">${staleNotice(strings.detail.stale, stale, asOf)}</div>
      <div role="alert">${this.renderFailure()}</div>
      ${!counts && loading ? html`<p class="soft wait" role="status">${strings.overview.loading}</p>` : nothing}
      ${counts ? this.renderCounts(counts) : nothing}
      ${hxClusters ? this.renderHxClusters(hxClusters) : nothing}
    </main>`;
  }

  private renderFailure() {
    const { failure, counts } = this.model;
    if (!failure) return nothing;
    const heading = counts ? strings.overview.refreshFailed : strings.overview.failed;
    return html`<kaas-notice tone="bad" heading=${heading} .failure=${describeFailure(failure, this.viewerRole === 'admin')}>
      ${counts ? html`<p>${strings.error.keptContent}</p>` : nothing}
      <button slot="action" type="button" @click=${() => this.model.load()}>${strings.error.retry}</button>
    </kaas-notice>`;
  }

  private renderCounts(counts: ClusterCounts) {
    if (counts.total === 0) return html`<section class="card">${noClusters(this.viewerRole)}</section>`;
    return html`<section class="card counts"><h2>${strings.list.title}</h2>
      <a class="figure" href=${listAddress({})}><b>${shortNumber(counts.total)}</b> <span>${strings.overview.clusters(counts.total)}</span></a>
      ${stateBar(counts, 12)}
      <ul>${STATES.filter((state) => counts.states[state] > 0).map((state) => html`<li>${stateLink(state, counts)}</li>`)}</ul>
    </section>`;
  }

  private renderHxClusters(all: readonly HxOverview[]) {
    if (all.length === 0) return html`<h2>${strings.detail.hxClusters}</h2><p class="soft">${strings.overview.noHx}</p>`;
    return html`<h2>${strings.detail.hxClusters}</h2><ul class="cards">${all.map((one) => html`<li class="card">${this.renderHxCluster(one)}</li>`)}</ul>
      ${all.length > ASKED ? html`<p class="soft">${strings.overview.onlyFirst(ASKED, all.length)}</p>` : nothing}`;
  }

  private renderHxCluster({ hx, counts, facts, connection }: HxOverview) {
    const health = describeHealth(hx, facts, connection);
    return html`<h3><a href=${listAddress({ hxClusterId: hx.id })}><bdi>${hx.name}</bdi></a></h3>
      <p class="soft"><bdi>${vsphereName(hx.vsphere_cluster)}</bdi></p>
      ${health ? renderHealth(health) : nothing}
      ${this.viewerRole === 'admin' && hx.present && !connection ? html`<p class="soft">${strings.overview.notConnected}</p>` : nothing}
      ${connection ? renderWhyNot(connection) : nothing}
      ${facts ? renderFacts(facts) : nothing}
      ${counts ? html`<div class="on">${stateBar(counts, 6)}<p>${strings.overview.clustersOn(counts.total, worstOf(counts))}</p></div>` : nothing}`;
  }
}

function stateLink(state: ClusterState, counts: ClusterCounts) {
  const { word, tone } = describeState(state);
  return html`<a href=${listAddress({ states: [state] })}><span class=${tone}>${toneIcon[tone]}</span>${word} <b>${shortNumber(counts.states[state])}</b></a>`;
}

/** What is not as it should be, in words: "1 degraded, 2 failed". */
function worstOf({ states }: ClusterCounts): string {
  const bad = STATES.filter((state) => state !== 'ready' && states[state] > 0);
  return bad.map((state) => strings.overview.inState(states[state], describeState(state).word)).join(', ');
}

function renderHealth({ tone, words }: HealthText) {
  return html`<p class="health ${tone}">${toneIcon[tone]}${words.join(', ')}</p>`;
}

/** In the service's words: only administrators see connections. */
function renderWhyNot({ status: { state, detail, remedy } }: HxConnection) {
  if (state === 'ok') return nothing;
  return [detail, remedy].filter((text) => text !== null).map((text) => html`<p class="messages"><bdi>${sentence(text)}</bdi></p>`);
}

function renderFacts(facts: HxFacts) {
  const capacity = describeCapacity(facts);
  const { nodes_online, nodes_configured, alarms, version, messages, read_at } = facts;
  return html`${messages ? html`<p class="messages"><bdi>${messages}</bdi></p>` : nothing}
    ${capacity ? html`<div class="capacity"><span class=${capacity.tone}>${ring(capacity.used)}</span><p><b>${capacity.percent}</b><br /><span class="soft">${capacity.words}</span></p></div>` : nothing}
    <dl>
      ${nodes_online !== null && nodes_configured !== null ? html`<dt>${strings.overview.nodes}</dt><dd>${strings.overview.online(nodes_online, nodes_configured)}</dd>` : nothing}
      ${alarms !== null ? html`<dt>${strings.overview.alarms}</dt><dd class=${alarms > 0 ? 'warning' : ''}>${shortNumber(alarms)}</dd>` : nothing}
      ${version ? html`<dt>${strings.overview.version}</dt><dd>${version}</dd>` : nothing}
      <dt>${strings.overview.readAt}</dt><dd title=${absoluteTime(read_at)}>${relativeTime(read_at, Date.now())}</dd>
    </dl>`;
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-overview': Overview;
  }
}
