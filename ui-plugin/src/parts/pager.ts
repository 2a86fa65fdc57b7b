// Below the rows: which of how many they are, how many at once, and the ways to the other pages.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { PAGE_SIZES, type PageSize } from '../model/address.js';
import { pagesAround } from '../model/pages.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { arrowIcon } from './icons.js';

@customElement('kaas-pager')
export class Pager extends LitElement {
  static override styles = [shared, css`
    :host { display: flex; flex-wrap: wrap; align-items: center; gap: var(--space-2) var(--space-4); padding: var(--space-2) var(--space-3); font-size: var(--type-dense); }
    label { display: flex; align-items: center; gap: var(--space-2); }
    select { width: auto; min-height: 28px; }
    .range { margin-left: auto; font-variant-numeric: tabular-nums; }
    nav { display: flex; align-items: center; gap: var(--space-1); }
    button { min-height: 28px; min-width: 28px; padding: 0 var(--space-2); border-color: transparent; background: none; font-variant-numeric: tabular-nums; }
    button.step { padding: 0; }
    button[aria-current] { background: var(--selected); border-color: var(--accent); font-weight: 600; }
    @media (max-width: 640px) { .number:not([aria-current]), .gap { display: none; } }
    @media (max-width: 420px) { .range { margin-left: 0; } nav { width: 100%; justify-content: center; } }
  `];

  @property({ type: Number }) page = 1;
  @property({ type: Number }) pageCount = 1;
  @property({ type: Number }) size: PageSize = 50;
  @property({ type: Number }) shown = 0;
  @property({ type: Number }) total = 0;

  override render() {
    const from = (this.page - 1) * this.size + 1;
    return html`<label>${strings.list.pageSize}
        <select @change=${this.onSize}>${PAGE_SIZES.map((size) => html`<option value=${size} ?selected=${size === this.size}>${size}</option>`)}</select>
      </label>
      <span class="range">${strings.list.range(from, from + this.shown - 1, this.total)}</span>
      ${this.pageCount > 1 ? this.renderPages() : nothing}`;
  }

  private renderPages() {
    const { page, pageCount } = this;
    return html`<nav aria-label=${strings.list.pages}>
      ${this.step('first', 1, page > 1)} ${this.step('previous', page - 1, page > 1)}
      ${pagesAround(page, pageCount).map((n) => (n === null ? html`<span class="gap soft">…</span>` : this.number(n)))}
      ${this.step('next', page + 1, page < pageCount)} ${this.step('last', pageCount, page < pageCount)}
    </nav>`;
  }

  private step(name: 'first' | 'previous' | 'next' | 'last', page: number, isThere: boolean) {
    return html`<button type="button" class="step" aria-label=${strings.list[name]} title=${strings.list[name]} ?disabled=${!isThere}
      @click=${() => this.turn(page)}>${arrowIcon[name]}</button>`;
  }

  private number(n: number) {
    const isHere = n === this.page;
    return html`<button type="button" class="number" aria-label=${strings.list.page(n)} aria-current=${isHere ? 'page' : nothing} @click=${() => this.turn(n)}>${n}</button>`;
  }

  private turn(page: number) {
    this.dispatchEvent(new CustomEvent<number>('kaas-page', { detail: page }));
  }

  private onSize(event: Event) {
    const size = PAGE_SIZES.find((each) => String(each) === (event.target as HTMLSelectElement).value);
    if (size) this.dispatchEvent(new CustomEvent<PageSize>('kaas-size', { detail: size }));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-pager': Pager;
  }
}
