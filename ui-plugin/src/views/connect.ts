// The form that connects a Kubernetes cluster, for administrators. What signs in to the cluster lives in a field and in one request, nowhere else.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import type { ApiClient } from '../api/client.js';
import { ApiError, isAborted, isSessionOver } from '../api/error.js';
import type { Certificate, ConnectRequest, ConnectStep } from '../api/types.js';
import { FIRST_PLACE, listAddress, writeAddress } from '../model/address.js';
import { KUBECONFIG_BYTES_MAX, askedOf, faultOf, type Asked, type KubeconfigFault } from '../model/connect-form.js';
import { describeConnectFailure, type ConnectDeed, type ConnectFailure } from '../model/failure-text.js';
import { backIcon } from '../parts/icons.js';
import '../parts/notice.js';
import '../parts/steps.js';
import { strings } from '../strings/index.js';
import { detailStyles } from '../styles/detail.js';
import { formStyles } from '../styles/form.js';
import { shared } from '../styles/shared.js';

/** On a control plane of kubeadm. */
const COMMAND = 'openssl x509 -in /etc/kubernetes/pki/apiserver.crt -noout -fingerprint -sha256';

const NOTHING_ASKED: Asked = { certificate: null, contexts: null };

@customElement('kaas-connect')
export class Connect extends LitElement {
  static override styles = [shared, detailStyles, formStyles, css`
    .work { display: grid; grid-template-columns: minmax(0, 640px) minmax(0, 1fr); gap: var(--space-4); align-items: start; }
    .intro { max-width: 72ch; }
    textarea {
      display: block; width: 100%; min-height: 200px; padding: var(--space-2); border: 1px solid var(--line-strong); border-radius: var(--radius); background: var(--card); color: inherit;
      font-family: var(--mono); font-size: var(--type-small); resize: vertical;
    }
    textarea:focus-visible { outline-offset: 0; border-color: var(--focus); }
    textarea[aria-invalid='true'], select[aria-invalid='true'] { border-color: var(--bad); }
    textarea.over { outline: 2px dashed var(--focus); outline-offset: 2px; }
    .file button { min-height: var(--control); }
    .buttons { display: flex; flex-wrap: wrap; gap: var(--space-2); }
    .came { display: grid; gap: var(--space-3); }
    /* A live region must be there before it speaks; an empty one takes no room. */
    .came > [role]:not(:has(kaas-notice)) { position: absolute; }
    .came section { padding: var(--space-4); margin: 0; }
    .certificate dl { margin: var(--space-2) 0; grid-template-columns: minmax(0, 1fr); gap: 0; }
    .certificate dd { margin-bottom: var(--space-2); }
    code { font-family: var(--mono); font-size: var(--type-small); overflow-wrap: anywhere; user-select: all; }
    .confirm { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: var(--space-2); align-items: center; min-height: var(--target); font-weight: 600; }
    .confirm input { width: 18px; height: 18px; margin: 0; }
    @media (max-width: 1000px) { .work { grid-template-columns: minmax(0, 1fr); } }
  `];

  @property({ attribute: false }) api!: ApiClient;

  @state() private doing: ConnectDeed | null = null;
  @state() private steps: readonly ConnectStep[] = [];
  @state() private failure: ConnectFailure | null = null;
  /** What went well, and the cluster that is connected now. */
  @state() private done: { deed: ConnectDeed; id: string | null } | null = null;
  @state() private fault: KubeconfigFault | null = null;
  @state() private contexts: Asked['contexts'] = null;
  @state() private isContextAsked = false;
  @state() private certificate: Certificate | null = null;
  /** By the last answer; the two above are those that were asked for so far. */
  @state() private asked: Asked = NOTHING_ASKED;
  @state() private isOver = false;

  @query('form') private form!: HTMLFormElement;
  @query('#kubeconfig') private kubeconfig!: HTMLTextAreaElement;
  @query('#file') private file!: HTMLInputElement;
  @query('h1') private heading!: HTMLElement;

  private running: AbortController | null = null;

  override firstUpdated() {
    this.heading.focus();
  }

  override disconnectedCallback() {
    super.disconnectedCallback();
    this.running?.abort();
  }

