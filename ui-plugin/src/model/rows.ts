// Rows that stay where they are while somebody reads them, and what becomes of those that have gone; pure.
// SPDX-License-Identifier: GPL-3.0-or-later

interface Row {
  id: string;
}

/** How many rows have come, gone or changed places between these two. */
export function countMoves(shown: readonly Row[], next: readonly Row[]): number {
  const was = new Set(shown.map(({ id }) => id));
  const is = new Set(next.map(({ id }) => id));
  const stayed = shown.filter(({ id }) => is.has(id));
  const now = next.filter(({ id }) => was.has(id));
  const moved = stayed.filter(({ id }, place) => now[place]?.id !== id).length;
  return (shown.length - stayed.length) + (next.length - now.length) + moved;
}

/** The rows that are shown, each with what is known of it now. */
export function inPlace<T extends Row>(shown: readonly T[], next: readonly T[]): T[] {
  const fresh = new Map(next.map((row) => [row.id, row]));
  return shown.map((row) => fresh.get(row.id) ?? row);
}

/** A number for each row: the one that it had, else that of a row that has gone, whose elements are used again, else a new one. */
export function numberRows(before: ReadonlyMap<string, number>, rows: readonly Row[]): Map<string, number> {
  const kept = new Set(rows.map(({ id }) => before.get(id)));
  const gone = [...before.values()].filter((number) => !kept.has(number));
  let next = Math.max(-1, ...before.values()) + 1;
  return new Map(rows.map(({ id }) => [id, before.get(id) ?? gone.shift() ?? next++]));
}
