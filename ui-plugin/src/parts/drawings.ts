// Small drawings of numbers, hidden from screen readers because words stand beside each.
// SPDX-License-Identifier: GPL-3.0-or-later
import { html, svg } from 'lit';
import type { ClusterCounts } from '../api/types.js';
import { STATE_FILL, countStates } from '../model/format.js';

const WIDTH = 400;
const GAP = 2;
const RADIUS = 20;
const ROUND = 2 * Math.PI * RADIUS;

/** Lines in the place of a fill: nothing is known there. */
const HATCHED = svg`<defs><pattern id="unknown" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
  <rect width="2.5" height="5" fill="var(--fill-unknown)"/></pattern></defs>`;

/** How many clusters are in which state, side by side, the worst first; every state that there is can be seen. What nobody but a person has said is an outline. */
export function stateBar(counts: ClusterCounts, height: number) {
  const there = countStates(counts).flatMap(({ state, n, declared }) => [{ n: n - declared, fill: STATE_FILL[state] }, { n: declared, fill: null }]).filter(({ n }) => n > 0);
  const room = WIDTH - GAP * Math.max(0, there.length - 1);
  let x = 0;
  const parts = there.map(({ n, fill }) => {
    const width = Math.max(4, (room * n) / counts.total);
    const part = fill === null
      ? svg`<rect class="declared" x=${(x + 0.5).toFixed(1)} y="0.5" width=${(width - 1).toFixed(1)} height=${height - 1} fill="none" stroke="var(--neutral)" vector-effect="non-scaling-stroke"/>`
      : svg`<rect x=${x.toFixed(1)} width=${width.toFixed(1)} height=${height} fill=${fill}/>`;
    x += width + GAP;
    return part;
  });
  return html`<svg class="bar" viewBox="0 0 ${Math.max(WIDTH, x - GAP).toFixed(0)} ${height}" preserveAspectRatio="none" aria-hidden="true">${HATCHED}
    ${there.length === 0 ? svg`<rect width=${WIDTH} height=${height} fill="var(--line)"/>` : parts}
  </svg>`;
}

/** A part of a whole, from 0 to 1, as a ring in the colour of the text around it. */
export function ring(part: number) {
  return html`<svg class="ring" width="52" height="52" viewBox="0 0 52 52" fill="none" stroke-width="8" aria-hidden="true">
    <circle cx="26" cy="26" r=${RADIUS} stroke="var(--line)"/>
    <circle cx="26" cy="26" r=${RADIUS} stroke="currentColor" stroke-dasharray="${(part * ROUND).toFixed(1)} ${ROUND.toFixed(1)}" transform="rotate(-90 26 26)"/>
  </svg>`;
}
