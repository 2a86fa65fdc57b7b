// The states with their counts, each a filter that is on or off.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { ClusterCounts, ClusterState } from '../api/types.js';
import { STATES, countState, shortNumber } from '../model/format.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { toneStyles } from '../styles/tone.js';
import { toneIcon } from './icons.js';

@customElement('kaas-state-filter')
export class StateFilter extends LitElement {
  static override styles = [shared, toneStyles, css`
    :host { display: block; }
    div { display: flex; flex-wrap: wrap; gap: var(--space-2); }
    button { min-height: 28px; padding: 0 var(--space-2); border-color: var(--line-strong); font-size: var(--type-dense); font-weight: 400; gap: var(--space-1); }
    button[aria-pressed='true'] { background: var(--selected); border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
    button[aria-pressed='true']:hover:not(:disabled) { background: var(--selected); }
    b { font-weight: 600; font-variant-numeric: tabular-nums; }
    span { display: inline-flex; }
    small { font-size: var(--type-small); }
    svg { width: 14px; height: 14px; }
    @media (forced-colors: active) {
      button[aria-pressed='true'] { forced-color-adjust: none; background: Highlight; color: HighlightText; }
      button[aria-pressed='true'] svg { color: HighlightText; }
    }
  `];

  @property({ attribute: false }) states: readonly ClusterState[] = [];
  /** Null while they are not known. */
  @property({ attribute: false }) counts: ClusterCounts | null = null;

  override render() {
    return html`<div role="group" aria-label=${strings.list.states}>
      <button type="button" aria-pressed=${this.states.length === 0} @click=${() => this.tell([])}>${strings.list.allStates}${this.count(this.counts?.total)}</button>
      ${STATES.filter((state) => this.isOffered(state)).map((state) => this.chip(state))}
    </div>`;
  }

  /** Before the counts are known there is nothing to choose by; then what there is, and what has been chosen. */
  private isOffered(state: ClusterState): boolean {
    return this.states.includes(state) || (this.counts?.states[state] ?? 0) > 0;
  }

  private chip(state: ClusterState) {
    const { word, tone, n, declared } = countState(state, this.counts);
    const isOn = this.states.includes(state);
    const next = isOn ? this.states.filter((each) => each !== state) : [...this.states, state];
    return html`<button type="button" aria-pressed=${isOn} @click=${() => this.tell(next)}>
      <span class=${tone}>${toneIcon[tone]}</span>${word}${this.count(this.counts ? n : undefined)}${declared > 0 ? html`<small class="soft">(${strings.table.byHandOf(declared)})</small>` : nothing}
    </button>`;
  }

  private count(n: number | undefined) {
    return n === undefined ? nothing : html` <b>${shortNumber(n)}</b>`;
  }

  private tell(states: readonly ClusterState[]) {
    this.dispatchEvent(new CustomEvent<readonly ClusterState[]>('kaas-states', { detail: states }));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-state-filter': StateFilter;
  }
}
