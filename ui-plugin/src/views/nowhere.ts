// What an address shows that there is not: that it is wrong, and the way to the list.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html } from 'lit';
import { customElement, query } from 'lit/decorators.js';
import { listAddress } from '../model/address.js';
import '../parts/empty.js';
import { strings } from '../strings/index.js';
import { detailStyles } from '../styles/detail.js';
import { shared } from '../styles/shared.js';

@customElement('kaas-nowhere')
export class Nowhere extends LitElement {
  static override styles = [shared, detailStyles, css`a { display: inline-block; min-height: var(--target); line-height: var(--target); }`];

  @query('h1') private heading!: HTMLElement;

  override firstUpdated() {
    this.heading.focus();
  }

  override render() {
    const words = strings.nowhere;
    return html`<main><h1 tabindex="-1" class="sr-only">${words.title}</h1>
      <div class="card"><kaas-empty heading=${words.title} text=${words.text}><a href=${listAddress({})}>${words.list}</a></kaas-empty></div>
    </main>`;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-nowhere': Nowhere;
  }
}
