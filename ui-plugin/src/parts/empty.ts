// What stands in the place of the rows when there are none: why, and what to do about it.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { Role } from '../api/types.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { emptyDrawing } from './icons.js';

@customElement('kaas-empty')
export class Empty extends LitElement {
  static override styles = [shared, css`
    :host { display: block; padding: var(--space-6) var(--space-5) var(--space-6); text-align: center; }
    svg { color: var(--line-strong); opacity: 0.7; margin-bottom: var(--space-4); }
    p { margin: var(--space-2) auto 0; max-width: 60ch; color: var(--text-soft); overflow-wrap: anywhere; }
    code {
      display: inline-block; margin-top: var(--space-3); padding: var(--space-2) var(--space-3); max-width: 100%; border: 1px solid var(--line); border-radius: var(--radius);
      background: var(--card-alt); font-family: var(--mono); font-size: var(--type-dense); overflow-wrap: anywhere; text-align: left; user-select: all;
    }
    ::slotted(*) { margin-top: var(--space-4); }
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

/** There is no cluster at all: how there will be one. */
export function noClusters(viewerRole: Role | null) {
  const words = strings.empty;
  const mayAdd = viewerRole === 'admin' || viewerRole === 'provisioner';
  if (mayAdd) return html`<kaas-empty heading=${words.noneTitle} text=${words.noneAdmin} command=${words.noneAdminCommand}></kaas-empty>`;
  return html`<kaas-empty heading=${words.noneUserTitle} text=${words.noneUser}></kaas-empty>`;
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-empty': Empty;
  }
}
