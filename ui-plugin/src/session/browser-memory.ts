// What the browser keeps for this address, for all tabs and for good: choices that are worth it, nothing that lets anybody in.
// SPDX-License-Identifier: GPL-3.0-or-later

const PUT_AWAY = 'kaas.put-away-version';

/** The version whose notice was put away; null if none was, or the browser keeps nothing for pages in frames. */
export function recallPutAway(): string | null {
  try {
    return localStorage.getItem(PUT_AWAY);
  } catch {
    return null;
  }
}

export function rememberPutAway(version: string): void {
  try {
    localStorage.setItem(PUT_AWAY, version);
  } catch {
    // It is shown again next time.
  }
}
