// What the browser keeps for this tab, until it is closed: choices of the person at it, nothing that lets anybody in.
// SPDX-License-Identifier: GPL-3.0-or-later

/** `account`: the one that signed in last. `signed-out`: signed out by one's own wish, so the page does not sign in by itself again. `columns`: of the list.
 * `session`: the id of this tab's session, which ends when the tab is loaded again; there between two loads only; without a token it opens nothing. */
export type TabChoice = 'account' | 'signed-out' | 'columns' | 'session';

const PREFIX = 'kaas.';

/** Null if nothing is kept, or the browser keeps nothing for pages in frames. */
export function recall(choice: TabChoice): string | null {
  try {
    return sessionStorage.getItem(PREFIX + choice);
  } catch {
    return null;
  }
}

/** Null forgets it. */
export function remember(choice: TabChoice, value: string | null): void {
  try {
    if (value === null) sessionStorage.removeItem(PREFIX + choice);
    else sessionStorage.setItem(PREFIX + choice, value);
  } catch {
    // It is asked for anew next time.
  }
}
