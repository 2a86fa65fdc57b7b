// The one-time code that a window gets from the page that opened it, in the part of the address that browsers send to nobody.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ApiClient } from '../api/client.js';
import { ApiError } from '../api/error.js';
import type { Token, Whoami } from '../api/types.js';

/** Asks the person at the page whether to go on as `next` where `now` is signed in. */
export type AskWhoGoesOn = (now: Whoami, next: Whoami) => Promise<boolean>;

const CODE = /[?&]code=([0-9a-f]{32})$/;

/** Takes the code out of the address of this window, before anybody sees it; null if there is none. */
export function takeCode(): string | null {
  const code = CODE.exec(location.hash)?.[1] ?? null;
  if (code !== null) history.replaceState(null, '', location.pathname + location.search + location.hash.replace(CODE, ''));
  return code;
}

/** The address of a window of its own that shows `hash` to who brings the code. */
export function addCode(hash: string, code: string): string {
  return new URL(`./${hash}${hash.includes('?') ? '&' : '?'}code=${code}`, document.baseURI).href;
}

/**
 * The session of a window that was opened with `code`. Anybody can make a code for a session of their own and send the link to somebody else, so who is
 * signed in at this browser (its cookie; `before`: the id of the tab's earlier session) is asked before another takes that place. Throws ApiError where
 * the code is good for nothing and nobody was signed in.
 */
export async function signInByCode(api: ApiClient, code: string, before: string | null, ask: AskWhoGoesOn): Promise<Token> {
  const kept = await api.loginCookie(before);
  if (kept === null) return await api.loginCode(code);
  let next: Token | null = null;
  try {
    next = await api.loginCode(code);
    const [now, other] = await Promise.all([api.whoami(kept.access_token), api.whoami(next.access_token)]);
    const goesOn = now.id === other.id || (await ask(now, other));
    await api.endSession(goesOn ? kept.access_token : next.access_token);
    return goesOn ? next : kept;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return kept;
  }
}
