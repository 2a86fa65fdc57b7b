// The card in the summary of a virtual machine or a host in the vSphere Client: what of Kubernetes runs there.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ApiClient } from '../api/client.js';
import { ApiError, isAborted, isSessionOver } from '../api/error.js';
import type { CardSubject } from '../api/types.js';
import { describeHost, describeMachine, type CardLine } from '../model/card.js';
import { describeFailure } from '../model/failure-text.js';
import { toneIcon } from '../parts/icons.js';
import '../parts/notice.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { toneStyles } from '../styles/tone.js';

const TONE = { ready: 'good', not_ready: 'bad', unknown: 'neutral' } as const;

@customElement('kaas-card')
export class Card extends LitElement {
  static override styles = [shared, toneStyles, css`
    :host { display: block; padding: var(--space-3); }
    ul { margin: 0; padding: 0; list-style: none; display: grid; gap: var(--space-2); }
    li { display: flex; align-items: baseline; gap: var(--space-2); }
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
    if (lines.length === 0) return html`<p class="soft">${strings.card.none}</p>`;
    return html`<ul>${lines.map(({ cluster, role, state, number, of }) => html`<li>
      <span class=${TONE[state]} title=${strings.detail.nodeState[state]}>${toneIcon[TONE[state]]}<span class="sr-only">${strings.detail.nodeState[state]}</span></span>
      <bdi>${strings.card.line(role, number, of, cluster)}</bdi></li>`)}</ul>`;
  }

  private async load() {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    try {
      const nodes = await this.api.listNodesOn(this.subject, running.signal);
      const [node] = nodes;
      this.lines = 'vm' in this.subject && node ? [describeMachine(node, (await this.api.listNodes(node.cluster.id, running.signal)).nodes)] : describeHost(nodes);
      this.failure = null;
    } catch (error) {
      if (isAborted(error) || isSessionOver(error)) return;
      if (!(error instanceof ApiError)) throw error;
      this.failure = error;
    }
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-card': Card;
  }
}
