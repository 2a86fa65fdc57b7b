// The bar at the top: product, who is signed in and how, change the password, sign out.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { Whoami } from '../api/types.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { keyIcon, logo, openIcon } from './icons.js';

/** More are counted, not named: somebody may be in thousands. */
const GROUPS_SHOWN = 50;

@customElement('kaas-header')
export class Header extends LitElement {
  static override styles = [shared, css`
    :host { display: block; background: var(--bar); color: var(--bar-text); border-bottom: 3px solid var(--brand); }
    header { display: flex; align-items: center; gap: var(--space-3); max-width: 1440px; margin: 0 auto; padding: var(--space-2) var(--space-5); min-height: 56px; }
    .brand { display: flex; align-items: center; gap: var(--space-2); font-size: var(--type-title); font-weight: 600; white-space: nowrap; }
    .who { position: relative; margin-left: auto; min-width: 0; }
    .me { max-width: 100%; min-height: 40px; padding: 2px var(--space-2); border-color: transparent; text-align: right; line-height: 1.25; }
    .lines { display: block; min-width: 0; }
    .name { display: block; font-weight: 500; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 32ch; }
    .role { font-size: var(--type-small); color: var(--bar-soft); font-weight: 400; }
    button { background: transparent; color: var(--bar-text); border-color: var(--bar-soft); }
    button:hover:not(:disabled) { background: var(--bar-hover); }
    :focus-visible { outline-color: var(--bar-text); }
    .account {
      position: absolute; z-index: 10; top: calc(100% + 6px); right: 0; width: max-content; max-width: min(420px, calc(100vw - 32px));
      max-height: min(480px, calc(100vh - 96px)); overflow: auto; padding: var(--space-4); color: var(--text); text-align: left;
    }
    .account:focus-visible { outline-color: var(--focus); }
    dl { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: var(--space-2) var(--space-3); margin: 0; }
    dt { color: var(--text-soft); }
    dd { margin: 0; overflow-wrap: anywhere; }
    dd.id { font-family: var(--mono); font-size: var(--type-small); }
    ul { margin: var(--space-1) 0 0; padding-left: var(--space-4); }
    @media (max-width: 560px) {
      header { padding: var(--space-2) var(--space-4); }
      .name { max-width: 12ch; }
      .role { display: none; }
      .account { position: fixed; top: 64px; right: 16px; }
      .key { padding: 0 var(--space-2); }
      .key span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
    }
    @media (max-width: 420px) {
      .brand span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
    }
  `];

  @property({ attribute: false }) who: Whoami | null = null;
  @property({ type: Boolean }) canChangePassword = false;
  @state() private open = false;

  override connectedCallback() {
    super.connectedCallback();
    document.addEventListener('pointerdown', this.onElsewhere);
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    document.removeEventListener('pointerdown', this.onElsewhere);
  }

  override render() {
    return html`<header>
      <span class="brand">${logo(28)}<span>${strings.product}</span></span>
      <div class="who" @keydown=${this.onKey} @focusout=${this.onFocusOut}>${this.who ? this.renderWho(this.who) : nothing}</div>
      ${this.canChangePassword ? this.renderChangePassword() : nothing}
      <button type="button" @click=${this.signOut}>${strings.header.signOut}</button>
    </header>`;
  }

  private renderWho(who: Whoami) {
    return html`<button type="button" class="me" aria-expanded=${this.open} aria-controls="account" title=${who.name} @click=${() => (this.open = !this.open)}>
        <span class="lines"><bdi class="name">${who.name}</bdi> <span class="role">${strings.header.role[who.role] ?? who.role}</span></span>${openIcon}
      </button>
      <section id="account" class="account card" tabindex="0" aria-label=${strings.header.account} ?hidden=${!this.open}>${this.open ? this.renderAccount(who) : nothing}</section>`;
  }

  private renderAccount(who: Whoami) {
    const shown = who.groups.slice(0, GROUPS_SHOWN);
    const more = who.groups.length - shown.length;
    return html`<dl>
      <dt>${strings.header.name}</dt><dd><bdi>${who.name}</bdi></dd>
      <dt>${strings.header.way}</dt><dd>${strings.header.method(who.method, who.directory)}</dd>
      <dt>${strings.header.roleLabel}</dt><dd>${strings.header.role[who.role] ?? who.role}</dd>
      <dt>${strings.header.id}</dt><dd class="id">${who.id}</dd>
      ${who.source === 'directory' ? html`<dt>${strings.header.groupsLabel}</dt><dd>${strings.header.groups(who.groups.length)}
        ${shown.length ? html`<ul>${shown.map((group) => html`<li><bdi>${group.name ?? group.id}</bdi></li>`)}</ul>` : nothing}
        ${more > 0 ? html`<p class="soft">${strings.header.moreGroups(more)}</p>` : nothing}</dd>` : nothing}
    </dl>`;
  }

  /** Where there is little room, the drawing alone is shown; the words stay for who hears them. */
  private renderChangePassword() {
    return html`<button type="button" class="key" title=${strings.header.changePassword} @click=${this.changePassword}>
      ${keyIcon}<span>${strings.header.changePassword}</span>
    </button>`;
  }

  private onKey(event: KeyboardEvent) {
    if (event.key !== 'Escape' || !this.open) return;
    this.open = false;
    this.renderRoot.querySelector<HTMLButtonElement>('.me')?.focus();
  }

  private onFocusOut(event: FocusEvent) {
    const next = event.relatedTarget;
    if (next instanceof Node && !(event.currentTarget as HTMLElement).contains(next)) this.open = false;
  }

  private readonly onElsewhere = (event: PointerEvent) => {
    const who = this.renderRoot.querySelector('.who');
    if (this.open && who && !event.composedPath().includes(who)) this.open = false;
  };

  private changePassword() {
    this.dispatchEvent(new CustomEvent('kaas-change-password', { bubbles: true, composed: true }));
  }

  private signOut() {
    this.dispatchEvent(new CustomEvent('kaas-sign-out', { bubbles: true, composed: true }));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-header': Header;
  }
}
