// One state: icon and word in its colour.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { ClusterState } from '../api/types.js';
import { describeState } from '../model/format.js';
import { toneIcon } from './icons.js';

@customElement('kaas-state-badge')
export class StateBadge extends LitElement {
  static override styles = css`
    span {
      display: inline-flex; align-items: center; gap: var(--space-2); padding: 2px var(--space-2) 2px 7px; border-radius: 999px;
      font-weight: 600; font-size: var(--type-dense); white-space: nowrap; border: 1px solid transparent;
    }
    .good { color: var(--good); background: var(--good-bg); }
    .warning { color: var(--warning); background: var(--warning-bg); }
    .bad { color: var(--bad); background: var(--bad-bg); }
    .busy { color: var(--busy); background: var(--busy-bg); }
    .neutral { color: var(--neutral); background: var(--neutral-bg); }
    @media (prefers-reduced-motion: no-preference) {
      .icon-busy { animation: turn 2.4s linear infinite; }
    }
    @media (forced-colors: active) {
      span { border-color: currentColor; }
    }
    @keyframes turn { to { transform: rotate(360deg); } }
  `;

  @property() state: ClusterState = 'unknown';

  override render() {
    const { word, tone } = describeState(this.state);
    return html`<span class=${tone}>${toneIcon[tone]}${word}</span>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-state-badge': StateBadge;
  }
}
