// The page: the sign-in form, the form for another password, or the list, as the session says.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing, type TemplateResult } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import { keyed } from 'lit/directives/keyed.js';
import { until } from 'lit/directives/until.js';
import type { ApiClient } from '../api/client.js';
import { ApiError } from '../api/error.js';
import type { AvailableVersion, CardSubject, ClusterScope, PasswordChange, Role, Whoami } from '../api/types.js';
import { addCode } from '../hosts/code.js';
import { FIRST_PLACE, readAddress, writeAddress, type Place } from '../model/address.js';
import '../parts/header.js';
import '../parts/notice.js';
import type { Session, SessionState } from '../session/session.js';
import { remember } from '../session/memory.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import type { Card } from './card.js';
import './card.js';
import './change-password.js';
import type { ClusterDetail } from './cluster-detail.js';
import './cluster-detail.js';
import type { ClusterList, Connects, QueryChange } from './cluster-list.js';
import './cluster-list.js';
import './nowhere.js';
import type { Overview } from './overview.js';
import './overview.js';
import './sign-in.js';

/** Who is signed in at this browser, and who would be. */
interface Question {
  now: Whoami;
  next: Whoami;
  answer: (goesOn: boolean) => void;
}

type SignedIn = Extract<SessionState, { signedIn: true }>;

@customElement('kaas-app')
export class App extends LitElement {
  static override styles = [shared, css`
    .slow { position: fixed; z-index: 20; inset: auto var(--space-4) var(--space-4); display: grid; justify-content: center; pointer-events: none; }
    .trying { display: grid; place-items: center; min-height: 50vh; color: var(--text-soft); }
    .closed { padding: var(--space-4) var(--space-5) 0; }
    .slow kaas-notice { box-shadow: var(--shadow); }
    .client { display: grid; justify-items: start; gap: var(--space-3); max-width: 70ch; padding: var(--space-5); }
    .client dl { margin: 0; }
    .client dd { margin: 0 0 var(--space-2); overflow-wrap: anywhere; }
    .answers { display: flex; flex-wrap: wrap; gap: var(--space-2); }
  `];

  @property({ attribute: false }) api: ApiClient | null = null;
  @property({ attribute: false }) session: Session | null = null;
  /** As its host has it (start.ts). */
  @property({ type: Boolean }) isFramed = false;
  @property({ type: Boolean }) hasAccount = false;
  @property({ attribute: false }) scope: ClusterScope | null = null;
  @property({ attribute: false }) card: CardSubject | null = null;
  /** Instance UUIDs of linked vCenters of whose clusters nothing is known here. */
  @property({ attribute: false }) closedVcenters: readonly string[] = [];
  @property({ attribute: false }) openVm: ((clientUrl: string) => void) | null = null;

  /** Address of the page in a tab of its own, for who opens one that is made for a frame; null: this is in its place. */
  @property({ attribute: false }) ownPage: string | null = null;

  /** By one's own wish: the form where the host has not said who is there. */
  @state() private byPassword = false;
  /** By one's own wish. */
  @state() private changing = false;
  @state() private notice = '';
  @state() private isSlow = false;
  @state() private newVersion: AvailableVersion | null = null;

  @state() private question: Question | null = null;

  @state() private place: Place = readAddress(location.hash, location.search);

  private connectForm: Promise<TemplateResult> | null = null;
  /** The cluster whose details were open before. */
  private cameFrom = '';
  /** Id of the administrator for whom a newer version was looked for. */
  private lookedFor = '';
  private unsubscribe: (() => void) | undefined;
  /** Somebody has followed a link, gone back or forth, or written an address. */
  private readonly onAddress = (): void => {
    this.cameFrom = this.place.id ?? '';
    this.place = readAddress(location.hash);
    this.notice = '';
    window.scrollTo({ top: 0 });
  };

  private readonly onVm = (event: Event): void => {
    if (this.openVm === null) return;
    event.preventDefault();
    this.openVm((event as CustomEvent<string>).detail);
  };

  override connectedCallback() {
    super.connectedCallback();
    window.addEventListener('hashchange', this.onAddress);
    this.addEventListener('kaas-open-vm', this.onVm);
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    window.removeEventListener('hashchange', this.onAddress);
    this.removeEventListener('kaas-open-vm', this.onVm);
  }

  override willUpdate(changed: Map<PropertyKey, unknown>) {
    if (changed.has('api') && this.api) this.api.onSlow = (isSlow) => (this.isSlow = isSlow);
    if (!changed.has('session')) return;
    this.takeOverSearch();
    this.unsubscribe?.();
    this.unsubscribe = this.session?.subscribe(() => this.onSession());
  }

  override render() {
    const { session, api } = this;
    if (!session || !api) return nothing;
    if (this.place.id === null || !this.isInside(session.state)) document.title = this.titleOf(session.state);
    return html`${this.renderView(session, api)}
      <div class="slow" role="status">${this.isSlow ? html`<kaas-notice tone="busy">${strings.error.stillWaiting}</kaas-notice>` : nothing}</div>`;
  }

