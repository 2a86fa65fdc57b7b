// The page: the sign-in form, the form for another password, or the list, as the session says.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { ApiClient } from '../api/client.js';
import type { PasswordChange } from '../api/types.js';
import '../parts/header.js';
import '../parts/notice.js';
import type { Session, SessionState } from '../session/session.js';
import { remember } from '../session/tab-memory.js';
import { strings } from '../strings/index.js';
import './change-password.js';
import './cluster-list.js';
import './sign-in.js';

type SignedIn = Extract<SessionState, { signedIn: true }>;

@customElement('kaas-app')
export class App extends LitElement {
  static override styles = css`
    .slow { position: fixed; z-index: 20; left: 16px; right: 16px; bottom: 16px; display: grid; justify-content: center; pointer-events: none; }
    .slow kaas-notice { box-shadow: var(--shadow); }
  `;

  @property({ attribute: false }) api: ApiClient | null = null;
  @property({ attribute: false }) session: Session | null = null;

  /** By one's own wish. */
  @state() private changing = false;
  @state() private notice = '';
  @state() private isSlow = false;

  private unsubscribe: (() => void) | undefined;

  override willUpdate(changed: Map<PropertyKey, unknown>) {
    if (changed.has('api') && this.api) this.api.onSlow = (isSlow) => (this.isSlow = isSlow);
    if (!changed.has('session')) return;
    this.unsubscribe?.();
    this.unsubscribe = this.session?.subscribe(() => this.onSession());
  }

  override render() {
    const { session, api } = this;
    if (!session || !api) return nothing;
    document.title = this.titleOf(session.state);
    return html`${this.renderView(session, api)}
      <div class="slow" role="status">${this.isSlow ? html`<kaas-notice tone="busy">${strings.error.stillWaiting}</kaas-notice>` : nothing}</div>`;
  }

  private renderView(session: Session, api: ApiClient) {
    if (!session.state.signedIn) return html`<kaas-sign-in .api=${api} .session=${session} .reason=${session.state.reason}></kaas-sign-in>`;
    const { who, mustChange } = session.state;
    const form = mustChange || this.changing;
    return html`<kaas-header .who=${who} .canChangePassword=${who?.source === 'local' && !form}
        @kaas-change-password=${this.wish} @kaas-sign-out=${() => this.signOut(session)}></kaas-header>
      ${form ? this.renderForm(session, session.state) : html`<kaas-cluster-list .api=${api} .viewerRole=${who?.role ?? null} .notice=${this.notice}></kaas-cluster-list>`}`;
  }

  private renderForm(session: Session, { who, mustChange }: SignedIn) {
    return html`<kaas-change-password .due=${mustChange} .userName=${who?.name ?? ''}
      .change=${(change: PasswordChange) => this.change(session, change)} @kaas-cancel=${() => (this.changing = false)}></kaas-change-password>`;
  }

  private titleOf(state: SessionState): string {
    if (!state.signedIn) return strings.signIn.documentTitle;
    return state.mustChange || this.changing ? strings.changePassword.documentTitle : strings.list.documentTitle;
  }

  private wish() {
    this.notice = '';
    this.changing = true;
  }

  private signOut(session: Session) {
    remember('signed-out', '1');
    return session.signOut();
  }

  private async change(session: Session, change: PasswordChange) {
    await session.changePassword(change);
    this.changing = false;
    this.notice = strings.changePassword.done;
  }

  /** What one person was about does not wait for the next. */
  private onSession() {
    if (!this.session?.state.signedIn) {
      this.changing = false;
      this.notice = '';
    }
    this.requestUpdate();
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-app': App;
  }
}
