// What stands in the place of the rows when there are none: why, and what to do about it.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { shared } from '../styles/shared.js';
import { emptyDrawing } from './icons.js';

@customElement('kaas-empty')
export class Empty extends LitElement {
  static override styles = [shared, css`
    :host { display: block; padding: 48px 24px 56px; text-align: center; }
    svg { color: var(--line-strong); opacity: 0.7; margin-bottom: 16px; }
    p { margin: 8px auto 0; max-width: 60ch; color: var(--text-soft); overflow-wrap: anywhere; }
    code {
      display: inline-block; margin-top: 14px; padding: 8px 14px; max-width: 100%; border: 1px solid var(--line); border-radius: 6px;
      background: var(--card-alt); font-family: var(--mono); font-size: 0.93rem; overflow-wrap: anywhere; text-align: left; user-select: all;
    }
    ::slotted(*) { margin-top: 18px; }
  `];

  @property() heading = '';
  @property() text = '';
  @property() command = '';

  override render() {
    return html`${emptyDrawing}
      <h2>${this.heading}</h2>
      <p>${this.text}</p>
      ${this.command ? html`<code>${this.command}</code>` : nothing}
      <slot></slot>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-empty': Empty;
  }
}
