// How the sign-in page looks; its fields are in form.ts.
// SPDX-License-Identifier: GPL-3.0-or-later
import { css } from 'lit';

export const signInStyles = css`
  :host {
    display: block; min-height: 100vh;
    background: linear-gradient(to bottom, var(--bar) 0 240px, var(--brand) 240px 243px, var(--page) 243px);
  }
  main { max-width: 440px; margin: 0 auto; padding: clamp(var(--space-5), 10vh, calc(2 * var(--space-6))) var(--space-4) var(--space-6); }
  .brand { display: flex; align-items: center; gap: var(--space-3); margin-bottom: var(--space-5); color: var(--bar-text); }
  .brand .product { font-size: var(--type-page); font-weight: 600; line-height: 1.2; }
  .brand .soft { color: var(--bar-soft); }
  .card { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--space-3); padding: var(--space-5); }
  @media (max-width: 420px) { .card { padding: var(--space-4); } }
  .card form { padding: 0; }
  .card > [role='alert']:not(:has(kaas-notice)) { display: none; }
  .field { position: relative; }
  .field button { position: absolute; top: 0; right: 0; min-height: var(--target); margin: 0; padding: 0 var(--space-1); font-size: var(--type-dense); }
  .kerberos button { width: 100%; margin-top: 0; }
  .or { display: flex; align-items: center; gap: var(--space-3); font-size: var(--type-small); }
  .or::before, .or::after { content: ''; flex: 1; border-top: 1px solid var(--line); }
  fieldset { margin: 0; padding: 0; border: 0; min-width: 0; }
  .choice { display: grid; grid-template-columns: 1fr 1fr; border: 1px solid var(--line-strong); border-radius: var(--radius); overflow: clip; }
  .choice label { position: relative; }
  .choice label + label { border-left: 1px solid var(--line-strong); }
  .choice input { position: absolute; inset: 0; opacity: 0; margin: 0; width: 100%; height: 100%; cursor: pointer; }
  .choice span { height: 100%; display: grid; place-items: center; min-height: var(--control); padding: var(--space-1) var(--space-2); text-align: center; font-weight: 500; }
  .choice input:checked + span { background: var(--accent); color: var(--accent-text); }
  .choice input:focus-visible + span { outline: 2px solid var(--focus); outline-offset: -4px; }
  .choice input:checked:focus-visible + span { outline-color: var(--accent-text); }
  @media (forced-colors: active) {
    .choice input:checked + span { forced-color-adjust: none; background: Highlight; color: HighlightText; }
  }
`;