  private renderView(session: Session, api: ApiClient) {
    if (this.question !== null) return this.renderQuestion(this.question);
    if (!session.state.signedIn && session.isTrying) return html`<main class="trying"><p role="status">${strings.signIn.trying}</p></main>`;
    if (this.card) return session.state.signedIn ? html`<kaas-card .api=${api} .subject=${this.card}></kaas-card>` : html`<main class="trying"><p>${strings.card.signedOut}</p></main>`;
    if (!session.state.signedIn) return this.hasAccount && !this.byPassword ? this.renderClientOver() : html`${this.renderOwnPage()}<kaas-sign-in .api=${api} .session=${session} .reason=${session.state.reason}></kaas-sign-in>`;
    const { who, mustChange } = session.state;
    const form = mustChange || this.changing;
    return html`${this.scope ? nothing : this.renderHeader(session, api, session.state)}${this.scope ? nothing : this.renderClosed()}
      ${form ? this.renderForm(session, session.state) : this.renderPlace(api, who?.role ?? null)}`;
  }

  /** Before one person's session takes another's place. */
  readonly askWhoGoesOn = async (now: Whoami, next: Whoami): Promise<boolean> => {
    const goesOn = await new Promise<boolean>((answer) => (this.question = { now, next, answer }));
    this.question = null;
    return goesOn;
  };

  private renderQuestion({ now, next, answer }: Question) {
    const isNamesake = now.name === next.name;
    const tell = ({ name, method, directory, id }: Whoami) => html`<dd><bdi>${name}</bdi> <span class="soft">${strings.header.method(method, directory)}${isNamesake ? ` · ${id}` : ''}</span></dd>`;
    return html`<main class="client"><h1>${strings.whoGoesOn.title(next.name)}</h1><p>${strings.whoGoesOn.text}</p>
      <dl><dt>${strings.whoGoesOn.now}</dt>${tell(now)}<dt>${strings.whoGoesOn.next}</dt>${tell(next)}</dl>
      <div class="answers"><button type="button" class="primary" @click=${() => answer(false)}>${strings.whoGoesOn.stay(now.name)}</button>
        <button type="button" @click=${() => answer(true)}>${strings.whoGoesOn.goOn(next.name)}</button></div></main>`;
  }

  private renderClientOver() {
    return html`<main class="client"><h1>${strings.clientOver.title}</h1><p>${strings.clientOver.text}</p>
      <button type="button" @click=${() => (this.byPassword = true)}>${strings.clientOver.byPassword}</button></main>`;
  }

  private renderOwnPage() {
    if (this.ownPage === null) return nothing;
    return html`<aside class="closed"><kaas-notice>${strings.ownPage.text} <a href=${this.ownPage}>${strings.ownPage.link}</a></kaas-notice></aside>`;
  }

  /** What shows one vSphere cluster has nothing to go to. */
  private renderHeader(session: Session, api: ApiClient, { who, mustChange }: SignedIn) {
    const form = mustChange || this.changing;
    return html`<kaas-header .who=${who} .hasAccount=${this.hasAccount} .newVersion=${form ? null : this.newVersion} .view=${form ? null : this.place.view} .canChangePassword=${who?.source === 'local' && !form}
        .canOpenWindow=${this.isFramed && !this.hasAccount && !form} @kaas-open-window=${() => this.openWindow(api, this.place)} @kaas-change-password=${this.wish} @kaas-sign-out=${() => this.signOut(session)}></kaas-header>`;
  }

  private renderClosed() {
    if (this.closedVcenters.length === 0) return nothing;
    return html`<aside class="closed"><kaas-notice tone="warning" heading=${strings.closed.title}>${strings.closed.text(this.closedVcenters)}</kaas-notice></aside>`;
  }

  private renderPlace(api: ApiClient, role: Role | null) {
    const { view, id, part, query } = this.place;
    if (view === 'nowhere' || (view === 'connect' && (this.isFramed || (role !== null && role !== 'admin')))) return html`<kaas-nowhere></kaas-nowhere>`;
    if (view === 'connect') return role === null ? nothing : this.renderConnect(api);
    if (view === 'overview') return html`<kaas-overview .api=${api} .viewerRole=${role}></kaas-overview>`;
    if (id === null) {
      return html`<kaas-cluster-list .api=${api} .scope=${this.scope} .viewerRole=${role} .notice=${this.notice} .asked=${query} .cameFrom=${this.cameFrom} .connects=${this.connects(role)}
        @kaas-connect=${() => this.openWindow(api, { ...FIRST_PLACE, view: 'connect' })} @kaas-query=${(event: CustomEvent<QueryChange>) => this.keep(event.detail)}></kaas-cluster-list>`;
    }
    return keyed(id, html`<kaas-cluster-detail .api=${api} .viewerRole=${role} .canAct=${role === 'admin' && !this.isFramed} .clusterId=${id} .openPart=${part} .asked=${query}
      @kaas-title=${(event: CustomEvent<string>) => (document.title = event.detail)}></kaas-cluster-detail>`);
  }

