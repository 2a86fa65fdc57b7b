// A part of a whole as a bar in the colour of the text around it; hidden from screen readers because a word stands beside it.
// SPDX-License-Identifier: GPL-3.0-or-later
import { html } from 'lit';

const WIDTH = 96;

/** `part` of `whole`; nothing of nothing is all of it, and more than all is all. */
export function share(part: number, whole: number) {
  const filled = whole > 0 ? Math.min(1, part / whole) : 1;
  return html`<svg class="share" width=${WIDTH} height="8" viewBox="0 0 ${WIDTH} 8" aria-hidden="true">
    <rect class="ground" width=${WIDTH} height="8" rx="2" fill="var(--line)"/>
    <rect width=${(filled * WIDTH).toFixed(1)} height="8" rx="2" fill="currentColor"/>
  </svg>`;
}