  override render() {
    return html`<main aria-busy=${this.doing !== null}>
      <a class="back" href=${listAddress({})}>${backIcon}${strings.connect.back}</a>
      <h1 tabindex="-1">${strings.connect.title}</h1>
      <p class="soft intro">${strings.connect.intro}</p>
      <div class="work">${this.renderForm()}
        <div class="came"><div role="status">${this.renderDone()}</div><div role="alert">${this.renderFailure()}</div>${this.renderSteps()}</div>
      </div>
    </main>`;
  }

  private renderForm() {
    const { doing } = this;
    return html`<form class="card" novalidate autocomplete="off" @submit=${this.submit}>
      <div class="field"><label for="name">${strings.table.column.name}</label>
        <input id="name" name="name" maxlength="50" autocapitalize="none" spellcheck="false" aria-describedby="name-hint" />
        <p id="name-hint" class="hint soft">${strings.connect.nameHint}</p></div>
      ${this.renderKubeconfig()}
      ${this.renderContext()}
      ${this.renderCertificate()}
      <div class="buttons">
        <button class="primary" type="submit" ?disabled=${doing !== null}>${doing === 'connect' ? strings.connect.connecting : strings.connect.connect}</button>
        <button type="button" ?disabled=${doing !== null} @click=${() => this.send('check')}>${doing === 'check' ? strings.connect.checking : strings.connect.check}</button>
      </div>
    </form>`;
  }

  private renderKubeconfig() {
    const { fault } = this;
    return html`<div class="field"><label for="kubeconfig">${strings.connect.kubeconfig}</label>
      <textarea id="kubeconfig" name="kubeconfig" class=${this.isOver ? 'over' : ''} autocomplete="off" autocapitalize="none" spellcheck="false" required aria-invalid=${fault !== null}
        aria-describedby="kubeconfig-hint" @input=${this.forget} @dragover=${this.dragOver} @dragleave=${() => (this.isOver = false)} @drop=${this.drop}></textarea>
      <p id="kubeconfig-hint" class="hint ${fault ? 'missing' : 'soft'}" aria-live="polite">${fault ? strings.connect.fault[fault] : strings.connect.kubeconfigHint}</p>
      <div class="file"><input id="file" type="file" hidden @change=${this.choose} /><button type="button" @click=${() => this.file.click()}>${strings.connect.choose}</button></div></div>`;
  }

  private renderContext() {
    const { contexts, isContextAsked: isAsked } = this;
    const hint = html`<p id="context-hint" class="hint ${isAsked ? 'missing' : 'soft'}" aria-live="polite">${isAsked ? strings.connect.contextFault : strings.connect.contextHint}</p>`;
    const field = contexts?.areAll
      ? html`<select id="context" name="context" aria-invalid=${isAsked} aria-describedby="context-hint" @change=${() => (this.isContextAsked = false)}><option value="">${strings.connect.currentContext}</option>${contexts.names.map((name) => html`<option value=${name}>${name}</option>`)}</select>`
      : html`<input id="context" name="context" maxlength="253" autocapitalize="none" spellcheck="false" aria-invalid=${isAsked} aria-describedby="context-hint" @input=${() => (this.isContextAsked = false)} />`;
    return html`<div class="field"><label for="context">${strings.connect.context}</label>${field}${hint}</div>`;
  }

  private renderCertificate() {
    const { certificate } = this;
    if (certificate === null) return nothing;
    return html`<kaas-notice class="certificate" tone="warning" heading=${strings.connect.unknownCa}>
      <p>${strings.connect.compare}</p><p><code>${COMMAND}</code></p>
      <dl><dt>SHA-256</dt><dd><code>${certificate.sha256}</code></dd><dt>${strings.connect.certificate}</dt><dd><bdi>${strings.connect.issuedBy(certificate.subject, certificate.issuer)}</bdi></dd></dl>
      <label class="confirm"><input type="checkbox" id="confirm" name="confirm" />${strings.connect.confirm}</label>
    </kaas-notice>`;
  }

  private renderDone() {
    const { done } = this;
    if (done === null) return nothing;
    if (done.id === null || done.deed === 'check') return html`<kaas-notice tone="good" heading=${strings.connect.checked}>${strings.connect.checkedText}</kaas-notice>`;
    return html`<kaas-notice tone="good" heading=${strings.connect.connected}><p>${strings.connect.connectedText}</p>
      <p><a href=${writeAddress({ ...FIRST_PLACE, id: done.id })}>${strings.connect.open}</a></p></kaas-notice>`;
  }

