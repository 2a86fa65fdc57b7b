// The job that works on a cluster, or has failed at it: how far it is, its steps with times and reasons, what it tells, and what administrators can do about it.
// Loaded when there is one.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property, query, state } from 'lit/decorators.js';
import { changeJob, waitForLines, type JobApi, type JobDeed } from '../api/jobs.js';
import { ApiError, isAborted, isSessionOver } from '../api/error.js';
import type { Job, JobLine, JobStep } from '../api/types.js';
import { describeFailure } from '../model/failure-text.js';
import { absoluteTime, clockTime, describeReason, shortNumber } from '../model/format.js';
import { JOB_TONE, STEP_TONE, duration, isUnderWay, jobTitle, percentOf, stepTitle } from '../model/job.js';
import { sentence } from '../model/sentence.js';
import { jobStrings } from '../strings/jobs/index.js';
import { progressStyles } from '../styles/progress.js';
import { shared } from '../styles/shared.js';
import { toneStyles } from '../styles/tone.js';
import { toneIcon } from './icons.js';
import './notice.js';

export { findJob } from '../model/job.js';

@customElement('kaas-cluster-job')
export class ClusterJob extends LitElement {
  static override styles = [shared, toneStyles, progressStyles, css`
    :host { display: block; }
    section { display: grid; gap: var(--space-2); padding: var(--space-4); }
    .head { display: flex; flex-wrap: wrap; align-items: center; gap: var(--space-1) var(--space-4); min-height: var(--control); }
    .state, .step { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: var(--space-2); font-weight: 600; }
    .state svg, .step svg { margin-top: var(--space-half); }
    .deeds { display: flex; flex-wrap: wrap; gap: var(--space-2); margin-left: auto; }
    .far { display: grid; grid-template-columns: minmax(0, 320px) auto minmax(0, 1fr); align-items: center; gap: var(--space-half) var(--space-3); font-size: var(--type-dense); font-variant-numeric: tabular-nums; }
    .why { max-width: 96ch; overflow-wrap: anywhere; }
    .why p:first-child, .reason { font-weight: 600; }
    ol { margin: 0; padding: 0; list-style: none; font-size: var(--type-dense); }
    li { overflow-wrap: anywhere; }
    .steps li { display: grid; grid-template-columns: minmax(0, 34em) 14em minmax(0, 1fr); gap: var(--space-half) var(--space-4); padding: var(--space-1) 0; border-top: 1px solid var(--line); }
    .title { color: var(--text); font-weight: 500; }
    .pending .title { color: var(--text-soft); font-weight: 400; }
    time, .times { font-variant-numeric: tabular-nums; }
    summary { display: inline-block; min-height: var(--target); padding: var(--space-half) 0; color: var(--link); cursor: pointer; font-weight: 500; }
    summary::before { content: '▸ '; }
    details[open] summary::before { content: '▾ '; }
    .lines { height: 15em; overflow-y: auto; padding: var(--space-2); border: 1px solid var(--line); border-radius: var(--radius); background: var(--card-alt); font-size: var(--type-small); }
    .lines li { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: var(--space-3); }
    [role='alert']:empty { position: absolute; }
    dialog { max-width: 56ch; padding: var(--space-5); border: 1px solid var(--line-strong); border-radius: var(--radius); background: var(--card); color: var(--text); box-shadow: var(--shadow); }
    dialog::backdrop { background: var(--page); opacity: 0.7; }
    dialog p { margin: var(--space-3) 0 var(--space-4); }
    .answers { display: flex; flex-wrap: wrap; gap: var(--space-2); }
    @media (max-width: 760px) {
      .far { grid-template-columns: minmax(0, 1fr) auto; }
      .far > :last-child { grid-column: 1 / -1; }
      .steps li { grid-template-columns: minmax(0, 1fr); }
      .steps li > :not(:first-child) { padding-left: var(--space-5); }
    }
    @media print { .deeds, details { display: none; } }
  `];

