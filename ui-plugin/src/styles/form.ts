// How a form in a card looks: fields with a label above and a hint below.
// SPDX-License-Identifier: GPL-3.0-or-later
import { css } from 'lit';

export const formStyles = css`
  form { display: grid; grid-template-columns: minmax(0, 1fr); gap: 14px; padding: 28px; }
  @media (max-width: 420px) { form { padding: 20px; } }
  form > [role='alert']:not(:has(kaas-notice)) { display: none; }
  legend, .field label { display: block; padding: 0; margin-bottom: 5px; font-weight: 600; font-size: 0.93rem; }

  .hint { font-size: 0.86rem; margin-top: 4px; }
  .hint:empty { display: none; }
  .missing { color: var(--bad); font-weight: 600; }
  input[aria-invalid='true'] { border-color: var(--bad); }
  button { min-height: 42px; margin-top: 6px; }
`;
