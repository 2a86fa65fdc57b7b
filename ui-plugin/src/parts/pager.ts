// Previous and next, with the number of the page between them.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';

@customElement('kaas-pager')
export class Pager extends LitElement {
  static override styles = [shared, css`
    nav { display: flex; align-items: center; justify-content: flex-end; gap: var(--space-3); }
  `];

  @property({ type: Number }) page = 1;
  @property({ type: Boolean }) more = false;
  @property({ type: Boolean }) busy = false;

  override render() {
    return html`<nav aria-label=${strings.list.pages}>
      <button type="button" ?disabled=${this.page <= 1 || this.busy} @click=${() => this.go('kaas-previous')}>${strings.list.previous}</button>
      <span aria-current="page">${strings.list.page(this.page)}</span>
      <button type="button" ?disabled=${!this.more || this.busy} @click=${() => this.go('kaas-next')}>${strings.list.next}</button>
    </nav>`;
  }

  private go(name: string) {
    this.dispatchEvent(new CustomEvent(name));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-pager': Pager;
  }
}
