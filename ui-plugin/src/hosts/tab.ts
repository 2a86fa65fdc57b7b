// The page in a browser tab of its own.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ApiClient } from '../api/client.js';
import type { Token } from '../api/types.js';
import { signInByCode, takeCode } from './code.js';
import { recall, remember } from '../session/memory.js';
import { start } from '../start.js';
import type { App } from '../views/app.js';

export function startTab(app: App): void {
  const code = takeCode();
  const before = recall('session');
  let isFirst = true;

  // A browser copies what it keeps for a tab when the tab is duplicated, so the id is there only from one load to the next.
  remember('session', null);

  /** When the page is loaded, and not again: opened by a page where somebody was signed in, or loaded anew. */
  async function signIn(api: ApiClient): Promise<Token | null> {
    if (!isFirst) return null;
    isFirst = false;
    if (code !== null) return await signInByCode(api, code, before, app.askWhoGoesOn);
    return recall('signed-out') === null ? await api.loginCookie(before) : null;
  }

  const session = start(app, {
    // The page is at <somewhere>/ui/, the interface at <somewhere>/v2/: relative, so that a path prefix of a proxy does no harm.
    base: new URL('../v2/', document.baseURI).href,
    fetch: window.fetch.bind(window),
    languages: navigator.languages,
    theme: null,
    isFramed: false,
    hasAccount: false,
    scope: null,
    card: null,
    openVm: null,
    keepsCookie: true,
    signIn,
    tell: () => undefined,
  });
  window.addEventListener('pagehide', () => remember('session', session.id ?? before));
  window.addEventListener('pageshow', ({ persisted }) => persisted && remember('session', null)); // gone back to, and alive
}
