// How far a job is: a bar in the colour of the text around it.
// SPDX-License-Identifier: GPL-3.0-or-later
import { css } from 'lit';

export const progressStyles = css`
  progress { display: block; width: 100%; height: 8px; border: 0; border-radius: 2px; background: var(--line); color: inherit; appearance: none; overflow: hidden; }
  progress::-webkit-progress-bar { background: var(--line); }
  progress::-webkit-progress-value { background: currentColor; }
  progress::-moz-progress-bar { background: currentColor; }
  @media (forced-colors: active) { progress { appearance: auto; } }
`;
