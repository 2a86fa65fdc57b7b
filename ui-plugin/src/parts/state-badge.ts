// One state: icon and word in its colour.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { Cluster, ClusterState } from '../api/types.js';
import { describeState } from '../model/format.js';
import { toneStyles } from '../styles/tone.js';
import { toneIcon } from './icons.js';

@customElement('kaas-state-badge')
export class StateBadge extends LitElement {
  static override styles = [toneStyles, css`
    :host { display: block; }
    span { display: inline-flex; align-items: center; gap: var(--space-2); font-weight: 600; }
    svg { flex: none; }
    @media (prefers-reduced-motion: no-preference) {
      .icon-busy { animation: turn 2.4s linear infinite; }
    }
    @keyframes turn { to { transform: rotate(360deg); } }
  `];

  @property() state: ClusterState = 'unknown';
  @property() source: Cluster['state_source'] | undefined;

  override render() {
    const { word, tone } = describeState(this.state, this.source);
    return html`<span class=${tone}>${toneIcon[tone]}${word}</span>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-state-badge': StateBadge;
  }
}