  @property({ attribute: false }) api!: JobApi;
  @property({ attribute: false }) job!: Job;
  /** Administrators read the service's own words, too. */
  @property({ type: Boolean }) isAdmin = false;
  /** The viewer may cancel it and have it go on, and does so here. */
  @property({ type: Boolean }) canAct = false;

  @state() private lines: readonly JobLine[] = [];
  @state() private doing: JobDeed | null = null;
  @state() private failed: { deed: JobDeed; error: ApiError } | null = null;

  @query('h2') private heading!: HTMLElement;
  @query('details') private told!: HTMLDetailsElement;
  @query('dialog') private dialog!: HTMLDialogElement;
  @query('.lines') private box!: HTMLElement;

  private following: AbortController | null = null;
  /** All that it will ever tell, unless it is retried. */
  private isToldAll = false;

  override disconnectedCallback() {
    super.disconnectedCallback();
    this.following?.abort();
  }

  override willUpdate(changed: Map<PropertyKey, unknown>) {
    const before = changed.get('job') as Job | undefined;
    if (before === undefined) return;
    if (before.id !== this.job.id) this.forget();
    if (!isUnderWay(before.state) && isUnderWay(this.job.state)) this.isToldAll = false;
  }

  /** Lines that could not be had are asked for again when there is news of the job. */
  override updated(changed: Map<PropertyKey, unknown>) {
    if (changed.has('job')) void this.follow();
  }

  override render() {
    const { job } = this;
    const words = jobStrings();
    const tone = JOB_TONE[job.state];
    return html`<section class="card" aria-labelledby="job">
      <div class="head"><h2 id="job" tabindex="-1">${jobTitle(job)}</h2>
        <span class="state ${tone}" role="status">${toneIcon[tone]}<span>${job.cancel_asked && job.state === 'running' ? words.stopping : words.state[job.state]}</span></span>
        ${this.canAct ? this.renderDeeds() : nothing}</div>
      <div role="alert">${this.failed ? html`<kaas-notice tone="bad" heading=${words.failed[this.failed.deed]} .failure=${describeFailure(this.failed.error, true)}></kaas-notice>` : nothing}</div>
      ${this.renderProgress()}
      ${this.renderWhy(job)}
      <ol class="steps">${job.steps.map((step) => this.renderStep(step))}</ol>
      <details @toggle=${this.follow}><summary>${words.lines}</summary>
        <ol class="lines" tabindex="0" aria-label=${words.lines}>${this.lines.length === 0 ? html`<li class="soft">${words.noLines}</li>` : this.lines.map(renderLine)}</ol></details>
      ${this.canAct ? this.renderQuestion() : nothing}
    </section>`;
  }

  private renderDeeds() {
    const { job, doing } = this;
    const words = jobStrings();
    const isFailed = job.state === 'failed';
    const canCancel = isFailed || (!job.cancel_asked && (job.state === 'queued' || job.state === 'running'));
    return html`<div class="deeds">
      ${isFailed || job.state === 'canceled' ? html`<button type="button" ?disabled=${doing !== null} @click=${() => this.act('retry')}>${words.retry}</button>` : nothing}
      ${canCancel ? html`<button type="button" ?disabled=${doing !== null} @click=${() => this.dialog.showModal()}>${words.cancel}</button>` : nothing}</div>`;
  }

  private renderProgress() {
    const { steps, created_by, created_at, started_at, ended_at } = this.job;
    const words = jobStrings();
    const percent = percentOf(steps);
    const took = ended_at === null ? '' : ` · ${words.took(duration(started_at ?? created_at, ended_at))}`;
    return html`<div class="far ${JOB_TONE[this.job.state]}">
      <progress max="100" .value=${percent} aria-labelledby="job"></progress><span>${shortNumber(percent)} %</span>
      <span class="soft">${words.progress(steps.filter(({ state }) => state === 'done').length, steps.length)} · <bdi>${words.begun(created_by, absoluteTime(created_at))}</bdi>${took}</span></div>`;
  }

