// How the overview looks.
// SPDX-License-Identifier: GPL-3.0-or-later
import { css } from 'lit';

export const overviewStyles = css`
  :host { display: block; max-width: var(--page-width); margin: 0 auto; padding: var(--space-4) var(--space-5) var(--space-5); }
  main { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--space-3); }
  h1:focus-visible { outline: none; }
  h3 { margin: 0; font-size: var(--type-title); font-weight: 600; }
  h3 a { display: inline-block; min-height: var(--target); line-height: var(--target); }
  main > :is([role='status'], [role='alert']):not(:has(kaas-notice), .wait) { position: absolute; }
  .head { display: flex; flex-wrap: wrap; align-items: center; gap: var(--space-2) var(--space-4); }
  .fresh { display: flex; flex-wrap: wrap; align-items: center; gap: var(--space-2) var(--space-3); margin-left: auto; }
  .counts { display: grid; gap: var(--space-3); padding: var(--space-4); }
  .figure { display: inline-flex; align-items: baseline; gap: var(--space-2); justify-self: start; color: var(--text); }
  .figure b { font-size: var(--type-figure); line-height: 1.1; font-weight: 600; font-variant-numeric: tabular-nums; }
  .figure span { color: var(--text-soft); }
  .bar { display: block; width: 100%; height: 12px; border-radius: var(--radius); }
  .counts ul { display: flex; flex-wrap: wrap; gap: var(--space-1) var(--space-5); margin: 0; padding: 0; list-style: none; }
  .counts li { display: flex; align-items: center; gap: var(--space-1); }
  .counts li a { display: inline-flex; align-items: center; gap: var(--space-1); min-height: var(--target); }
  .counts li span { display: inline-flex; }
  b { font-variant-numeric: tabular-nums; }
  .cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 280px), 1fr)); gap: var(--space-4); margin: 0; padding: 0; list-style: none; }
  .cards .card { display: flex; flex-direction: column; gap: var(--space-2); padding: var(--space-4); font-size: var(--type-dense); overflow-wrap: anywhere; }
  .health { display: flex; align-items: center; gap: var(--space-2); font-weight: 600; }
  .messages { white-space: pre-line; }
  .capacity { display: flex; align-items: center; gap: var(--space-3); }
  .capacity b { font-size: var(--type-title); }
  dl { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: var(--space-1) var(--space-4); margin: 0; }
  dl:empty { display: none; }
  dt { color: var(--text-soft); }
  dd { margin: 0; font-variant-numeric: tabular-nums; }
  dd.warning { font-weight: 600; }
  /* How it was. */
  .old :is(span, b, dd), td.old { color: var(--text-soft); font-weight: 400; }
  .old svg { color: var(--fill-unknown); }
  .parts { padding-top: var(--space-2) !important; border-top: 1px solid var(--line); }
  .on a { display: inline-block; min-height: var(--target); line-height: var(--target); }
  .on { display: grid; gap: var(--space-1); margin-top: auto; padding-top: var(--space-2); }
  .on .bar { height: 6px; }
  table { width: 100%; border-spacing: 0; font-size: var(--type-dense); overflow-wrap: anywhere; }
  th, td { padding: var(--space-2); border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; font-weight: 400; }
  tbody tr:last-child > * { border-bottom: 0; }
  thead th { font-weight: 600; color: var(--text-soft); border-color: var(--line-strong); background: var(--card-alt); }
  th:first-child { padding-left: var(--space-4); width: 20%; }
  th[scope='row'] bdi { display: block; }
  th a { display: inline-block; min-height: var(--target); line-height: var(--target); font-weight: 600; }
  td:last-child { width: 30%; }
  td .health + p { margin-top: var(--space-half); }
  td.more { font-variant-numeric: tabular-nums; }
  td .on { margin: 0; padding: 0; }
  thead .more { white-space: nowrap; }
  @media (max-width: 760px) {
    .more, thead { display: none; }
    table, tbody, th[scope='row'], td { display: block; }
    tbody tr { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: var(--space-1) var(--space-3); padding: var(--space-3) var(--space-4); border-bottom: 1px solid var(--line); }
    tbody tr:last-child { border: 0; }
    tbody th, tbody td, tbody th:first-child { width: auto; padding: 0; border: 0; }
    tbody td:last-child { grid-column: 1 / -1; width: auto; }
  }
  @media (max-width: 1100px) { :host { padding-left: var(--space-4); padding-right: var(--space-4); } }
  @media print { .fresh button { display: none; } }
  @media (forced-colors: active) { .bar, .ring { forced-color-adjust: none; } }
`;
