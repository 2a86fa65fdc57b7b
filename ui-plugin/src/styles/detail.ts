// How the details of a cluster look.
// SPDX-License-Identifier: GPL-3.0-or-later
import { css } from 'lit';

export const detailStyles = css`
  :host { display: block; max-width: var(--page-width); margin: 0 auto; padding: var(--space-3) var(--space-5) var(--space-5); }
  main { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--space-3); }
  h1:focus-visible { outline: none; }
  h1 { overflow-wrap: anywhere; }
  h1 bdi { white-space: pre-wrap; }
  main > [role]:not(:has(kaas-notice)):not(.wait) { position: absolute; }
  .back { display: inline-flex; align-items: center; gap: var(--space-1); min-height: var(--target); justify-self: start; }
  .head kaas-state-badge { padding-top: var(--space-half); }
  .head { display: flex; flex-wrap: wrap; align-items: center; gap: var(--space-2) var(--space-4); }
  .fresh { display: flex; flex-wrap: wrap; align-items: center; gap: var(--space-2) var(--space-3); margin-left: auto; }
  nav { display: flex; flex-wrap: wrap; gap: 0 var(--space-4); border-bottom: 1px solid var(--line-strong); }
  nav a { padding: var(--space-2) var(--space-1); margin-bottom: -1px; border-bottom: var(--mark) solid transparent; border-radius: 0; }
  nav a[aria-current] { border-color: var(--accent); color: var(--text); font-weight: 600; }
  @media (forced-colors: active) { nav a:not([aria-current]) { border-color: Canvas; } }
  .cards { columns: 3 360px; column-gap: var(--space-4); }
  section.card { padding: var(--space-4); margin-bottom: var(--space-4); break-inside: avoid; }
  h2 { margin-bottom: var(--space-3); }
  dl { display: grid; grid-template-columns: minmax(8em, auto) minmax(0, 1fr); gap: var(--space-2) var(--space-4); margin: 0; align-items: baseline; font-size: var(--type-dense); }
  dt { color: var(--text-soft); }
  dd { margin: 0; overflow-wrap: anywhere; }
  time .soft { white-space: nowrap; }
  dd a { display: inline-flex; align-items: center; gap: var(--space-1); min-height: var(--target); }
  dd svg { width: 12px; height: 12px; }
  dd .share { width: 96px; height: 8px; }
  .replicas { display: inline-flex; flex-wrap: wrap; align-items: center; gap: var(--space-half) var(--space-2); }
  .text { white-space: pre-wrap; }
  .code { font-family: var(--mono); font-size: var(--type-small); }
  .tags { display: flex; flex-wrap: wrap; gap: var(--space-1); margin: 0; padding: 0; list-style: none; min-width: 0; }
  .tag {
    display: inline-flex; align-items: center; min-height: var(--target); padding: var(--space-half) var(--space-2); border: 1px solid var(--line-strong); border-radius: var(--radius);
    font-size: var(--type-small); overflow-wrap: anywhere;
  }
  @media (max-width: 1100px) { :host { padding-left: var(--space-4); padding-right: var(--space-4); } }
  @media print { .back, nav, .fresh button, kaas-copy { display: none; } }
  @media (max-width: 420px) { dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dd { margin-bottom: var(--space-2); } }
`;
