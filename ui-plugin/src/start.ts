// Puts the page together from what its host gives: a browser tab of its own today; a panel in another product has its own values.
// SPDX-License-Identifier: GPL-3.0-or-later
import { ApiClient } from './api/client.js';
import { Session } from './session/session.js';
import { chooseLanguage } from './strings/index.js';
import type { App } from './views/app.js';

export type Theme = 'light' | 'dark';

export interface Host {
  /** Absolute address of `/v2/`, with the slash at the end. */
  base: string;
  fetch: typeof fetch;
  /** Languages in the order in which they are wanted, such as `de-AT`. */
  languages: readonly string[];
  /** Null: as the browser has it. */
  theme: Theme | null;
  /** Makes the session; without it people sign in by the form. */
  session?: (api: ApiClient) => Session;
}

/** Starts `app`, which fills the document. */
export function start(app: App, host: Host): void {
  document.documentElement.lang = chooseLanguage(host.languages);
  setTheme(host.theme);
  const api = new ApiClient({ base: host.base, fetch: host.fetch });
  app.api = api;
  app.session = host.session?.(api) ?? new Session(api);
}

/** Takes effect at once. */
export function setTheme(theme: Theme | null): void {
  if (theme === null) delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
