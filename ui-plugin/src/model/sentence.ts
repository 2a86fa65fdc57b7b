// The service's words as a sentence.
// SPDX-License-Identifier: GPL-3.0-or-later

/** Names that begin small wherever they stand; those with a capital letter inside, such as vCenter, are seen by that. */
const SMALL_NAMES = new Set(['kaasd', 'kaasctl', 'kubectl']);

/** The service's words begin small and end without a stop. */
export function sentence(text: string): string {
  const first = /^[\w-]*/.exec(text)?.[0] ?? '';
  const isAddress = /^(?:[.:@]\w|:\/\/)/.test(text.slice(first.length));
  const isName = isAddress || first !== first.toLowerCase() || SMALL_NAMES.has(first);
  const whole = isName ? text : text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}
