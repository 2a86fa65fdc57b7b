// The drawings: 16 by 16, in the colour of the text around them, hidden from screen readers because a word stands beside each.
// SPDX-License-Identifier: GPL-3.0-or-later
import { html, svg, type SVGTemplateResult, type TemplateResult } from 'lit';
import type { Tone } from '../model/format.js';

const icon = (drawing: SVGTemplateResult, name: string): TemplateResult => html`<svg
  class="icon icon-${name}" width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.6"
  stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${drawing}</svg>`;

/** A shape of its own for each tone, so that colour is not the only sign. */
export const toneIcon: Record<Tone, TemplateResult> = {
  good: icon(svg`<circle cx="8" cy="8" r="6.4"/><path d="m5 8.2 2.1 2.1L11 6.2"/>`, 'good'),
  warning: icon(svg`<path d="M8 1.9 14.8 13.7H1.2z"/><path d="M8 6.4v3.4M8 11.7v.1"/>`, 'warning'),
  bad: icon(svg`<path d="M5.3 1.6h5.4l3.7 3.7v5.4l-3.7 3.7H5.3l-3.7-3.7V5.3z"/><path d="m5.9 5.9 4.2 4.2M10.1 5.9l-4.2 4.2"/>`, 'bad'),
  busy: icon(svg`<path d="M13.8 6.6A6 6 0 0 0 3 4.7L1.8 6M1.8 2.8V6H5M2.2 9.4A6 6 0 0 0 13 11.3l1.2-1.3M14.2 13.2V10H11"/>`, 'busy'),
  hollow: icon(svg`<circle cx="8" cy="8" r="6.4" stroke-dasharray="2.6 2.4"/>`, 'hollow'),
  neutral: icon(svg`<circle cx="8" cy="8" r="6.4"/><path d="M6.2 6.3c.2-2.2 3.6-2.1 3.6 0 0 1.4-1.8 1.4-1.8 2.7M8 11.4v.1"/>`, 'neutral'),
};

/** Worth knowing, and no fault. */
export const infoIcon = icon(svg`<circle cx="8" cy="8" r="6.4"/><path d="M8 7.4v3.8M8 4.8v.1"/>`, 'info');

export const refreshIcon = icon(svg`<path d="M13.7 8a5.7 5.7 0 1 1-1.6-4l1.6 1.6M13.7 2.2v3.4h-3.4"/>`, 'refresh');
export const searchIcon = icon(svg`<circle cx="7" cy="7" r="4.6"/><path d="m10.5 10.5 3.7 3.7"/>`, 'search');
export const externalIcon = icon(svg`<path d="M6.5 3H3v10h10V9.5M9.5 2.5h4v4M13.3 2.7 7.5 8.5"/>`, 'external');
export const copyIcon = icon(svg`<rect x="5.5" y="5.5" width="8" height="8" rx="1"/><path d="M3.5 10.5h-1v-8h8v1"/>`, 'copy');
export const doneIcon = icon(svg`<path d="m3 8.5 3.3 3.3L13 4.5"/>`, 'done');
export const closeIcon = icon(svg`<path d="m4 4 8 8M12 4l-8 8"/>`, 'close');
export const columnsIcon = icon(svg`<path d="M2 3h12v10H2zM6 3v10M10 3v10"/>`, 'columns');
export const downloadIcon = icon(svg`<path d="M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.5h11"/>`, 'download');
export const backIcon = icon(svg`<path d="M9.5 3.5 5 8l4.5 4.5"/>`, 'back');
export const arrowIcon = {
  first: icon(svg`<path d="M11.5 3.5 7 8l4.5 4.5M4.5 3.5v9"/>`, 'first'),
  previous: icon(svg`<path d="M9.5 3.5 5 8l4.5 4.5"/>`, 'previous'),
  next: icon(svg`<path d="M6.5 3.5 11 8l-4.5 4.5"/>`, 'next'),
  last: icon(svg`<path d="M4.5 3.5 9 8l-4.5 4.5M11.5 3.5v9"/>`, 'last'),
};
export const personIcon = icon(svg`<circle cx="8" cy="5" r="3"/><path d="M2.5 14c.4-3.2 2.5-4.8 5.5-4.8S13.1 10.8 13.5 14"/>`, 'person');
export const signOutIcon = icon(svg`<path d="M9.5 2.5H3v11h6.5M7 8h7M11.3 5.2 14 8l-2.7 2.8"/>`, 'sign-out');
export const keyIcon = icon(svg`<circle cx="5.2" cy="10.8" r="3.2"/><path d="m7.5 8.5 6-6M11 5l2.3 2.3"/>`, 'key');
export const upIcon = icon(svg`<circle cx="8" cy="8" r="6.4"/><path d="M8 11.2V5.2M5.4 7.6 8 5l2.6 2.6"/>`, 'up');
export const openIcon = icon(svg`<path d="m4.5 6.5 3.5 3.5 3.5-3.5"/>`, 'open');
export const sortIcon = {
  none: icon(svg`<path d="m5 6.3 3-3 3 3M5 9.7l3 3 3-3"/>`, 'sort'),
  ascending: icon(svg`<path d="m4.5 9.5 3.5-4 3.5 4"/>`, 'sort'),
  descending: icon(svg`<path d="m4.5 6.5 3.5 4 3.5-4"/>`, 'sort'),
};

/** The product's mark: a cell of the honeycomb with two waves in harmony. */
export const logo = (size: number): TemplateResult => html`<svg width=${size} height=${size} viewBox="0 0 32 32" aria-hidden="true">
  <path fill="var(--brand)" d="M16 1.6 28.5 8.8v14.4L16 30.4 3.5 23.2V8.8z"/>
  <path fill="none" stroke="var(--brand-text)" stroke-width="2.4" stroke-linecap="round"
    d="M9 13.2c2.3-2.6 4.7-2.6 7 0s4.7 2.6 7 0M9 19.2c2.3-2.6 4.7-2.6 7 0s4.7 2.6 7 0"/>
</svg>`;

/** Three nodes and the lines between them, for empty lists. */
export const emptyDrawing = html`<svg width="72" height="64" viewBox="0 0 72 64" fill="none" stroke="currentColor" stroke-width="2" aria-hidden="true">
  <path d="m36 6 10 5.8v11.6L36 29.2l-10-5.8V11.8zM14 34l10 5.8v11.6L14 57.2 4 51.4V39.8zM58 34l10 5.8v11.6l-10 5.8-10-5.8V39.8z"/>
  <path d="M29 27 20 36M43 27l9 9M24 46h24" stroke-dasharray="3 4"/>
</svg>`;
