// How a table of clusters or nodes looks where there is room; what becomes of it elsewhere: each node a card, each cluster two lines.
// SPDX-License-Identifier: GPL-3.0-or-later
import { css } from 'lit';

export const tableStyles = css`
  :host { display: block; }
  /* Borders of collapsed cells would not stay with a head that sticks. */
  table { width: 100%; border-collapse: separate; border-spacing: 0; font-size: var(--type-dense); }
  thead th {
    position: sticky; top: 0; z-index: 1; text-align: left; vertical-align: middle; font-weight: 600; color: var(--text-soft); padding: var(--space-1) var(--space-2);
    height: 36px; border-bottom: 1px solid var(--line-strong); background: var(--card-alt);
  }
  thead th:first-child, tbody tr > :first-child { padding-left: var(--space-4); }
  thead th:last-child, tbody tr > :last-child { padding-right: var(--space-4); }
  thead th:first-child { border-top-left-radius: var(--radius); }
  thead th:last-child { border-top-right-radius: var(--radius); }
  .sort { min-height: 28px; padding: 0 var(--space-1); margin: 0 calc(-1 * var(--space-1)); border: 0; background: none; font-weight: inherit; color: inherit; text-align: left; white-space: normal; gap: var(--space-half); }
  .sort.none svg { opacity: 0.6; }
  .sort.ascending, .sort.descending { color: var(--text); }
  thead .sort:hover:not(:disabled) { background: var(--hover); color: var(--text); }

  /* Room for two lines in every row: one that comes or goes moves no other row. */
  tbody th, tbody td { height: 48px; text-align: left; vertical-align: middle; padding: var(--space-1) var(--space-2); border-bottom: 1px solid var(--line); font-weight: 400; }
  tbody tr:hover > * { background: var(--hover); }

  tbody .name { width: 18%; min-width: 15ch; max-width: 32ch; }
  .name a { display: inline-flex; align-items: center; min-height: var(--target); padding: var(--space-half) 0; line-height: 1.3; max-width: 100%; }
  /* Two spaces in a name are two spaces. */
  .name a bdi { font-weight: 600; white-space: pre-wrap; overflow-wrap: anywhere; }
  .sub { display: block; font-size: var(--type-small); line-height: 1.3; overflow-wrap: anywhere; }
  .name > bdi, .reason { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 1; overflow: hidden; overflow-wrap: anywhere; }
  td.state { min-width: 22ch; max-width: 34ch; }
  td.state .value { position: relative; }
  /* Between the second line and the border, so that no row needs room for it. */
  td.state progress { position: absolute; inset: auto 0 calc(-1 * var(--space-1) - 1px); height: 4px; }
  kaas-state-badge { white-space: nowrap; }
  .place { display: inline-block; max-width: 20ch; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; vertical-align: bottom; }
  td.placement { min-width: 12ch; }
  /* A name that others have has its place behind it. */
  td.placement .places { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 3; max-width: 26ch; overflow: hidden; line-height: 1.3; overflow-wrap: anywhere; }
  td.placement .place { display: inline; white-space: normal; }
  .version, .age time, .changed time { font-variant-numeric: tabular-nums; }
  .age time { white-space: nowrap; }
  .label { display: none; }
  .count { display: inline-flex; align-items: center; gap: var(--space-1); white-space: nowrap; font-variant-numeric: tabular-nums; }
  .count.warning, .count.bad { font-weight: 600; }
  .endpoint { display: inline-flex; align-items: center; gap: var(--space-half); font-variant-numeric: tabular-nums; }
  .endpoint bdi { max-width: 26ch; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .endpoint > kaas-copy, .dashboard { flex: none; }
  .dashboard { display: inline-grid; place-items: center; width: var(--target); height: var(--target); }
  .tags { display: inline-flex; flex-wrap: wrap; align-items: center; gap: var(--space-half) var(--space-1); }
  .tag {
    min-height: var(--target); min-width: var(--target); max-width: 24ch; padding: 0 var(--space-2); border-color: var(--line-strong); background: none;
    font-size: var(--type-small); font-weight: 400; overflow: hidden;
  }
  .tag bdi { overflow: hidden; text-overflow: ellipsis; }

  /* The longest of everything still has to fit. */
  @media (max-width: 1400px) {
    .place, .tag { max-width: 13ch; }
    .endpoint bdi { max-width: 21ch; }
  }

  @media (max-width: 1100px) {
    tbody th, tbody td, thead th { padding-left: var(--space-1); padding-right: var(--space-1); }
    thead th:first-child, tbody tr > :first-child { padding-left: var(--space-3); }
    thead th:last-child, tbody tr > :last-child { padding-right: var(--space-3); }
    kaas-state-badge { white-space: normal; }
    td.state { min-width: 18ch; }
    tbody .name { min-width: 12ch; }
    .tag { max-width: 11ch; padding: 0 var(--space-1); }
  }

  @media (max-width: 1000px) {
    td.state { min-width: 0; }
    .endpoint bdi { max-width: 12ch; }
  }

  @media print {
    thead th { position: static; }
    kaas-copy, .order { display: none; }
  }
`;

