// How the table looks, wide and narrow.
// SPDX-License-Identifier: GPL-3.0-or-later
import { css } from 'lit';

export const tableStyles = css`
  :host { display: block; }
  table { width: 100%; border-collapse: collapse; }
  thead th {
    text-align: left; font-weight: 600; font-size: var(--type-small); color: var(--text-soft); padding: var(--space-2) var(--space-3);
    border-bottom: 1px solid var(--line); background: var(--card-alt); white-space: nowrap;
  }
  thead th:first-child { border-top-left-radius: var(--radius); }
  thead th:last-child { border-top-right-radius: var(--radius); }
  .sort { min-height: 0; padding: 2px var(--space-1); margin: -2px -4px; border: 0; background: none; font-weight: inherit; color: inherit; gap: 3px; }
  .sort.none svg { opacity: 0.55; }
  .sort.ascending, .sort.descending { color: var(--text); }
  thead .sort:hover:not(:disabled) { background: var(--hover); color: var(--text); }

  tbody th, tbody td { text-align: left; vertical-align: top; padding: var(--space-3); border-bottom: 1px solid var(--line); font-weight: 400; }
  tbody tr:last-child > * { border-bottom: 0; }
  tbody tr:hover > * { background: var(--hover); }
  tbody tr:last-child > :first-child { border-bottom-left-radius: var(--radius); }
  tbody tr:last-child > :last-child { border-bottom-right-radius: var(--radius); }

  .name { width: 22%; max-width: 30ch; }
  .name > bdi { min-width: 15ch; overflow-wrap: anywhere; }
  /* Two spaces in a name are two spaces. */
  .name > bdi:first-child { display: block; font-weight: 600; white-space: pre-wrap; }
  .sub { display: block; font-size: var(--type-dense); overflow-wrap: anywhere; }
  .reason { margin-top: var(--space-1); max-width: 34ch; }
  .label { display: none; }
  .value { overflow-wrap: anywhere; }
  .state .value { min-width: 17ch; }
  .placement .value { min-width: 15ch; }
  .version { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
  .count { display: inline-flex; align-items: center; gap: var(--space-1); white-space: nowrap; font-variant-numeric: tabular-nums; }
  .count.warning { color: var(--warning); font-weight: 600; }
  .count.bad { color: var(--bad); font-weight: 600; }
  .count.neutral { color: var(--text-soft); }
  .line { display: inline-flex; flex-wrap: wrap; align-items: baseline; gap: 2px var(--space-2); }
  .tag {
    padding: 0 var(--space-2); border: 1px solid var(--line); border-radius: var(--radius);
    font-size: var(--type-small); color: var(--text-soft); background: var(--card-alt);
  }
  .links { display: inline-flex; flex-wrap: wrap; gap: var(--space-1) var(--space-3); }
  .links a { display: inline-flex; align-items: center; gap: var(--space-1); white-space: nowrap; }
  .links svg { width: 12px; height: 12px; }
  time { white-space: nowrap; }

  @media (max-width: 1040px) {
    table, tbody, tr, tbody th, tbody td { display: block; }
    thead { display: flex; overflow-x: auto; border-bottom: 1px solid var(--line); background: var(--card-alt); border-radius: var(--radius) var(--radius) 0 0; }
    thead tr { display: flex; gap: var(--space-3); padding: 0 var(--space-3); }
    thead th { border: 0; background: none; padding: var(--space-2) 0; }
    /* Columns that cannot be sorted need no head here: each value has its own label. */
    thead th:not([aria-sort]) { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
    tbody tr { padding: var(--space-3) var(--space-4); border-bottom: 1px solid var(--line); }
    tbody tr:last-child { border-bottom: 0; }
    tbody th, tbody td { padding: 0; border: 0; }
    tbody tr:hover > * { background: none; }
    .name { width: auto; max-width: none; margin-bottom: var(--space-2); font-size: var(--type-title); }
    td .value { min-width: 0; }
    tbody td { display: grid; grid-template-columns: 8.5em minmax(0, 1fr); gap: var(--space-2); padding: var(--space-1) 0; }
    .label { display: block; color: var(--text-soft); font-size: var(--type-dense); }
    .reason { max-width: none; }
  }

  /* Between: two columns of values in each card. */
  @media (min-width: 641px) and (max-width: 1040px) {
    tbody tr { display: grid; grid-template-columns: 1fr 1fr; column-gap: var(--space-5); }
    .name { grid-column: 1 / -1; }
    .state { grid-column: 1 / -1; }
  }
`;