  /** Most people never open it: it is loaded when somebody does. */
  private renderConnect(api: ApiClient) {
    this.connectForm ??= import('./connect.js').then(
      () => html`<kaas-connect .api=${api}></kaas-connect>`,
      () => html`<main class="client"><h1>${strings.connect.title}</h1><kaas-notice tone="bad">${strings.error.unreachable}</kaas-notice>
        <button type="button" @click=${() => location.reload()}>${strings.error.retry}</button></main>`);
    return html`${until(this.connectForm, nothing)}`;
  }

  /** How an administrator gets to the form that connects a cluster: in a frame by a window of the page's own, which the vSphere Client does not know the address of. */
  private connects(role: Role | null): Connects {
    if (role !== 'admin' || this.hasAccount) return null;
    return this.isFramed ? 'window' : 'here';
  }

  /** What is shown, anew. */
  refresh(): void {
    this.renderRoot.querySelector<Card | ClusterList | ClusterDetail | Overview>('kaas-card, kaas-cluster-list, kaas-cluster-detail, kaas-overview')?.refresh();
  }

  /** What a page in a frame was told stays for when the frame is loaded again; in a window of its own the part behind `?` has been taken over. */
  private get pathname(): string {
    return this.isFramed ? location.pathname + location.search : location.pathname;
  }

  /**
   * The address names what is shown, so that it can be loaded again, kept and passed on. What somebody chooses in the list is a step that the browser's
   * Back undoes; a word that is typed takes the place of the one before. In a frame the steps are those of the whole window: Back leads out of the page of
   * the host that shows it, not through filters, and a frame that is taken away leaves no step behind that leads nowhere. What is opened there by a link
   * (a cluster, the overview) is a step all the same.
   */
  private keep({ query, isStep }: QueryChange) {
    this.place = { ...this.place, query };
    const address = this.pathname + writeAddress(this.place);
    if (isStep && !this.isFramed) history.pushState(null, '', address);
    else history.replaceState(null, '', address);
  }

  /** What stands in front of the `#` names the first place only: written behind it, who comes back to this step finds it there. */
  private takeOverSearch() {
    if (JSON.stringify(readAddress(location.hash)) !== JSON.stringify(this.place)) history.replaceState(null, '', this.pathname + writeAddress(this.place));
  }

  private renderForm(session: Session, { who, mustChange }: SignedIn) {
    return html`<kaas-change-password .due=${mustChange} .userName=${who?.name ?? ''}
      .change=${(change: PasswordChange) => this.change(session, change)} @kaas-cancel=${() => (this.changing = false)}></kaas-change-password>`;
  }

  /** Does the session show more than a form? */
  private isInside(state: SessionState): boolean {
    return state.signedIn && !state.mustChange && !this.changing;
  }

  private titleOf(state: SessionState): string {
    if (!state.signedIn) return strings.signIn.documentTitle;
    if (state.mustChange || this.changing) return strings.changePassword.documentTitle;
    return { clusters: strings.list, overview: strings.overview, connect: strings.connect, nowhere: strings.nowhere }[this.place.view].documentTitle;
  }

  private wish() {
    this.notice = '';
    this.changing = true;
  }

  /** Where no code is to be had, the window asks for a password. */
  private async openWindow(api: ApiClient, place: Place) {
    const hash = writeAddress(place);
    let address = new URL(`./${hash}`, document.baseURI).href;
    try {
      address = addCode(hash, await api.makeCode());
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
    window.open(address, '_blank', 'noopener,noreferrer');
  }

  /** Who comes next begins at the front. */
  private signOut(session: Session) {
    remember('signed-out', '1');
    this.place = FIRST_PLACE;
    history.replaceState(null, '', this.pathname);
    return session.signOut();
  }

  private async change(session: Session, change: PasswordChange) {
    await session.changePassword(change);
    this.changing = false;
    this.notice = strings.changePassword.done;
  }

  /** Once for each sign-in, where there is a bar that shows it. That nothing is to be had is no matter. */
  private async lookForVersion({ who, mustChange }: SignedIn) {
    if (who?.role !== 'admin' || mustChange || this.scope !== null || this.card !== null || this.lookedFor === who.id) return;
    this.lookedFor = who.id;
    try {
      const found = (await this.api?.getNewVersion()) ?? null;
      if (this.lookedFor === who.id) this.newVersion = found;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }

  /** What one person was about does not wait for the next. */
  private onSession() {
    const state = this.session?.state;
    if (state?.signedIn) {
      this.byPassword = false;
      void this.lookForVersion(state);
    } else {
      this.changing = false;
      this.notice = '';
      this.lookedFor = '';
      this.newVersion = null;
    }
    this.requestUpdate();
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-app': App;
  }
}
