// The notice in the bar that there is a newer version: what is new, how to upgrade. Once put away it is not shown again for that version.
// SPDX-License-Identifier: GPL-3.0-or-later
import { LitElement, css, html, nothing } from 'lit';
import { customElement, property, state } from 'lit/decorators.js';
import type { AvailableVersion } from '../api/types.js';
import { calendarDate, safeHttpsUrl } from '../model/format.js';
import { recall, remember } from '../session/memory.js';
import { strings } from '../strings/index.js';
import { shared } from '../styles/shared.js';
import { Disclosure } from './disclosure.js';
import { externalIcon, upIcon } from './icons.js';

@customElement('kaas-new-version')
export class NewVersion extends LitElement {
  static override styles = [shared, css`
    :host { display: block; }
    .area { position: relative; }
    .opener { min-height: 40px; border-color: transparent; background: transparent; color: var(--bar-text); }
    .opener:hover:not(:disabled), .opener[aria-expanded='true'] { background: var(--bar-hover); }
    .opener:focus-visible { outline-color: var(--bar-text); }
    .panel {
      position: absolute; z-index: 10; top: calc(100% + var(--space-1)); right: 0; width: min(520px, calc(100vw - 32px)); max-height: min(520px, calc(100vh - 64px));
      display: flex; flex-direction: column; color: var(--text); text-align: left;
    }
    .text { overflow: auto; min-height: 0; padding: var(--space-4); display: grid; gap: var(--space-2); overflow-wrap: anywhere; }
    .text:focus-visible { outline-offset: -2px; }
    .title { font-size: var(--type-title); font-weight: 600; }
    .part { margin-top: var(--space-2); font-weight: 600; }
    ul, ol { margin: 0; padding-left: var(--space-5); display: grid; gap: var(--space-1); }
    a { display: inline-flex; align-items: center; gap: var(--space-1); justify-self: start; }
    .deeds { padding: var(--space-2); border-top: 1px solid var(--line); }
    .deeds button { justify-content: flex-start; border-color: transparent; background: none; }
    @media (max-width: 900px) { .opener span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); } }
    @media (max-width: 560px) { .panel { position: fixed; top: calc(var(--bar-height) + var(--space-1)); right: var(--space-4); } }
    @media print { :host { display: none; } }
  `];

  @property({ attribute: false }) available: AvailableVersion | null = null;

  @state() private putAway = recall('put-away-version');

  private readonly panel = new Disclosure(this, '.area', '.opener');

  override render() {
    const { available, panel } = this;
    if (available === null || available.version === this.putAway) return nothing;
    const text = strings.newVersion.text(available.version);
    return html`<div class="area" @keydown=${panel.onKey} @focusout=${panel.onFocusOut}>
      <button type="button" class="opener" title=${text} aria-expanded=${panel.isOpen} aria-controls="panel" @click=${panel.toggle}>${upIcon}<span>${text}</span></button>
      <section id="panel" class="panel card" tabindex="-1" aria-label=${text} ?hidden=${!panel.isOpen}>${panel.isOpen ? this.renderPanel(available) : nothing}</section>
    </div>`;
  }

  /** Its lines are the publisher's, in English. */
  private renderPanel({ version, released_at: releasedAt, notes, notes_url: notesUrl, steps }: AvailableVersion) {
    const url = safeHttpsUrl(notesUrl);
    return html`<div class="text" role="group" tabindex="0" aria-label=${strings.newVersion.text(version)}>
        <p class="title">${strings.newVersion.title(version)}</p>
        <p class="soft">${strings.newVersion.released(calendarDate(releasedAt))}</p>
        ${notes.length ? html`<p class="part">${strings.newVersion.notes}</p><ul lang="en">${notes.map((note) => html`<li>${note}</li>`)}</ul>` : nothing}
        ${url === null ? nothing : html`<a href=${url} target="_blank" rel="noopener noreferrer">${strings.newVersion.allNotes}${externalIcon}</a>`}
        ${steps.length ? html`<p class="part">${strings.newVersion.steps}</p><ol lang="en">${steps.map((step) => html`<li>${step}</li>`)}</ol>` : nothing}
      </div>
      <div class="deeds"><button type="button" @click=${() => this.dismiss(version)}>${strings.newVersion.dismiss}</button></div>`;
  }

  /** The button goes, and the focus with it: the bar has another place for that. */
  private dismiss(version: string) {
    this.panel.close();
    remember('put-away-version', version);
    this.putAway = version;
    this.dispatchEvent(new CustomEvent('kaas-put-away'));
  }
}

declare global {
  interface HTMLElementTagNameMap {
    'kaas-new-version': NewVersion;
  }
}
