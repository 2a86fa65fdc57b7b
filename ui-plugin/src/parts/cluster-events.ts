// What the audit log has about a cluster, newest first.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { AuditEntry } from '../api/types.js';
import { absoluteTime, describeReason } from '../model/format.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { cardStyles, tableStyles } from '../styles/table.js';
import './empty.js';

@customElement('kaas-cluster-events')
export class ClusterEvents extends LitElement {
  static override styles = [shared, tableStyles, cardStyles, css`
    time { white-space: nowrap; font-variant-numeric: tabular-nums; }
    bdi { overflow-wrap: anywhere; }
  `];

  @property({ attribute: false }) events: readonly AuditEntry[] = [];

  override render() {
    if (this.events.length === 0) return html`<div class="card"><kaas-empty heading=${strings.detail.noEvents}></kaas-empty></div>`;
    const { at, who, what, result } = strings.detail.event;
    return html`<div class="card"><table role="table">
      <caption class="sr-only">${strings.detail.part.events}</caption>
      <thead role="rowgroup"><tr role="row">${[at, who, what, result].map((text) => html`<th scope="col" role="columnheader">${text}</th>`)}</tr></thead>
      <tbody role="rowgroup">${this.events.map((event) => this.row(event))}</tbody>
    </table></div>`;
  }

  private row(event: AuditEntry) {
    const { who, what, result } = strings.detail.event;
    const reason = describeReason(event.reason);
    return html`<tr role="row">
      <td role="cell"><div class="value"><time datetime=${event.at}>${absoluteTime(event.at)}</time></div></td>
      ${cell(who, event.principal_name ?? event.principal_id ?? strings.detail.someone)}
      <td role="cell"><span class="label" aria-hidden="true">${what}</span><div class="value">${actionWord(event.action)}${reason ? html`<bdi class="soft sub">${reason}</bdi>` : nothing}</div></td>
      ${cell(result, event.result === null || event.result === 'ok' ? strings.detail.done : strings.detail.refused(event.result))}
    </tr>`;
  }
}

function cell(label: string, text: string) {
  return html`<td role="cell"><span class="label" aria-hidden="true">${label}</span><div class="value"><bdi>${text}</bdi></div></td>`;
}

/** One that a newer service may have is shown as it is. */
function actionWord(action: string): string {
  const words: Record<string, string> = strings.detail.action;
  return Object.hasOwn(words, action) ? (words[action] ?? action) : action;
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-cluster-events': ClusterEvents;
  }
}
