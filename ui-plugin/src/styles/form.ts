// How a form in a card looks: fields with a label above and a hint below.
// SPDX-License-Identifier: GPL-3.0-or-later
import { css } from 'lit';

export const formStyles = css`
  form { display: grid; grid-template-columns: minmax(0, 1fr); gap: var(--space-3); padding: var(--space-5); }
  @media (max-width: 420px) { form { padding: var(--space-4); } }
  form > [role='alert']:not(:has(kaas-notice)) { display: none; }
  legend, .field label { display: block; padding: 0; margin-bottom: var(--space-1); font-weight: 600; font-size: var(--type-dense); }

  .hint { font-size: var(--type-small); margin-top: var(--space-1); }
  .hint:empty { display: none; }
  .missing { color: var(--bad); font-weight: 600; }
  input[aria-invalid='true'] { border-color: var(--bad); }
  button { min-height: 42px; margin-top: var(--space-2); }
`;
