// The form for another password of a local account. The passwords live in the fields and in one request, nowhere else.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import type { PasswordChange } from '../api/types.js';
import { CHANGE_PASSWORD_FIELDS, faultsOf, firstFault, type ChangePasswordField, type ChangePasswordForm } from '../model/change-password-form.js';
import { describeChangePasswordFailure, type ChangePasswordFailure } from '../model/failure-text.js';
import '../parts/notice.js';
import { strings } from '../strings/index.js';
import { formStyles } from '../styles/form.js';
import { shared } from '../styles/shared.js';


@customElement('kaas-change-password')
export class ChangePassword extends LitElement {
  static override styles = [shared, formStyles, css`
    :host { display: block; }
    main { max-width: 472px; margin: 0 auto; padding: clamp(var(--space-4), 6vh, var(--space-6)) var(--space-4) var(--space-6); }
    /* A live region must be there before it speaks. */
    .hint:empty { display: block; margin: 0; }
    .buttons { display: flex; flex-wrap: wrap; gap: var(--space-2); margin-top: var(--space-2); }
    .buttons button { margin: 0; flex: 1 1 auto; }
    .buttons .primary { flex-grow: 100; }
  `];

  /** Does it; throws what the api client throws. Whoever placed this takes it away afterwards. */
  @property({ attribute: false }) change!: (change: PasswordChange) => Promise<void>;
  /** For the browser's store of passwords. */
  @property() userName = '';
  /** Nothing else is allowed before: says why, and cannot be left but by signing out. */
  @property({ type: Boolean }) due = false;

  @state() private busy = false;
  @state() private failure: Extract<ChangePasswordFailure, { field: null }> | null = null;
  @state() private faults: Partial<Record<ChangePasswordField, string>> = {};

  @query('form') private form!: HTMLFormElement;

  override firstUpdated() {
    this.field('old').focus();
  }

  override render() {
    return html`<main>
      <form class="card" novalidate aria-labelledby="title" @submit=${this.submit}>
        <h1 id="title">${strings.changePassword.title}</h1>
        ${this.renderMessages()}
        <input type="text" name="username" autocomplete="username" .value=${this.userName} readonly hidden />
        ${this.renderField('old', strings.changePassword.old, '')}
        ${this.renderField('fresh', strings.changePassword.fresh, strings.changePassword.freshHint)}
        ${this.renderField('again', strings.changePassword.again, '')}
        <div class="buttons">
          <button class="primary" type="submit" ?disabled=${this.busy}>${this.busy ? strings.changePassword.busy : strings.changePassword.submit}</button>
          ${this.due ? nothing : html`<button type="button" ?disabled=${this.busy} @click=${this.cancel}>${strings.changePassword.cancel}</button>`}
        </div>
      </form>
    </main>`;
  }

  private renderMessages() {
    const { failure } = this;
    return html`<div role="alert">
      ${this.due && !failure ? html`<kaas-notice tone="warning">${strings.changePassword.due}</kaas-notice>` : nothing}
      ${failure ? html`<kaas-notice tone="bad" heading=${failure.title} .failure=${failure.text}></kaas-notice>` : nothing}
    </div>`;
  }

  private renderField(name: ChangePasswordField, label: string, hint: string) {
    const fault = this.faults[name];
    return html`<div class="field">
      <label for=${name}>${label}</label>
      <input id=${name} name=${name} type="password" autocomplete=${name === 'old' ? 'current-password' : 'new-password'} autocapitalize="none"
        spellcheck="false" required aria-invalid=${fault !== undefined} aria-describedby="${name}-hint" @input=${() => this.accept(name)} />
      <p id="${name}-hint" class="hint ${fault ? 'missing' : 'soft'}" aria-live="polite">${fault ?? hint}</p>
    </div>`;
  }

  /** What was wrong with a field is no longer true when it is written in. */
  private accept(name: ChangePasswordField) {
    const { [name]: _, ...rest } = this.faults;
    this.faults = rest;
  }

  private async submit(event: Event) {
    event.preventDefault();
    if (this.busy) return;
    const form = this.read();
    const faults = faultsOf(form);
    const wrong = firstFault(faults);
    this.failure = null;
    this.faults = Object.fromEntries(Object.entries(faults).map(([name, fault]) => [name, strings.changePassword.fault[fault]]));
    if (wrong) return this.field(wrong).focus();
    this.busy = true;
    try {
      await this.change({ old_password: form.old, new_password: form.fresh });
      this.form.reset();
    } catch (error) {
      await this.refuse(describeChangePasswordFailure(error));
    } finally {
      this.busy = false;
    }
  }

  /** A wrong old password is emptied; the new one was entered twice and stays, unless it is what was refused. */
  private async refuse(failure: ChangePasswordFailure) {
    const emptied: ChangePasswordField[] = failure.field === 'fresh' ? ['fresh', 'again'] : failure.field === 'old' ? ['old'] : [];
    for (const name of emptied) this.field(name).value = '';
    if (failure.field === null) this.failure = failure;
    else this.faults = { [failure.field]: failure.fault };
    await this.updateComplete;
    this.field(failure.field ?? 'old').focus();
  }

  private cancel() {
    this.form.reset();
    this.dispatchEvent(new CustomEvent('kaas-cancel'));
  }

  private read(): ChangePasswordForm {
    const [old, fresh, again] = CHANGE_PASSWORD_FIELDS.map((name) => this.field(name).value);
    return { old: old ?? '', fresh: fresh ?? '', again: again ?? '' };
  }

  private field(name: ChangePasswordField): HTMLInputElement {
    return this.renderRoot.querySelector<HTMLInputElement>(`#${name}`)!;
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-change-password': ChangePassword;
  }
}