  private renderFailure() {
    const { failure } = this;
    return failure ? html`<kaas-notice tone="bad" heading=${failure.title} .failure=${failure.text}></kaas-notice>` : nothing;
  }

  private renderSteps() {
    if (this.steps.length === 0) return nothing;
    // What the service tells to do about these is an option of the command line.
    const { certificate, contexts } = this.asked;
    const cure = certificate ? strings.connect.confirmFirst : contexts ? strings.connect.contextFault : null;
    const steps = this.steps.map((step) => (cure !== null && step.status === 'failed' ? { ...step, remedy: cure } : step));
    return html`<section class="card"><h2>${strings.connect.steps}</h2><kaas-steps .steps=${steps}></kaas-steps></section>`;
  }

  // -- the file ---------------------------------------------------------------------------------------------------------------------

  /** What was found out is of what was there before. */
  private forget() {
    this.fault = null;
    this.contexts = null;
    this.isContextAsked = false;
    this.certificate = null;
  }

  private dragOver(event: DragEvent) {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    this.isOver = true;
  }

  /** Else the browser would open the file in the place of the page. */
  private drop(event: DragEvent) {
    this.isOver = false;
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    void this.read(file);
  }

  /** The same file can be chosen again. */
  private choose() {
    const file = this.file.files?.[0];
    if (file) void this.read(file);
    this.file.value = '';
  }

  private async read(file: File) {
    this.forget();
    if (file.size > KUBECONFIG_BYTES_MAX) {
      this.fault = 'too-long';
      return;
    }
    try {
      this.kubeconfig.value = await file.text();
    } catch {
      this.fault = 'unreadable';
    }
  }

  // -- sending ----------------------------------------------------------------------------------------------------------------------

  private submit(event: Event) {
    event.preventDefault();
    void this.send('connect');
  }

  private async send(deed: ConnectDeed) {
    if (this.doing !== null) return;
    this.fault = faultOf(this.kubeconfig.value);
    if (this.fault !== null) return this.kubeconfig.focus();
    const running = new AbortController();
    this.running = running;
    [this.doing, this.steps, this.failure, this.done, this.asked] = [deed, [], null, null, NOTHING_ASKED];
    try {
      const { cluster_id, steps } = await this.api.connectCluster(this.request(deed), running.signal);
      this.steps = steps;
      this.done = { deed, id: cluster_id };
      if (deed === 'connect') this.empty();
    } catch (error) {
      await this.refuse(error, deed);
    } finally {
      this.doing = null;
    }
  }

  private request(deed: ConnectDeed): ConnectRequest {
    const given = new FormData(this.form);
    const text = (name: string): string => String(given.get(name) ?? '').trim();
    return {
      kubeconfig: this.kubeconfig.value,
      dry_run: deed === 'check',
      ...(text('name') === '' ? {} : { name: text('name') }),
      ...(text('context') === '' ? {} : { context: text('context') }),
      ...(this.certificate && given.has('confirm') ? { thumbprint_sha256: this.certificate.sha256 } : {}),
    };
  }

  private empty() {
    this.form.reset();
    this.forget();
  }

  /** The session tells the page itself when it is over. What is asked for gets the focus. */
  private async refuse(error: unknown, deed: ConnectDeed) {
    if (isAborted(error) || isSessionOver(error)) return;
    if (!(error instanceof ApiError)) throw error;
    this.steps = error.failure.kind === 'problem' ? (error.failure.problem.steps ?? []) : [];
    this.failure = describeConnectFailure(error, deed);
    this.asked = askedOf(error);
    this.contexts = this.asked.contexts ?? this.contexts;
    this.certificate = this.asked.certificate ?? this.certificate;
    this.isContextAsked = this.asked.contexts !== null;
    await this.updateComplete;
    const field = this.isContextAsked ? '#context' : this.asked.certificate ? '#confirm' : null;
    if (field) this.renderRoot.querySelector<HTMLElement>(field)?.focus();
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-connect': Connect;
  }
}
