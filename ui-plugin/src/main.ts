// The entry: makes the api client and the session and hands them to the one element of the page.
// SPDX-License-Identifier: GPL-3.0-or-later
import { ApiClient } from './api/client.js';
import { Session } from './session/session.js';
import './views/app.js';

// The page is at <somewhere>/ui/, the interface at <somewhere>/v2/: relative, so that a path prefix of a proxy does no harm.
const api = new ApiClient({ base: new URL('../v2/', document.baseURI).href, fetch: window.fetch.bind(window) });
const session = new Session(api);
const app = document.querySelector('kaas-app');
if (app) {
  app.api = api;
  app.session = session;
}
