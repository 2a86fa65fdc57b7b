// Puts the page together from what its host gives: a browser tab of its own, the frame of HX Connect, the vSphere Client.
// SPDX-License-Identifier: GPL-3.0-or-later
import { ApiClient } from './api/client.js';
import type { CardSubject, ClusterScope, Token } from './api/types.js';
import type { HostState } from './hosts/hand-over.js';
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
  /** The page is a part of another one. */
  isFramed: boolean;
  /** Who is there is the host's affair: the page shows no person and no way out. */
  hasAccount: boolean;
  /** What alone is looked at; null: everything. */
  scope: ClusterScope | null;
  /** A card says in a few words what runs on this; null: the page is a whole one. */
  card: CardSubject | null;
  /** Shows a virtual machine by its address in the vSphere Client; null: the browser does, in another tab. */
  openVm: ((clientUrl: string) => void) | null;
  /** A page that is loaded again goes on where it was: it has an address, and a browser, of its own. */
  keepsCookie: boolean;
  /** Signs in without a form, at the start and when a session is over; its answer is null where that does not work now. Null: nobody is there who could. */
  signIn: ((api: ApiClient) => Promise<Token | null>) | null;
  /** What becomes of the session. */
  tell: (state: HostState) => void;
}

/** Starts `app`, which fills the document. The answer is who is signed in. */
export function start(app: App, host: Host): Session {
  document.documentElement.lang = chooseLanguage(host.languages);
  setTheme(host.theme);
  const api = new ApiClient({ base: host.base, fetch: host.fetch, keepsCookie: host.keepsCookie });
  const { signIn } = host;
  const session = new Session(api, signIn && (() => signIn(api)));
  app.api = api;
  app.isFramed = host.isFramed;
  app.hasAccount = host.hasAccount;
  app.scope = host.scope;
  app.card = host.card;
  app.openVm = host.openVm;
  app.session = session;
  let isSignedIn = false;
  session.subscribe(() => {
    if (session.state.signedIn === isSignedIn) return;
    isSignedIn = session.state.signedIn;
    host.tell(isSignedIn ? 'signed-in' : 'signed-out');
  });
  if (!host.keepsCookie) window.addEventListener('pagehide', ({ persisted }) => !persisted && leave(api, session.token()));
  void session.resume();
  return session;
}

/** Without a cookie nobody goes on with the session of a page that is gone: it would only take the place of another one of the same person. */
function leave(api: ApiClient, token: string | null): void {
  if (token !== null) api.endSession(token).catch(() => undefined);
}

/** Takes effect at once. */
export function setTheme(theme: Theme | null): void {
  if (theme === null) delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
