// Filter box, HX cluster selector, chosen label; columns, export, refresh. Says what the reader wants by events; knows no list.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { live } from 'lit/directives/live.js';
import type { ListQuery } from '../model/address.js';
import { USUAL_COLUMNS, type ColumnId } from '../model/columns.js';
import type { HxOption } from '../model/format.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import './column-menu.js';
import { closeIcon, downloadIcon, openIcon, refreshIcon, searchIcon } from './icons.js';

@customElement('kaas-toolbar')
export class Toolbar extends LitElement {
  static override styles = [shared, css`
    :host { display: block; }
    .bar { display: flex; flex-wrap: wrap; gap: var(--space-2); align-items: center; }
    .filter { position: relative; flex: 1 1 160px; max-width: 400px; }
    .filter svg { position: absolute; left: var(--space-2); top: var(--space-2); color: var(--text-soft); pointer-events: none; }
    .filter input { padding-left: var(--control); }
    .select { flex: 0 1 240px; min-width: 130px; }
    .label { min-width: 0; max-width: 100%; background: var(--selected); border-color: var(--accent); font-weight: 400; }
    .label bdi { overflow: hidden; text-overflow: ellipsis; }
    .right { display: flex; flex-wrap: wrap; gap: var(--space-2); margin-left: auto; }
    @media (prefers-reduced-motion: no-preference) {
      .loading .icon-refresh { animation: turn 1s linear infinite; }
    }
    @keyframes turn { to { transform: rotate(360deg); } }
    @media (max-width: 860px) {
      .filter { max-width: none; }
      .select { flex: 1 1 100%; }
      .right { margin-left: 0; }
    }
    b { min-width: 20px; padding: 0 var(--space-1); border-radius: var(--radius); background: var(--accent); color: var(--accent-text); font-size: var(--type-small); }
  `];

  @property() q = '';
  @property() hxClusterId = '';
  /** What the HX cluster is called by who asked for it, while its id is not known. */
  @property() hxName = '';
  /** Only what runs on an HX cluster at all, or only what does not; null: both. */
  @property({ attribute: false }) onHx: boolean | null = null;
  /** `key=value`; empty for none. */
  @property() label = '';
  @property({ type: Boolean }) isFiltered = false;
  /** Null while they are not known. */
  @property({ attribute: false }) hxOptions: readonly HxOption[] | null = null;
  @property({ type: Boolean }) hxFailed = false;
  /** The rows are of one vSphere cluster: there is no HX cluster to choose. */
  @property({ type: Boolean }) isScoped = false;
  @property({ attribute: false }) columns: readonly ColumnId[] = USUAL_COLUMNS;
  @property({ type: Boolean }) loading = false;
  /** All but the words is behind a button. */
  @property({ type: Boolean }) isNarrow = false;
  /** It is shown. */
  @property({ type: Boolean }) isOpen = false;
  /** How much of it is set. */
  @property({ type: Number }) chosen = 0;
  @property({ type: Boolean }) exporting = false;

  override render() {
    return html`<div class="bar" role="search" aria-label=${strings.list.filterLabel}>
      <div class="filter">
        ${searchIcon}
        <input type="search" maxlength="100" spellcheck="false" autocomplete="off" aria-label=${strings.list.filterLabel} placeholder=${strings.list.filter}
          .value=${live(this.q)} @input=${this.onInput} />
      </div>
      ${this.isNarrow ? html`<button type="button" aria-expanded=${this.isOpen} @click=${() => this.tell('kaas-filters')}>${strings.list.filters}${this.chosen > 0 ? html` <b>${this.chosen}</b>` : nothing}${openIcon}</button>` : nothing}
      ${this.isNarrow && !this.isOpen ? nothing : this.renderRest()}
    </div>`;
  }

  private renderRest() {
    return html`${this.isScoped ? nothing : html`<div class="select">${this.renderSelect()}</div>`}
      ${this.label ? this.renderLabel() : nothing}
      ${this.isFiltered ? html`<button type="button" class="plain" @click=${this.clear}>${strings.list.clearFilters}</button>` : nothing}
      <div class="right">
        ${this.isNarrow ? nothing : html`<kaas-column-menu .columns=${this.columns}></kaas-column-menu>`}
        <button type="button" ?disabled=${this.exporting} @click=${() => this.tell('kaas-export')}>${downloadIcon}${strings.list.exportCsv}</button>
        <button type="button" class=${this.loading ? 'loading' : ''} @click=${() => this.tell('kaas-refresh')}>${refreshIcon}${strings.list.refresh}</button>
      </div>`;
  }

  private renderSelect() {
    const options = this.hxOptions ?? [];
    const first = this.hxFailed ? strings.list.hxNotLoaded : strings.list.allHxClusters;
    return html`<select aria-label=${strings.list.hxCluster} ?disabled=${this.hxOptions === null} @change=${this.onSelect}>
      <option value="" ?selected=${this.hxClusterId === '' && this.hxName === '' && this.onHx === null}>${first}</option>
      ${options.length > 0 || this.onHx !== null ? [true, false].map((on) => html`<option value=${String(on)} ?selected=${this.onHx === on}>${strings.list.onHx(on)}</option>`) : nothing}
      ${this.hxName ? html`<option value=${this.hxName} selected>${this.hxName}</option>` : nothing}
      ${options.map((hx) => html`<option value=${hx.id} ?selected=${hx.id === this.hxClusterId}>${hx.label}</option>`)}
    </select>`;
  }

  private renderLabel() {
    const what = strings.list.labelFilter(this.label);
    return html`<button type="button" class="label" title=${strings.list.removeFilter(what)} aria-label=${strings.list.removeFilter(what)}
      @click=${() => this.ask({ label: '' })}><bdi>${this.label}</bdi>${closeIcon}</button>`;
  }

  private onInput(event: Event) {
    const q = (event.target as HTMLInputElement).value;
    this.q = q;
    this.dispatchEvent(new CustomEvent<string>('kaas-type', { detail: q }));
  }

  private onSelect(event: Event) {
    const { value } = event.target as HTMLSelectElement;
    const isFlag = value === 'true' || value === 'false';
    this.ask({ hxClusterId: isFlag ? '' : value, onHx: isFlag ? value === 'true' : null });
  }

  private clear() {
    this.tell('kaas-clear');
    this.renderRoot.querySelector('input')?.focus();
  }

  private ask(detail: Partial<ListQuery>) {
    this.dispatchEvent(new CustomEvent<Partial<ListQuery>>('kaas-ask', { detail }));
  }

  private tell(name: string) {
    this.dispatchEvent(new CustomEvent(name));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-toolbar': Toolbar;
  }
}
