// The page in the frame of HX Connect, or of another page that may show it.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ApiClient } from '../api/client.js';
import type { Token } from '../api/types.js';
import { start, type Theme } from '../start.js';
import type { App } from '../views/app.js';
import { askHost, tell, type HostState, type Surroundings } from './hand-over.js';

/** Outside every frame there is nobody to ask. */
const isFramed = window.parent !== window;
/** The service writes into the page who may show it, as it tells the browser (Content-Security-Policy). */
const origins = (document.querySelector<HTMLMetaElement>('meta[name="kaas-hosts"]')?.content ?? '').split(' ').filter((origin) => origin !== '');

const around: Surroundings = {
  parent: window.parent,
  listen(onMessage) {
    window.addEventListener('message', onMessage);
    return () => window.removeEventListener('message', onMessage);
  },
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  nonce: () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join(''),
};

async function signIn(api: ApiClient): Promise<Token | null> {
  const credential = await askHost(origins, around);
  if (credential === null) return null;
  const { origin } = credential;
  if ('code' in credential) return await api.loginCode(credential.code, origin);
  return await api.loginTicket(credential.vcenter, credential.cloneTicket);
}

function themeOf(text: string | null): Theme | null {
  return text === 'light' || text === 'dark' ? text : null;
}

export function startPanel(app: App): void {
  const asked = new URLSearchParams(location.search);
  const wanted = asked.get('locale');
  if (!isFramed) app.ownPage = new URL(`./${location.search}${location.hash}`, document.baseURI).href;
  start(app, {
    base: new URL('../v2/', document.baseURI).href,
    fetch: window.fetch.bind(window),
    languages: wanted === null ? navigator.languages : [wanted, ...navigator.languages],
    theme: themeOf(asked.get('theme')),
    isFramed,
    hasAccount: false,
    scope: null,
    card: null,
    openVm: null,
    keepsCookie: false,
    signIn: isFramed ? signIn : null,
    tell: (state: HostState) => isFramed && tell(origins, window.parent, { type: 'kaas:state', state }),
  });
}
