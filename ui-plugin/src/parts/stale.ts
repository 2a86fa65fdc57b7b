// What is shown may be old: why, and as of when.
// SPDX-License-Identifier: GPL-3.0-or-later
import { html, nothing } from 'lit';
import type { StaleReason } from '../api/types.js';
import { absoluteTime } from '../model/format.js';
import { strings } from '../strings/index.js';
import './notice.js';

/** `awayVcenters`: names of those that are away, for who may know them. */
export function staleNotice(heading: string, stale: readonly StaleReason[], asOf: string | null, awayVcenters: string[] = []) {
  if (stale.length === 0) return nothing;
  const words = { ...strings.stale.reason, ...(awayVcenters.length > 0 ? { vcenter: strings.stale.away(awayVcenters) } : {}) };
  const reasons = stale.map((reason) => words[reason]).join(' ');
  return html`<kaas-notice tone="warning" heading=${heading}>${reasons} ${asOf ? strings.stale.asOf(absoluteTime(asOf)) : ''}</kaas-notice>`;
}

/** The time of the data. By the service's clock only when that says that the data is old: clocks differ. */
export function dataTime(stale: readonly StaleReason[], asOf: string | null, refreshedAt: Date | null): Date | null {
  return stale.length > 0 && asOf !== null ? new Date(asOf) : refreshedAt;
}
