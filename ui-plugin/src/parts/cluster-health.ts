// What is not well with a cluster, by what Kubernetes and the vCenters show: the reasons, the worst first, and the connection if it is what fails. Nothing where there is nothing to say.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing, type TemplateResult } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { ClusterHealth as Health, ConnectionState, HealthReason } from '../api/types.js';
import { absoluteTime, describeReason, describeRemedy, relativeTime, type Tone } from '../model/format.js';
import { sentence } from '../model/sentence.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { toneStyles } from '../styles/tone.js';
import { infoIcon, toneIcon } from './icons.js';

const SEVERITY_TONE: Record<HealthReason['severity'], Tone> = { error: 'bad', warning: 'warning', unknown: 'neutral', info: 'neutral' };
const CONNECTION_TONE: Record<ConnectionState, Tone> = { ok: 'good', failing: 'warning', refused: 'bad', unknown: 'neutral' };

@customElement('kaas-cluster-health')
export class ClusterHealth extends LitElement {
  static override styles = [shared, toneStyles, css`
    :host { display: block; }
    section { padding: var(--space-4); }
    h2 { margin-bottom: var(--space-2); }
    ul { margin: 0; padding: 0; list-style: none; font-size: var(--type-dense); }
    li { display: grid; grid-template-columns: 13em minmax(0, 1fr); gap: var(--space-half) var(--space-4); padding: var(--space-2) 0; border-top: 1px solid var(--line); }
    li:first-child { border-top: 0; }
    .what { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: var(--space-2); font-weight: 600; }
    .what svg { margin-top: var(--space-half); }
    p { max-width: 96ch; overflow-wrap: anywhere; }
    .text { font-weight: 600; }
    @media (max-width: 560px) {
      li { grid-template-columns: minmax(0, 1fr); }
      li > div { padding-left: var(--space-5); }
    }
  `];

  @property({ attribute: false }) health!: Health;
  /** Administrators read the service's own words, too. */
  @property({ type: Boolean }) isAdmin = false;

  override render() {
    const { connection, reasons } = this.health;
    const fails = connection !== null && connection.state !== 'ok';
    if (!fails && reasons.length === 0) return nothing;
    return html`<section class="card"><h2>${strings.detail.health}</h2><ul>
      ${fails ? this.renderConnection(connection) : nothing}
      ${reasons.map((reason) => this.renderReason(reason))}
    </ul></section>`;
  }

  private renderConnection({ state, since, reason, detail, remedy }: NonNullable<Health['connection']>) {
    const words: Record<string, string> = strings.detail.connectionReason;
    const tone = CONNECTION_TONE[state] ?? 'neutral';
    const text = reason !== null && Object.hasOwn(words, reason) ? words[reason] : reason;
    return item(tone, toneIcon[tone], `${strings.detail.connectionTo}: ${strings.detail.connectionState[state] ?? state}`, html`
      ${text ? html`<p class="text">${text}</p>` : nothing}
      ${this.isAdmin && detail ? html`<p><bdi>${sentence(detail)}</bdi></p>` : nothing}
      ${this.isAdmin && remedy ? html`<p>${sentence(remedy)}</p>` : nothing}${sinceLine(since)}`);
  }

  private renderReason(reason: HealthReason) {
    const tone = SEVERITY_TONE[reason.severity] ?? 'neutral';
    const remedy = describeRemedy(reason);
    return item(tone, reason.severity === 'info' ? infoIcon : toneIcon[tone], strings.detail.severity[reason.severity] ?? reason.severity, html`
      <p class="text"><bdi>${describeReason(reason.text)}</bdi></p>
      ${remedy ? html`<p>${remedy}</p>` : nothing}${sinceLine(reason.since)}`);
  }
}

function item(tone: Tone, icon: TemplateResult, what: string, content: TemplateResult) {
  return html`<li><span class="what ${tone}">${icon}<span>${what}</span></span><div>${content}</div></li>`;
}

function sinceLine(since: string | null) {
  if (since === null) return nothing;
  return html`<p class="soft"><time datetime=${since}>${strings.detail.sinceTime(`${absoluteTime(since)} (${relativeTime(since, Date.now())})`)}</time></p>`;
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-cluster-health': ClusterHealth;
  }
}
