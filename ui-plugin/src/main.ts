// The entry of the page in a browser tab of its own.
// SPDX-License-Identifier: GPL-3.0-or-later
import { takeCode } from './hosts/code.js';
import { start } from './start.js';
import './views/app.js';

let code = takeCode();
const app = document.querySelector('kaas-app');
if (app) {
  start(app, {
    // The page is at <somewhere>/ui/, the interface at <somewhere>/v2/: relative, so that a path prefix of a proxy does no harm.
    base: new URL('../v2/', document.baseURI).href,
    fetch: window.fetch.bind(window),
    languages: navigator.languages,
    theme: null,
    isFramed: false,
    hasAccount: false,
    scope: null,
    openVm: null,
    /** Opened by a page where somebody was signed in: once. */
    signIn: async (api) => {
      const once = code;
      code = null;
      return once === null ? null : await api.loginCode(once);
    },
    tell: () => undefined,
  });
}
