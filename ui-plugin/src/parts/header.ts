// The bar at the top: product, the ways to the views, who is signed in and how; behind that the password and the way out.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property } from 'lit/decorators.js';
import type { AvailableVersion, Whoami } from '../api/types.js';
import { FIRST_PLACE, writeAddress, type Place, type View } from '../model/address.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { Disclosure } from './disclosure.js';
import { externalIcon, keyIcon, logo, openIcon, personIcon, signOutIcon } from './icons.js';
import './new-version.js';

const VIEWS: readonly View[] = ['clusters', 'overview'];
/** More are counted, not named: somebody may be in thousands. */
const GROUPS_SHOWN = 50;

@customElement('kaas-header')
export class Header extends LitElement {
  static override styles = [shared, css`
    :host { display: block; background: var(--bar); color: var(--bar-text); }
    header { display: flex; align-items: center; gap: var(--space-4); max-width: var(--page-width); margin: 0 auto; padding: 0 var(--space-5); min-height: var(--bar-height); }
    .brand { display: flex; align-items: center; gap: var(--space-2); font-size: var(--type-title); font-weight: 600; white-space: nowrap; }
    nav { display: flex; align-self: stretch; gap: var(--space-1); }
    nav a { display: grid; place-items: center; padding: var(--mark) var(--space-3) 0; border-bottom: var(--mark) solid transparent; border-radius: 0; color: var(--bar-soft); }
    nav a:hover { background: var(--bar-hover); color: var(--bar-text); text-decoration: none; }
    nav a[aria-current] { border-color: var(--brand); color: var(--bar-text); font-weight: 600; }
    nav a:focus-visible { outline-color: var(--bar-text); outline-offset: -2px; }
    @media (forced-colors: active) { nav a:not([aria-current]) { border-color: Canvas; } }
    .who { position: relative; margin-left: auto; min-width: 0; }
    .window { margin-left: auto; border-color: transparent; background: transparent; color: var(--bar-text); }
    .window:hover:not(:disabled) { background: var(--bar-hover); }
    .window:focus-visible { outline-color: var(--bar-text); }
    kaas-new-version { margin-left: auto; }
    .window + .who, kaas-new-version ~ .window, kaas-new-version ~ .who { margin-left: 0; }
    .me { max-width: 100%; min-height: 40px; padding: var(--space-half) var(--space-2); border-color: transparent; background: transparent; color: var(--bar-text); text-align: left; line-height: 1.35; }
    .me:hover:not(:disabled), .me[aria-expanded='true'] { background: var(--bar-hover); }
    .me:focus-visible { outline-color: var(--bar-text); }
    .lines { display: block; min-width: 0; }
    .name { display: block; font-weight: 500; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 32ch; }
    .role { display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-size: var(--type-small); color: var(--bar-soft); font-weight: 400; }
    .account {
      position: absolute; z-index: 10; top: calc(100% + var(--space-1)); right: 0; width: max-content; min-width: 260px; max-width: min(420px, calc(100vw - 32px));
      max-height: min(520px, calc(100vh - 64px)); display: flex; flex-direction: column; color: var(--text); text-align: left;
    }
    .facts { overflow: auto; min-height: 0; padding: var(--space-4); }
    .facts:focus-visible { outline-offset: -2px; }
    dl { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: var(--space-1) var(--space-3); margin: 0; }
    dt { color: var(--text-soft); }
    dd { margin: 0; overflow-wrap: anywhere; }
    dd.id { font-family: var(--mono); font-size: var(--type-small); }
    ul { margin: var(--space-1) 0 0; padding-left: var(--space-4); }
    .deeds { display: grid; gap: var(--space-1); padding: var(--space-2); border-top: 1px solid var(--line); }
    .deeds button { justify-content: flex-start; border-color: transparent; background: none; }
    @media (max-width: 1100px) { header { padding: 0 var(--space-4); } }
    @media (max-width: 900px) { .window span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); } }
    @media (max-width: 760px) { .brand span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); } }
    @media (max-width: 560px) {
      .lines { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
      header { gap: var(--space-2); }
      .account { position: fixed; top: calc(var(--bar-height) + var(--space-1)); right: var(--space-4); }
    }
    @media print { :host { display: none; } }
  `];

  @property({ attribute: false }) who: Whoami | null = null;
  /** Null: none of them can be gone to now. */
  @property() view: Place['view'] | null = null;
  @property({ type: Boolean }) canChangePassword = false;
  /** Product and person are the host's affair. */
  @property({ type: Boolean }) hasAccount = false;
  /** The page is a part of another one. */
  @property({ type: Boolean }) canOpenWindow = false;
  /** Of the service, for who may install it. */
  @property({ attribute: false }) newVersion: AvailableVersion | null = null;

  private readonly account = new Disclosure(this, '.who', '.me');

  override render() {
    return html`<header>
      ${this.hasAccount ? nothing : html`<span class="brand">${logo(28)}<span>${strings.product}</span></span>`}
      ${this.view === null ? nothing : html`<nav aria-label=${strings.header.views}>${VIEWS.map((view) => html`<a href=${writeAddress({ ...FIRST_PLACE, view })} aria-current=${view === this.view ? 'page' : nothing}>${strings.header.view[view]}</a>`)}</nav>`}
      ${this.newVersion === null ? nothing : html`<kaas-new-version .available=${this.newVersion} @kaas-put-away=${() => this.takeFocus()}></kaas-new-version>`}
      ${this.canOpenWindow ? html`<button type="button" class="window" title=${strings.header.openWindow} @click=${() => this.tell('kaas-open-window')}>${externalIcon}<span>${strings.header.openWindow}</span></button>` : nothing}
      ${this.hasAccount ? nothing : this.renderPerson()}
    </header>`;
  }

  private renderPerson() {
    const { account } = this;
    return html`<div class="who" @keydown=${account.onKey} @focusout=${account.onFocusOut}>
        <button type="button" class="me" aria-expanded=${account.isOpen} aria-controls="account" title=${this.who?.name ?? strings.header.account} @click=${account.toggle}>${this.renderName()}${openIcon}</button>
        <section id="account" class="account card" tabindex="-1" aria-label=${strings.header.account} ?hidden=${!account.isOpen}>${account.isOpen ? this.renderAccount() : nothing}</section>
      </div>`;
  }

  /** Whose name the service has not told yet can sign out all the same. */
  private renderName() {
    const { who } = this;
    if (!who) return html`${personIcon}<span class="sr-only">${strings.header.account}</span>`;
    return html`${personIcon}<span class="lines"><bdi class="name">${who.name}</bdi> <span class="role">${strings.header.role[who.role] ?? who.role}</span></span>`;
  }

  private renderAccount() {
    return html`${this.who ? html`<div class="facts" role="group" tabindex="0" aria-label=${strings.header.account}>${this.renderWho(this.who)}</div>` : nothing}
      <div class="deeds">
        ${this.canChangePassword ? html`<button type="button" @click=${() => this.tell('kaas-change-password')}>${keyIcon}${strings.header.changePassword}</button>` : nothing}
        <button type="button" @click=${() => this.tell('kaas-sign-out')}>${signOutIcon}${strings.header.signOut}</button>
      </div>`;
  }

  private renderWho(who: Whoami) {
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

  private takeFocus() {
    this.renderRoot.querySelector<HTMLElement>('.me, nav a[aria-current]')?.focus();
  }

  private tell(name: string) {
    this.account.close();
    this.dispatchEvent(new CustomEvent(name, { bubbles: true, composed: true }));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-header': Header;
  }
}
