// Which columns the list has.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { ALWAYS, COLUMNS, USUAL_COLUMNS, withColumn, type ColumnId } from '../model/columns.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { Disclosure } from './disclosure.js';
import { columnsIcon } from './icons.js';

@customElement('kaas-column-menu')
export class ColumnMenu extends LitElement {
  static override styles = [shared, css`
    :host { display: block; }
    .area { position: relative; }
    fieldset {
      position: absolute; z-index: 10; top: calc(100% + var(--space-1)); right: 0; width: max-content; margin: 0; padding: var(--space-3);
      display: grid; gap: var(--space-1); box-shadow: var(--shadow);
    }
    label { display: flex; align-items: center; gap: var(--space-2); min-height: var(--target); cursor: pointer; }
    input { accent-color: var(--accent); width: 16px; height: 16px; margin: 0; }
    legend { float: left; padding: 0; }
    fieldset button { margin-top: var(--space-1); }
    @media (max-width: 560px) { fieldset { right: auto; left: 0; } }
  `];

  @property({ attribute: false }) columns: readonly ColumnId[] = USUAL_COLUMNS;

  private readonly menu = new Disclosure(this, '.area', '.opener');

  override render() {
    const { menu } = this;
    return html`<div class="area" @keydown=${menu.onKey} @focusout=${menu.onFocusOut}>
      <button type="button" class="opener" aria-expanded=${menu.isOpen} aria-controls="choice" @click=${menu.toggle}>${columnsIcon}${strings.list.columns}</button>
      <fieldset id="choice" class="card" ?hidden=${!menu.isOpen}>
        <legend class="sr-only">${strings.list.columns}</legend>
        ${menu.isOpen ? COLUMNS.filter(({ id }) => id !== ALWAYS).map(({ id }) => this.choice(id)) : nothing}
        ${menu.isOpen ? html`<button type="button" @click=${() => this.tell(null)}>${strings.list.usualColumns}</button>` : nothing}
      </fieldset>
    </div>`;
  }

  private choice(id: ColumnId) {
    return html`<label><input type="checkbox" .checked=${this.columns.includes(id)}
      @change=${(event: Event) => this.tell(withColumn(this.columns, id, (event.target as HTMLInputElement).checked))} />${strings.table.column[id]}</label>`;
  }

  /** Null: the usual ones. */
  private tell(columns: readonly ColumnId[] | null) {
    this.dispatchEvent(new CustomEvent<readonly ColumnId[] | null>('kaas-columns', { detail: columns, bubbles: true, composed: true }));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-column-menu': ColumnMenu;
  }
}
