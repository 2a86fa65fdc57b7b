// Looks that several elements share: buttons, fields, links, focus, text for screen readers only.
// SPDX-License-Identifier: GPL-3.0-or-later
import { css } from 'lit';

export const shared = css`
  :host, *, *::before, *::after { box-sizing: border-box; }
  :host([hidden]), [hidden] { display: none !important; }

  h1, h2, p { margin: 0; }
  h1 { font-size: var(--type-page); font-weight: 600; letter-spacing: -0.01em; line-height: 1.25; }
  h2 { font-size: var(--type-title); font-weight: 600; }

  a { color: var(--link); text-decoration: none; border-radius: var(--radius); }
  a:hover { text-decoration: underline; }

  :focus { outline: none; }
  :focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }

  button, input, select { font: inherit; color: inherit; }
  button {
    display: inline-flex; align-items: center; justify-content: center; gap: var(--space-2);
    min-height: var(--control); padding: 0 var(--space-3); border: 1px solid var(--line-strong); border-radius: var(--radius);
    background: var(--card); color: var(--text); font-weight: 500; cursor: pointer; white-space: nowrap;
  }
  button:hover:not(:disabled) { background: var(--hover); }
  button:disabled { opacity: 0.5; cursor: default; }
  button.primary { background: var(--accent); border-color: var(--accent); color: var(--accent-text); font-weight: 600; }
  button.primary:hover:not(:disabled) { background: var(--accent-hover); border-color: var(--accent-hover); }
  button.plain { border-color: transparent; background: none; color: var(--link); padding: 0 var(--space-2); }

  input:not([type='radio'], [type='checkbox']), select {
    min-height: var(--control); width: 100%; padding: 0 var(--space-2); border: 1px solid var(--line-strong); border-radius: var(--radius); background: var(--card);
  }
  input::placeholder { color: var(--text-soft); opacity: 1; }
  input:focus-visible, select:focus-visible { outline-offset: 0; border-color: var(--focus); }

  .soft { color: var(--text-soft); }
  .card { background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); box-shadow: var(--shadow); }

  .sr-only {
    position: absolute; width: 1px; height: 1px; margin: -1px; padding: 0; border: 0;
    overflow: hidden; clip-path: inset(50%); white-space: nowrap;
  }

  svg { flex: none; }
`;