  /** A reason that is a step's stands beside that. */
  private renderWhy({ reason, remedy, steps }: Job) {
    if (reason === null || steps.some((step) => step.state === 'failed' && step.reason !== null && reason.includes(step.reason))) return nothing;
    return html`<div class="why"><p><bdi>${describeReason(reason)}</bdi></p>${this.isAdmin && remedy ? html`<p>${sentence(remedy)}</p>` : nothing}</div>`;
  }

  private renderStep(step: JobStep) {
    const tone = STEP_TONE[step.state];
    const word = jobStrings().stepState[step.state];
    return html`<li class=${step.state}>
      <span class="step ${tone}">${toneIcon[tone]}<span><bdi class="title">${stepTitle(this.job.kind, step)}</bdi> <span class="sr-only">${word}</span></span></span>
      <span class="times soft">${renderTimes(step)}</span>
      <span>${step.reason === null ? nothing : html`<bdi class=${step.state === 'failed' ? 'reason' : 'soft'}>${describeReason(step.reason)}</bdi>`}${this.isAdmin && step.remedy ? html` ${sentence(step.remedy)}` : nothing}</span>
    </li>`;
  }

  private renderQuestion() {
    const words = jobStrings().asked;
    return html`<dialog aria-labelledby="ask"><h2 id="ask">${words.title}</h2><p>${words.text[this.job.kind] ?? words.otherText}</p>
      <div class="answers"><button type="button" class="primary" @click=${() => this.dialog.close()}>${words.no}</button>
        <button type="button" @click=${() => this.act('cancel')}>${jobStrings().cancel}</button></div></dialog>`;
  }

  private async act(deed: JobDeed) {
    if (this.doing !== null) return;
    this.dialog.close();
    [this.doing, this.failed] = [deed, null];
    try {
      this.job = await changeJob(this.api, this.job.id, deed);
      this.tellNews();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!isSessionOver(error)) this.failed = { deed, error };
    }
    this.doing = null;
    await this.updateComplete;
    this.heading.focus();
  }

  private tellNews() {
    this.dispatchEvent(new CustomEvent('kaas-job-news'));
  }

  // -- what it tells ----------------------------------------------------------------------------------------------------------------

  private forget() {
    this.following?.abort();
    this.following = null;
    this.lines = [];
    this.isToldAll = false;
  }

  /** One request that waits, while somebody looks at the lines. */
  private async follow() {
    if (!this.told.open) return this.following?.abort();
    if (this.isToldAll || (this.following !== null && !this.following.signal.aborted)) return;
    const following = new AbortController();
    this.following = following;
    try {
      while (this.told.open && document.visibilityState === 'visible' && !this.isToldAll && this.isConnected) await this.ask(following.signal);
    } catch (error) {
      if (!(error instanceof ApiError) && !isAborted(error)) throw error;
    } finally {
      following.abort();
    }
  }

  private async ask(signal: AbortSignal) {
    const { items, state } = await waitForLines(this.api, this.job.id, this.lines.at(-1)?.seq ?? 0, signal);
    signal.throwIfAborted();
    this.isToldAll = !isUnderWay(state) && items.length === 0;
    if (items.length > 0) await this.add(items);
    if (items.length > 0 || this.isToldAll) this.tellNews();
  }

  /** Who has read to the end goes on seeing the end. */
  private async add(items: readonly JobLine[]) {
    const isAtEnd = this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - 1;
    this.lines = [...this.lines, ...items];
    await this.updateComplete;
    if (isAtEnd) this.box.scrollTop = this.box.scrollHeight;
  }
}

function renderTimes({ state, started_at, ended_at }: JobStep) {
  if (started_at === null) return nothing;
  const at = html`<time datetime=${started_at} title=${absoluteTime(started_at)}>${clockTime(new Date(started_at))}</time>`;
  if (ended_at !== null) return html`${at} · ${duration(started_at, ended_at)}`;
  return state === 'running' || state === 'waiting' ? html`${jobStrings().since} ${at}` : at;
}

function renderLine({ at, text }: JobLine) {
  return html`<li><time class="soft" datetime=${at} title=${absoluteTime(at)}>${clockTime(new Date(at))}</time><bdi>${text}</bdi></li>`;
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-cluster-job': ClusterJob;
  }
}
