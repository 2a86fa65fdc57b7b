// The time of the data and how long ago that was, which goes on while nobody does anything.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { clockTime, freshness } from '../model/format.js';
import { strings } from '../strings/index.js';

const STEP_MS = 5_000;
/** The service is asked more often than that: something is wrong. */
const OLD_MS = 60_000;

@customElement('kaas-age')
export class Age extends LitElement {
  static override styles = css`
    span { color: var(--text-soft); font-size: var(--type-dense); font-variant-numeric: tabular-nums; }
    .old { color: var(--warning); font-weight: 600; }
  `;

  @property({ attribute: false }) at: Date | null = null;

  private timer: ReturnType<typeof setInterval> | undefined;

  override connectedCallback() {
    super.connectedCallback();
    this.timer = setInterval(() => this.requestUpdate(), STEP_MS);
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.timer);
  }

  override render() {
    if (this.at === null) return nothing;
    const now = Date.now();
    const isOld = now - this.at.getTime() > OLD_MS;
    return html`<span class=${isOld ? 'old' : ''}>${strings.list.asOf(clockTime(this.at), freshness(this.at, now))}</span>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-age': Age;
  }
}
