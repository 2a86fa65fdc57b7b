// What the browser keeps: choices of the person at it, nothing that lets anybody in. No view, no texts.
// SPDX-License-Identifier: GPL-3.0-or-later

/**
 * Kept for this address, for all tabs and for good: `account`, by which way somebody signed in last, not who; `put-away-version`, whose notice was put away.
 * Kept for this tab, until it is closed: `signed-out`, by one's own wish, so the page does not sign in by itself again; `columns` of the list; `session`, the id of
 * this tab's session, which ends when the tab is loaded again: there between two loads only, and without a token it opens nothing.
 */
export type Choice = 'account' | 'put-away-version' | 'signed-out' | 'columns' | 'session';

const PREFIX = 'kaas.';
const FOR_GOOD: readonly Choice[] = ['account', 'put-away-version'];

/** Throws where the browser keeps nothing for pages in frames. */
function storageOf(choice: Choice): Storage {
  return FOR_GOOD.includes(choice) ? localStorage : sessionStorage;
}

/** Null if nothing is kept. */
export function recall(choice: Choice): string | null {
  try {
    return storageOf(choice).getItem(PREFIX + choice);
  } catch {
    return null;
  }
}

/** Null forgets it. */
export function remember(choice: Choice, value: string | null): void {
  try {
    if (value === null) storageOf(choice).removeItem(PREFIX + choice);
    else storageOf(choice).setItem(PREFIX + choice, value);
  } catch {
    // It is asked for anew next time.
  }
}
