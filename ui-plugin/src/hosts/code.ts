// The one-time code that a window gets from the page that opened it, in the part of the address that browsers send to nobody.
// SPDX-License-Identifier: GPL-3.0-or-later

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
