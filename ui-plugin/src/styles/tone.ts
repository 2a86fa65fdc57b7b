// The colours by which a state or a number is to be taken.
// SPDX-License-Identifier: GPL-3.0-or-later
import { css } from 'lit';

export const toneStyles = css`
  .good { color: var(--good); }
  .warning { color: var(--warning); }
  .bad { color: var(--bad); }
  .busy { color: var(--busy); }
  .neutral, .hollow { color: var(--neutral); }
  .hollow .share rect:not(.ground) { fill: none; stroke: currentColor; }
`;
