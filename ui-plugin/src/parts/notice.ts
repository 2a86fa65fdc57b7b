// A message in the page: what happened, what to do, the request id, and room for a button. The role goes on the host element,
// so that whoever places it decides whether it is announced.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { FailureText } from '../model/failure-text.js';
import type { Tone } from '../model/format.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { toneIcon } from './icons.js';

@customElement('kaas-notice')
export class Notice extends LitElement {
  static override styles = [shared, css`
    :host { display: block; }
    .box {
      display: grid; grid-template-columns: auto 1fr auto; gap: var(--space-1) var(--space-3); align-items: start;
      padding: var(--space-3) var(--space-4); border-radius: var(--radius); border: 1px solid; border-left-width: 4px;
    }
    .box > .icon { margin-top: var(--space-half); }
    .text { color: var(--text); min-width: 0; overflow-wrap: anywhere; }
    .title { font-weight: 600; }
    .text p + p, .text slot::slotted(p) { margin-top: var(--space-1); }
    .id { margin-top: var(--space-1); }
    .id { font-size: var(--type-small); }
    code { font-family: var(--mono); font-size: var(--type-dense); user-select: all; }
    .good { color: var(--good); background: var(--good-bg); }
    .warning { color: var(--warning); background: var(--warning-bg); }
    .bad { color: var(--bad); background: var(--bad-bg); }
    .busy { color: var(--busy); background: var(--busy-bg); }
    .neutral { color: var(--neutral); background: var(--neutral-bg); }
    @media (max-width: 560px) {
      .box { grid-template-columns: auto 1fr; }
      slot[name='action'] { display: block; grid-column: 2; }
    }
  `];

  @property() tone: Tone = 'neutral';
  @property() heading = '';
  @property({ attribute: false }) failure: FailureText | null = null;

  override render() {
    return html`<div class="box ${this.tone}">
      ${toneIcon[this.tone]}
      <div class="text">
        ${this.heading ? html`<p class="title">${this.heading}</p>` : nothing}
        ${this.failure ? this.renderFailure(this.failure) : html`<slot></slot>`}
      </div>
      <slot name="action"></slot>
    </div>`;
  }

  private renderFailure(failure: FailureText) {
    return html`<p>${failure.detail}</p>
      ${failure.remedy ? html`<p>${failure.remedy}</p>` : nothing}
      <slot></slot>
      ${failure.requestId ? html`<p class="id soft">${strings.error.requestId} <code>${failure.requestId}</code></p>` : nothing}`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-notice': Notice;
  }
}
