// Which page numbers are offered; pure.
// SPDX-License-Identifier: GPL-3.0-or-later

const NEAR = 1;

/** First, last and the pages near `page`, in order; null where some are left out, unless it would stand for a single one. */
export function pagesAround(page: number, count: number): (number | null)[] {
  const wanted = [1, count];
  for (let n = page - NEAR; n <= page + NEAR; n += 1) wanted.push(n);
  const pages = [...new Set(wanted)].filter((n) => n >= 1 && n <= count).sort((a, b) => a - b);
  return pages.flatMap((n, i) => [...gapBefore(n, pages[i - 1] ?? 0), n]);
}

function gapBefore(n: number, before: number): (number | null)[] {
  if (n - before <= 1) return [];
  return n - before === 2 ? [n - 1] : [null];
}
