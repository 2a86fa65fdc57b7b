// How the list around its table looks.
// SPDX-License-Identifier: GPL-3.0-or-later
import { css } from 'lit';

export const listStyles = css`
  :host { display: block; max-width: var(--page-width); margin: 0 auto; padding: var(--space-4) var(--space-5) var(--space-5); }
  main { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--space-3); }
  h1:focus-visible { outline: none; }
  .head { display: flex; align-items: baseline; gap: var(--space-3); flex-wrap: wrap; }
  /* Live regions must be there before they speak; empty ones take no room. */
  main > [role]:not(:has(kaas-notice)) { position: absolute; }
  .count { min-height: 1.45em; }
  .connect { display: inline-flex; align-items: center; min-height: var(--target); margin-left: auto; }
  .connect svg { width: 12px; height: 12px; }
  .line { display: flex; flex-wrap: wrap; align-items: center; gap: var(--space-2) var(--space-4); min-height: 28px; }
  kaas-state-filter { flex: 1 1 320px; min-width: 0; }
  .fresh { display: flex; align-items: center; gap: var(--space-3); min-height: 28px; margin-left: auto; }
  .held { min-height: 28px; padding: 0 var(--space-2); border-color: var(--accent); color: var(--link); background: var(--selected); font-size: var(--type-dense); }
  .choices { display: flex; flex-wrap: wrap; gap: var(--space-2); margin-top: var(--space-2); }
  .rows { position: relative; }

  /* A line that runs shows that the rows are about to be others; only if it takes a while. */
  .rows.busy::before {
    content: ''; position: absolute; z-index: 2; left: 0; top: 0; width: 100%; height: 3px; border-radius: var(--radius);
    background: linear-gradient(90deg, transparent, var(--accent), transparent) no-repeat 0 0 / 40% 100%, var(--line); animation: show 0.1s 0.3s both;
  }
  .skeleton { padding: var(--space-2) var(--space-4); animation: show 0.2s 0.3s both; }
  .skeleton div { display: grid; grid-template-columns: 1fr 2fr 1fr 1fr; gap: var(--space-5); align-items: center; height: 48px; border-bottom: 1px solid var(--line); }
  .skeleton div:last-child { border: 0; }
  .skeleton i { height: 12px; border-radius: var(--radius); background: var(--neutral-bg); }
  @keyframes show { from { opacity: 0; } }
  @media (prefers-reduced-motion: no-preference) {
    .rows.busy::before { animation: show 0.1s 0.3s both, run 1.2s linear infinite; }
    .skeleton i { animation: breathe 1.6s ease-in-out infinite alternate; }
  }
  @keyframes run { from { background-position: -60% 0, 0 0; } to { background-position: 160% 0, 0 0; } }
  @keyframes breathe { to { opacity: 0.45; } }
  @media (max-width: 1100px) { :host { padding-left: var(--space-4); padding-right: var(--space-4); } }
  @media print { kaas-toolbar, kaas-state-filter, kaas-pager, .held { display: none; } }
`;
