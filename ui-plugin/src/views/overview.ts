// The overview: how many clusters are in which state, and the HX clusters with their health and capacity.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, html, nothing } from 'lit';
import { customElement, property, query } from 'lit/decorators.js';
import type { ApiClient } from '../api/client.js';
import type { ClusterCounts, HxConnection, HxFacts, Role } from '../api/types.js';
import { listAddress, type ListQuery } from '../model/address.js';
import { describeFailure } from '../model/failure-text.js';
import { absoluteTime, countStates, relativeTime, shortNumber, vsphereName, type CountedState } from '../model/format.js';
import { describeCapacity, describeHealth, isOld } from '../model/hx-health.js';
import { ListWatch } from '../model/list-watch.js';
import { OverviewModel, type HxOverview } from '../model/overview.js';
import { sentence } from '../model/sentence.js';
import '../parts/age.js';
import { share } from '../parts/bar.js';
import { notKnown } from '../parts/dash.js';
import { ring, stateBar } from '../parts/drawings.js';
import { noClusters } from '../parts/empty.js';
import { refreshIcon, toneIcon } from '../parts/icons.js';
import '../parts/notice.js';
import { dataTime, staleNotice } from '../parts/stale.js';
import { strings } from '../strings/index.js';
import { overviewStyles } from '../styles/overview.js';
import { shared } from '../styles/shared.js';
import { toneStyles } from '../styles/tone.js';

