// The sign-in form: Kerberos where the service offers it; else whose account, name, password. The password lives in the field and in
// one request, nowhere else.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, html, nothing } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import type { ApiClient } from '../api/client.js';
import { ApiError, isAborted } from '../api/error.js';
import type { LoginWays } from '../api/types.js';
import { describeKerberosFailure, describeSignInFailure, isQuietKerberosFailure, type FailureText } from '../model/failure-text.js';
import {
  USUAL_WAYS, accountsOf, directoryOf, firstAccount, missingFields, sourceOf, type Account, type MustField, type SignInField, type SignInForm,
} from '../model/sign-in-form.js';
import { logo } from '../parts/icons.js';
import '../parts/notice.js';
import type { EndReason, Session } from '../session/session.js';
import { recall, remember } from '../session/memory.js';
import { strings } from '../strings/index.js';
import { formStyles } from '../styles/form.js';
import { shared } from '../styles/shared.js';
import { signInStyles } from '../styles/sign-in.js';

/** As the service takes them; a vCenter is a host name with a port. */
const MAX_LENGTH: Record<SignInField, number> = { vcenter: 259, username: 256, password: 1024 };
/** What was typed, but for the password, by who signed in last on this page: when the session ends by itself, it is most likely the same person again. */
let typedLast: Omit<SignInForm, 'password'> | null = null;

/** So many accounts stand side by side; more are a list to choose from. */
const SIDE_BY_SIDE = 2;

@customElement('kaas-sign-in')
export class SignIn extends LitElement {
  static override styles = [shared, formStyles, signInStyles];

  @property({ attribute: false }) api!: ApiClient;
  @property({ attribute: false }) session!: Session;
  @property() reason: EndReason = 'first';

  /** Null until the service has said. */
  @state() private ways: LoginWays | null = null;
  @state() private account: Account = 'local';
  @state() private busy: 'password' | 'kerberos' | null = null;
  /** `by`: beside what it is told. */
  @state() private failure: { by: 'password' | 'kerberos'; text: FailureText; isWrong: boolean } | null = null;
  @state() private missing: readonly MustField[] = [];
  /** The password can be read, by one's own wish and until it is sent. */
  @state() private isShown = false;

  @query('form') private form!: HTMLFormElement;

  private attempt: AbortController | null = null;

  override async firstUpdated() {
    if (this.reason === 'signed-out' || this.reason === 'signed-out-here-only') typedLast = null;
    await this.learnWays();
    if (!this.isConnected) return;
    await this.updateComplete;
    this.fill(typedLast);
    this.focusField(typedLast ? 'password' : 'username');
    if (this.ways?.kerberos === 'auto' && this.reason === 'first' && recall('signed-out') === null) await this.useKerberos(true);
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    this.attempt?.abort();
  }

  override render() {
    return html`<main>
      <div class="brand">${logo(44)}<div><p class="product">${strings.product}</p><p class="soft">${strings.tagline}</p></div></div>
      <div class="card" aria-busy=${this.ways === null}>
        <h1 id="title">${strings.signIn.title}</h1>
        ${this.renderMessages()}
        ${this.ways ? this.renderWays(this.ways) : html`<p class="soft" role="status">${strings.signIn.waiting}</p>`}
      </div>
    </main>`;
  }

  private renderWays(ways: LoginWays) {
    return html`${ways.kerberos === 'off' ? nothing : this.renderKerberos()}
      <form novalidate aria-labelledby="title" @submit=${this.submit}>
        ${this.renderAccounts(accountsOf(ways))}
        ${this.renderField('vcenter', strings.signIn.vcenterAddress, strings.signIn.vcenterHint, this.account !== 'vcenter')}
        ${this.renderField('username', strings.signIn.username, this.usernameHint())}
        ${this.renderField('password', strings.signIn.password, '')}
        <div id="failure" role="alert">${this.renderFailure('password')}</div>
        <button class="primary" type="submit" ?disabled=${this.busy === 'password'}>${this.busy === 'password' ? strings.signIn.busy : strings.signIn.submit}</button>
      </form>`;
  }

  private renderMessages() {
    const ended = strings.ended[this.reason];
    const quiet = this.reason === 'signed-out';
    return html`<div role="alert">
      ${ended && !this.failure ? html`<kaas-notice .tone=${quiet ? 'good' : 'warning'}>${ended}</kaas-notice>` : nothing}
      ${this.renderFailure('kerberos')}
    </div>`;
  }

  private renderFailure(by: 'password' | 'kerberos') {
    if (this.failure?.by !== by) return nothing;
    return html`<kaas-notice tone="bad" heading=${strings.error.signInTitle} .failure=${this.failure.text}></kaas-notice>`;
  }

  private renderKerberos() {
    const busy = this.busy === 'kerberos';
    return html`<div class="kerberos">
      <button type="button" aria-describedby="kerberos-hint" ?disabled=${this.busy !== null} @click=${() => this.useKerberos(false)}>
        ${busy ? strings.signIn.kerberosBusy : strings.signIn.kerberos}
      </button>
      <p id="kerberos-hint" class="hint soft">${strings.signIn.kerberosHint}</p>
    </div>
    <p class="or soft"><span>${strings.signIn.or}</span></p>`;
  }

  private renderAccounts(accounts: Account[]) {
    if (accounts.length < 2) return nothing;
    if (accounts.length > SIDE_BY_SIDE) return this.renderAccountList(accounts);
    const option = (value: Account) => html`<label>
      <input type="radio" name="account" value=${value} .checked=${this.account === value} @change=${() => this.choose(value)} /><span>${labelOf(value)}</span>
    </label>`;
    return html`<fieldset><legend>${strings.signIn.account}</legend><div class="choice">${accounts.map(option)}</div></fieldset>`;
  }