/** Of nodes, grants and events: each value in a line of its own, behind its label. */
export const cardStyles = css`
  @media (max-width: 760px) {
    table, tbody, tbody th, tbody td { display: block; }
    thead { display: flex; overflow-x: auto; border-bottom: 1px solid var(--line-strong); background: var(--card-alt); border-radius: var(--radius) var(--radius) 0 0; }
    thead tr { display: flex; gap: var(--space-3); padding: 0 var(--space-3); }
    thead th { position: static; border: 0; background: none; padding: var(--space-1) 0; white-space: nowrap; }
    .sort { white-space: nowrap; }
    /* Columns that cannot be sorted need no head here: each value has its own label. */
    thead th:not([aria-sort]) { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
    tbody tr { padding: var(--space-3) var(--space-4); border-bottom: 1px solid var(--line); }
    tbody th, tbody td, tbody tr > :first-child, tbody tr > :last-child { height: auto; padding: var(--space-half) 0; border: 0; }
    tbody tr:hover > * { background: none; }
    tbody tr { display: flex; flex-direction: column; }
    tbody .name { order: -1; width: auto; max-width: none; font-size: var(--type-title); }
    .name > bdi, .reason { -webkit-line-clamp: none; }
    .endpoint bdi { max-width: none; white-space: normal; overflow-wrap: anywhere; }
    tbody td, td.state { display: grid; grid-template-columns: 8.5em minmax(0, 1fr); gap: var(--space-2); min-width: 0; max-width: none; }
    .label { display: block; color: var(--text-soft); }
    .tag { max-width: 100%; }
  }
`;

/** Of clusters (parts/cluster-table.ts, `isNarrow`). */
export const lineStyles = css`
  .order { display: flex; align-items: center; gap: var(--space-2); padding: var(--space-1) var(--space-3); border-bottom: 1px solid var(--line); font-size: var(--type-dense); color: var(--text-soft); }
  .order select { width: auto; min-width: 0; min-height: 28px; color: var(--text); }
  .lines, .lines tbody, .lines th, .lines td { display: block; }
  /* Each line by itself: what is long below does not take the room of the name. */
  .lines tr { display: flex; flex-wrap: wrap; gap: 0 var(--space-3); align-items: center; padding: var(--space-2) var(--space-3); border-bottom: 1px solid var(--line); }
  .lines tr { position: relative; }
  .lines td.state progress { bottom: 1px; }
  .lines tr::after { content: ''; flex-basis: 100%; }
  .lines .below, .lines .facts { order: 1; }
  .lines .name, .lines .below { flex: 1 1 0; }
  .lines tr:last-child { border: 0; }
  .lines tr:hover { background: var(--hover); }
  .lines tr > *, .lines tbody tr > :is(:first-child, :last-child) { width: auto; min-width: 0; max-width: none; height: auto; padding: 0; border: 0; }
  .lines .name { display: flex; align-items: center; gap: var(--space-2); }
  .lines .name svg { display: block; }
  .lines .state { max-width: 50%; font-weight: 600; text-align: right; }
  /* The second line begins below the name. */
  .lines .below { padding-left: var(--space-5); font-size: var(--type-small); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  .lines .below .place { max-width: none; display: inline; }
  .lines .facts { display: flex; align-items: center; justify-content: flex-end; gap: var(--space-2); font-size: var(--type-small); white-space: nowrap; }
  .lines .facts .place { max-width: 11ch; }
  .lines .facts svg { width: 12px; height: 12px; }
`;