/** So many HX clusters have a card each; more are rows of a table. */
const CARDS_MAX = 6;

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
      <div role="status">${staleNotice(strings.detail.stale, stale, asOf, this.model.away.names)}</div>
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
      <ul>${countStates(counts).map((counted) => html`<li>${stateLink(counted)}</li>`)}</ul>
      ${this.model.elsewhere?.total && this.model.onHx > 0 ? this.renderParts(this.model.elsewhere) : nothing}
    </section>`;
  }

  /** The two parts of all. */
  private renderParts(elsewhere: ClusterCounts) {
    const part = (onHx: boolean, n: number) => html`<li><a href=${listAddress({ onHx })}>${strings.list.onHx(onHx)} <b>${shortNumber(n)}</b></a></li>`;
    return html`<ul class="parts">${part(true, this.model.onHx)}${part(false, elsewhere.total)}</ul>`;
  }

  private renderHxClusters(all: readonly HxOverview[]) {
    const { elsewhere, surplus } = this.model;
    if (all.length === 0) return html`<h2>${strings.detail.hxClusters}</h2><p class="soft">${strings.overview.noHx}</p>`;
    const others = elsewhere?.total ? elsewhere : null;
    return html`<h2>${strings.detail.hxClusters}</h2>
      ${all.length > CARDS_MAX ? this.renderTable(all, others) : html`<ul class="cards">${all.map((one) => html`<li class="card">${this.renderHxCluster(one)}</li>`)}
        ${others ? html`<li class="card"><h3>${strings.list.onHx(false)}</h3><p class="soft">${strings.overview.elsewhere}</p>${running(others, { onHx: false })}</li>` : nothing}</ul>`}
      ${surplus > 0 ? html`<p class="soft">${strings.overview.surplus(surplus)}</p>` : nothing}`;
  }

  private renderHxCluster(one: HxOverview) {
    const { hx, facts, connection } = one;
    return html`<h3><a href=${listAddress({ hxClusterId: hx.id })}><bdi>${hx.name}</bdi></a></h3>
      <p class="soft"><bdi>${vsphereName(hx.vsphere_cluster)}</bdi></p>
      ${this.renderHealth(one, strings.overview.notConnected)}
      ${facts ? renderFacts(facts, isOld(facts, connection, Date.now())) : nothing}
      ${running(hx.clusters, { hxClusterId: hx.id })}`;
  }

  /** `unread`: what is said of one that the service is not connected to, to who can change that. */
  private renderHealth({ hx, facts, connection }: HxOverview, unread: string) {
    const health = describeHealth(hx, facts, connection, Date.now());
    const isUnread = this.viewerRole === 'admin' && hx.present && !connection;
    return html`${health ? html`<p class="health ${health.tone}">${toneIcon[health.tone]}${health.words.join(', ')}</p>` : nothing}
      ${isUnread ? html`<p class="soft">${unread}</p>` : nothing}
      ${connection ? renderWhyNot(connection) : nothing}
      ${facts?.messages ? html`<p class="messages"><bdi>${facts.messages}</bdi></p>` : nothing}`;
  }

  /** On a narrow page each row is a block; the explicit roles keep it a table for screen readers then. */
  private renderTable(all: readonly HxOverview[], others: ClusterCounts | null) {
    const words = strings.overview;
    const head = (word: string, more = '') => html`<th scope="col" role="columnheader" class=${more}>${word}</th>`;
    return html`<table class="card" role="table" aria-label=${strings.detail.hxClusters}>
      <thead role="rowgroup"><tr role="row">${head(strings.list.hxCluster)}${head(words.health)}${[words.used, words.nodes, words.alarms].map((word) => head(word, 'more'))}${head(strings.list.title)}</tr></thead>
      <tbody role="rowgroup">${all.map((one) => this.renderRow(one))}
        ${others ? html`<tr role="row"><th scope="row" role="rowheader">${strings.list.onHx(false)}</th><td role="cell"></td>${[1, 2, 3].map(() => html`<td role="cell" class="more"></td>`)}<td role="cell">${running(others, { onHx: false })}</td></tr>` : nothing}
      </tbody></table>`;
  }

  private renderRow(one: HxOverview) {
    const { hx, facts, connection } = one;
    const capacity = facts && describeCapacity(facts);
    const more = (content: unknown) => html`<td role="cell" class="more ${facts && isOld(facts, connection, Date.now()) ? 'old' : ''}">${content}</td>`;
    return html`<tr role="row"><th scope="row" role="rowheader"><a href=${listAddress({ hxClusterId: hx.id })}><bdi>${hx.name}</bdi></a><bdi class="soft">${vsphereName(hx.vsphere_cluster)}</bdi></th>
      <td role="cell">${this.renderHealth(one, strings.overview.unconnected)}</td>
      ${more(capacity ? html`<span class=${capacity.tone} title=${capacity.words}>${share(capacity.used, 1)} ${capacity.percent}</span>` : notKnown())}
      ${more(facts?.nodes_online != null && facts.nodes_configured !== null ? strings.overview.online(facts.nodes_online, facts.nodes_configured) : notKnown())}
      ${more(facts?.alarms != null ? shortNumber(facts.alarms) : notKnown())}
      <td role="cell">${running(hx.clusters, { hxClusterId: hx.id })}</td></tr>`;
  }
}

function stateLink({ state, word, tone, n, declared }: CountedState) {
  return html`<a href=${listAddress({ states: [state] })}><span class=${tone}>${toneIcon[tone]}</span>${word} <b>${shortNumber(n)}</b></a>${
    declared > 0 ? html` <span class="soft">(${strings.table.byHandOf(declared)})</span>` : nothing}`;
}

/** How many run there, and how many of them are not as they should be, or only said to be: each number of a state leads to these. */
function running(counts: ClusterCounts, where: Partial<ListQuery>) {
  const bad = countStates(counts).filter(({ state, declared }) => state !== 'ready' || declared > 0);
  const part = ({ state, word, n, declared }: CountedState, at: number) => html`${at > 0 ? ', ' : ': '}${state === 'ready' ? strings.table.byHandOf(declared)
    : html`<a href=${listAddress({ ...where, states: [state] })}>${strings.overview.inState(n, word)}</a>`}`;
  return html`<div class="on">${stateBar(counts, 6)}<p><a href=${listAddress(where)}>${strings.overview.clustersOn(counts.total)}</a>${bad.map(part)}</p></div>`;
}

/** In the service's words: only administrators see connections. */
function renderWhyNot({ status: { state, detail, remedy } }: HxConnection) {
  if (state === 'ok') return nothing;
  return [detail, remedy].filter((text) => text !== null).map((text) => html`<p class="messages"><bdi>${sentence(text)}</bdi></p>`);
}

function renderFacts(facts: HxFacts, old: boolean) {
  const capacity = describeCapacity(facts);
  const { nodes_online, nodes_configured, alarms, version, read_at } = facts;
  return html`${capacity ? html`<div class="capacity ${old ? 'old' : ''}"><span class=${capacity.tone}>${ring(capacity.used)}</span><p><b>${capacity.percent}</b><br /><span class="soft">${capacity.words}</span></p></div>` : nothing}
    <dl class=${old ? 'old' : ''}>
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