  private renderAccountList(accounts: Account[]) {
    const option = (value: Account) => html`<option value=${value} ?selected=${this.account === value}>${labelOf(value)}</option>`;
    return html`<div class="field">
      <label for="account">${strings.signIn.account}</label>
      <select id="account" name="account" @change=${this.onAccount}>${accounts.map(option)}</select>
    </div>`;
  }

  /** A field that is hidden keeps what was typed. */
  private renderField(name: SignInField, label: string, hint: string, isHidden = false) {
    const missing = this.missing.find((each) => each === name);
    const isPassword = name === 'password';
    const isWrong = missing !== undefined || (isPassword && this.failure?.isWrong === true);
    const autocomplete = { vcenter: 'off', username: 'username', password: 'current-password' } as const;
    return html`<div class="field" ?hidden=${isHidden}>
      <label for=${name}>${label}</label>
      <input id=${name} name=${name} type=${isPassword && !this.isShown ? 'password' : 'text'} autocomplete=${autocomplete[name]} autocapitalize="none"
        spellcheck="false" ?required=${name !== 'vcenter'} maxlength=${MAX_LENGTH[name]} aria-invalid=${isWrong} aria-describedby=${isPassword ? 'password-hint failure' : `${name}-hint`} />
      ${isPassword ? html`<button type="button" class="plain" aria-controls="password" @click=${() => (this.isShown = !this.isShown)}>${this.isShown ? strings.signIn.hide : strings.signIn.show}</button>` : nothing}
      <p id="${name}-hint" class="hint ${missing ? 'missing' : 'soft'}">${missing ? strings.signIn.missing[missing] : hint}</p>
    </div>`;
  }

  private usernameHint(): string {
    if (this.account === 'vcenter') return strings.signIn.usernameHintVcenter;
    return directoryOf(this.account) === null ? '' : strings.signIn.usernameHintDirectory;
  }

  private async learnWays() {
    let ways = USUAL_WAYS;
    try {
      ways = await this.api.loginWays();
    } catch (error) {
      // The usual form is as good as it was; what is wrong shows when it is sent.
      if (!(error instanceof ApiError)) throw error;
    }
    this.account = firstAccount(accountsOf(ways), typedLast?.account ?? recall('account'));
    this.ways = ways;
  }

  private onAccount(event: Event) {
    this.choose((event.target as HTMLSelectElement).value as Account);
  }

  private choose(account: Account) {
    this.account = account;
    this.failure = null;
    this.missing = [];
  }

  /** `byItself`: nobody has asked for it, so that it did not work is told only where somebody has to know. */
  private async useKerberos(byItself: boolean) {
    const attempt = new AbortController();
    this.attempt = attempt;
    this.busy = 'kerberos';
    this.failure = null;
    try {
      await this.session.signInKerberos(attempt.signal);
      typedLast = null;
      remember('signed-out', null);
    } catch (error) {
      if (isAborted(error)) return;
      this.failure = byItself && isQuietKerberosFailure(error) ? null : { by: 'kerberos', text: describeKerberosFailure(error), isWrong: false };
    } finally {
      if (this.attempt === attempt) this.attempt = null;
      if (this.busy === 'kerberos') this.busy = null;
    }
  }

  private async submit(event: Event) {
    event.preventDefault();
    if (this.busy === 'password') return;
    const form = this.read();
    this.missing = missingFields(form);
    const [first] = this.missing;
    if (first) return this.focusField(first);
    this.attempt?.abort();
    this.busy = 'password';
    this.failure = null;
    this.isShown = false;
    try {
      await this.session.signIn({ username: form.username, password: form.password, source: sourceOf(form) });
      const { password: _, ...typed } = form;
      typedLast = typed;
      remember('account', form.account);
      remember('signed-out', null);
      this.form?.reset();
    } catch (error) {
      await this.refuse(error, form);
    } finally {
      this.busy = null;
    }
  }

  /** All but the password stays: what is wrong is mended, not typed again. */
  private async refuse(error: unknown, form: SignInForm) {
    const isWrong = error instanceof ApiError && error.code === 'invalid_credentials';
    this.failure = { by: 'password', text: describeSignInFailure(error, form), isWrong };
    this.fill({ password: '' });
    await this.updateComplete;
    this.focusField('password');
  }

  private fill(values: Partial<Record<SignInField, string>> | null) {
    for (const name of ['vcenter', 'username', 'password'] as const) {
      const field = this.field(name);
      if (field && values?.[name] !== undefined) field.value = values[name];
    }
  }

  private read(): SignInForm {
    return {
      account: this.account,
      vcenter: this.field('vcenter')?.value.trim() ?? '',
      username: this.field('username')?.value.trim() ?? '',
      password: this.field('password')?.value ?? '',
    };
  }

  private field(name: SignInField): HTMLInputElement | null {
    return this.renderRoot.querySelector<HTMLInputElement>(`#${name}`);
  }

  private focusField(name: SignInField) {
    this.field(name)?.focus();
  }
}

function labelOf(account: Account): string {
  const directory = directoryOf(account);
  if (directory !== null) return strings.signIn.directory(directory);
  return account === 'vcenter' ? strings.signIn.vcenter : strings.signIn.local;
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-sign-in': SignIn;
  }
}
