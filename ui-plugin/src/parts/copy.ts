// A small button that copies a text.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { copyIcon, doneIcon } from './icons.js';

@customElement('kaas-copy')
export class Copy extends LitElement {
  static override styles = [shared, css`
    :host { display: inline-block; vertical-align: middle; }
    button { min-height: var(--target); width: var(--target); padding: 0; border-color: transparent; background: none; color: var(--link); }
    .done { color: var(--good); }
  `];

  @property() value = '';
  /** What the button does, for who cannot see it. */
  @property() label = '';
  @state() private isDone = false;

  override willUpdate(changed: Map<PropertyKey, unknown>) {
    if (changed.has('value')) this.isDone = false;
  }

  override render() {
    return html`<button type="button" class=${this.isDone ? 'done' : ''} title=${this.isDone ? strings.table.copied : this.label} aria-label=${this.label} @click=${this.copy}
      @blur=${() => (this.isDone = false)}>${this.isDone ? doneIcon : copyIcon}</button><span class="sr-only" role="status">${this.isDone ? strings.table.copied : ''}</span>`;
  }

  private async copy() {
    try {
      await navigator.clipboard.writeText(this.value);
    } catch {
      // A frame may lack the permission, a page by plain http the clipboard itself.
      this.copyBySelection();
    }
    this.isDone = true;
  }

  private copyBySelection() {
    const field = document.createElement('textarea');
    field.value = this.value;
    this.renderRoot.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
    this.renderRoot.querySelector('button')?.focus();
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-copy': Copy;
  }
}
