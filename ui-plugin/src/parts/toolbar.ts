// Filter box, HX cluster selector, refresh button with the time of the last refresh. Says what the reader wants by events; knows no list.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import { live } from 'lit/directives/live.js';
import type { HxOption } from '../model/format.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { refreshIcon, searchIcon } from './icons.js';

/** Long enough to type the next letter, short enough not to wait. */
const TYPING_MS = 300;

export interface ToolbarChange {
  q?: string;
  hxClusterId?: string;
}

@customElement('kaas-toolbar')
export class Toolbar extends LitElement {
  static override styles = [shared, css`
    :host { display: block; }
    .bar { display: flex; flex-wrap: wrap; gap: var(--space-2) var(--space-3); align-items: center; }
    .filter { position: relative; flex: 1 1 240px; max-width: 360px; }
    .filter svg { position: absolute; left: 11px; top: 10px; color: var(--text-soft); pointer-events: none; }
    .filter input { padding-left: 34px; }
    .select { flex: 0 1 240px; min-width: 160px; }
    .refresh { display: flex; align-items: center; gap: var(--space-3); margin-left: auto; }
    .refresh .soft { font-size: var(--type-dense); font-variant-numeric: tabular-nums; white-space: nowrap; }
    @media (prefers-reduced-motion: no-preference) {
      .loading .icon-refresh { animation: turn 1s linear infinite; }
    }
    @keyframes turn { to { transform: rotate(360deg); } }
    @media (max-width: 560px) {
      .filter, .select { flex: 1 1 100%; max-width: none; }
      .refresh { width: 100%; justify-content: space-between; }
    }
  `];

  @property() q = '';
  @property() hxClusterId = '';
  /** Null while they are not known. */
  @property({ attribute: false }) hxOptions: readonly HxOption[] | null = null;
  @property({ type: Boolean }) hxFailed = false;
  @property({ type: Boolean }) loading = false;
  @property() refreshed = '';

  private typing: ReturnType<typeof setTimeout> | undefined;

  override disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.typing);
  }

  override render() {
    return html`<div class="bar">
      <div class="filter">
        ${searchIcon}
        <input type="search" maxlength="100" spellcheck="false" autocomplete="off" aria-label=${strings.list.filter} placeholder=${strings.list.filter}
          .value=${live(this.q)} @input=${this.onInput} @keydown=${this.onKey} />
      </div>
      <div class="select">${this.renderSelect()}</div>
      ${this.q || this.hxClusterId ? html`<button type="button" class="plain" @click=${this.clear}>${strings.list.clearFilters}</button>` : nothing}
      <div class="refresh">
        <span class="soft">${this.refreshed}</span>
        <button type="button" class=${this.loading ? 'loading' : ''} @click=${() => this.tell('kaas-refresh')}>${refreshIcon}${strings.list.refresh}</button>
      </div>
    </div>`;
  }

  private renderSelect() {
    const options = this.hxOptions ?? [];
    const first = this.hxFailed ? strings.list.hxNotLoaded : strings.list.allHxClusters;
    return html`<select aria-label=${strings.list.hxCluster} ?disabled=${this.hxOptions === null} @change=${this.onSelect}>
      <option value="" ?selected=${this.hxClusterId === ''}>${first}</option>
      ${options.map((hx) => html`<option value=${hx.id} ?selected=${hx.id === this.hxClusterId}>${hx.label}</option>`)}
    </select>`;
  }

  private onInput(event: Event) {
    const value = (event.target as HTMLInputElement).value;
    this.q = value;
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.change({ q: value.trim() }), TYPING_MS);
  }

  private onKey(event: KeyboardEvent) {
    if (event.key !== 'Enter') return;
    clearTimeout(this.typing);
    this.change({ q: this.q.trim() });
  }

  private onSelect(event: Event) {
    this.change({ hxClusterId: (event.target as HTMLSelectElement).value });
  }

  private clear() {
    clearTimeout(this.typing);
    this.q = '';
    this.change({ q: '', hxClusterId: '' });
    this.renderRoot.querySelector('input')?.focus();
  }

  private change(detail: ToolbarChange) {
    this.dispatchEvent(new CustomEvent<ToolbarChange>('kaas-query', { detail }));
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
