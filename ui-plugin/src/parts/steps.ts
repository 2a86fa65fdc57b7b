// Steps that the service has gone through: what came of each, and what to do about it.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { ConnectStep } from '../api/types.js';
import type { Tone } from '../model/format.js';
import { sentence } from '../model/sentence.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { toneStyles } from '../styles/tone.js';
import { toneIcon } from './icons.js';

const TONE: Record<ConnectStep['status'], Tone> = { ok: 'good', warning: 'warning', failed: 'bad', skipped: 'hollow' };

@customElement('kaas-steps')
export class Steps extends LitElement {
  static override styles = [shared, toneStyles, css`
    :host { display: block; }
    ol { margin: 0; padding: 0; list-style: none; font-size: var(--type-dense); }
    li { display: grid; grid-template-columns: 12em minmax(0, 1fr); gap: var(--space-half) var(--space-4); padding: var(--space-2) 0; border-top: 1px solid var(--line); }
    li:first-child { border-top: 0; }
    .step { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: var(--space-2); font-weight: 600; }
    .step svg { margin-top: var(--space-half); }
    .title { color: var(--text); overflow-wrap: anywhere; }
    p { overflow-wrap: anywhere; }
    .skipped p, .skipped .title { color: var(--text-soft); }
    .remedy { font-weight: 600; }
    @media (max-width: 560px) {
      li { grid-template-columns: minmax(0, 1fr); }
      li > div { padding-left: var(--space-5); }
    }
  `];

  @property({ attribute: false }) steps: readonly ConnectStep[] = [];

  override render() {
    return html`<ol>${this.steps.map((step) => this.row(step))}</ol>`;
  }

  private row({ step, title, status, finding, remedy }: ConnectStep) {
    const words: Record<string, string> = strings.connect.step;
    const tone = TONE[status] ?? 'neutral';
    return html`<li class=${status}>
      <span class="step ${tone}">${toneIcon[tone]}<span><span class="title">${Object.hasOwn(words, step) ? words[step] : title}</span>${status === 'skipped' ? nothing : html` <span class="sr-only">${strings.connect.status[status] ?? status}</span>`}</span></span>
      <div><p><bdi>${status === 'skipped' ? strings.connect.status.skipped : finding}</bdi></p>${remedy === null ? nothing : html`<p class="remedy">${sentence(remedy)}</p>`}</div>
    </li>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-steps': Steps;
  }
}
