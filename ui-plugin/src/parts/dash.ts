// What stands where there is no value: a dash for the eye, a word for the ear.
// SPDX-License-Identifier: GPL-3.0-or-later
import { html } from 'lit';
import { strings } from '../strings/index.js';

const dash = (spoken: string) => html`<span aria-hidden="true">–</span><span class="sr-only">${spoken}</span>`;

/** There is none. */
export const none = () => dash(strings.table.none);

/** Nobody tells. */
export const notKnown = () => dash(strings.table.notKnown);
