// The card in the summary of a virtual machine, a host or a datacenter in the vSphere Client: what of Kubernetes runs there.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ApiClient } from '../api/client.js';
import { ApiError, isAborted, isSessionOver } from '../api/error.js';
import type { CardSubject } from '../api/types.js';
import { describeDatacenter, describeHost, describeImpact, describeMachine, type CardLine } from '../model/card.js';
import { describeFailure } from '../model/failure-text.js';
import { toneIcon } from '../parts/icons.js';
import '../parts/notice.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { toneStyles } from '../styles/tone.js';

@customElement('kaas-card')
export class Card extends LitElement {
  static override styles = [shared, toneStyles, css`
    :host { display: block; padding: var(--space-3); }
    ul { margin: 0; padding: 0; list-style: none; display: grid; gap: var(--space-2); }
    li { display: flex; align-items: start; gap: var(--space-2); }
    li > span { margin-top: var(--space-half); }
    bdi { overflow-wrap: anywhere; }
  `];

  @property({ attribute: false }) api!: ApiClient;
  @property({ attribute: false }) subject!: CardSubject;

  /** Null while it is not known. */
  @state() private lines: CardLine[] | null = null;
  @state() private failure: ApiError | null = null;

  private running: AbortController | null = null;

  override connectedCallback() {
    super.connectedCallback();
    this.refresh();
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    this.running?.abort();
  }

  refresh(): void {
    void this.load();
  }

  override render() {
    return html`<main aria-busy=${this.lines === null && this.failure === null} aria-label=${strings.card.label}>
      ${this.failure ? html`<kaas-notice tone="bad" .failure=${describeFailure(this.failure, false)}></kaas-notice>` : nothing}
      ${this.lines === null ? nothing : this.renderLines(this.lines)}
    </main>`;
  }

  private renderLines(lines: CardLine[]) {
    if (lines.length === 0) return html`<p class="soft">${'datacenter' in this.subject ? strings.card.noCluster : strings.card.none}</p>`;
    return html`<ul>${lines.map(({ tone, state, text }) => html`<li>
      <span class=${tone} title=${state}>${toneIcon[tone]}<span class="sr-only">${state}</span></span>
      <bdi>${text}</bdi></li>`)}</ul>`;
  }

  private async ask(signal: AbortSignal): Promise<CardLine[]> {
    const { api, subject } = this;
    if ('datacenter' in subject) return describeDatacenter(await api.countClusters(subject, signal));
    if ('host' in subject) {
      const [nodes, impact] = await Promise.all([api.listNodesOn(subject, signal), api.listHostImpact(subject, signal)]);
      return [...describeImpact(impact), ...describeHost(nodes)];
    }
    const nodes = await api.listNodesOn(subject, signal);
    return Promise.all(nodes.map(async (node) => describeMachine(node, await api.listNodes(node.cluster.id, signal))));
  }

  private async load() {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    try {
      this.lines = await this.ask(running.signal);
      this.failure = null;
    } catch (error) {
      if (isAborted(error) || isSessionOver(error)) return;
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'not_found') this.lines = [];
      this.failure = error.code === 'not_found' ? null : error;
    }
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-card': Card;
  }
}
