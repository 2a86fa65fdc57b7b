// What the list is made of: columns, page numbers, rows that move.
// SPDX-License-Identifier: GPL-3.0-or-later
import { describe, expect, it } from 'vitest';
import { COLUMNS, NARROW_COLUMNS, USUAL_COLUMNS, orderOf, readColumns, withColumn } from '../src/model/columns.js';
import { pagesAround } from '../src/model/pages.js';
import { countMoves, inPlace, numberRows } from '../src/model/rows.js';

describe('columns', () => {
  it('are remembered in their order, the name among them, whatever was kept', () => {
    expect(readColumns(null)).toBeNull();
    expect(readColumns('workers,state,nonsense')).toEqual(['state', 'name', 'workers']);
    expect(readColumns('')).toEqual(['name']);
  });
  it('come and go, but for the name', () => {
    expect(withColumn(['name', 'workers'], 'state', true)).toEqual(['state', 'name', 'workers']);
    expect(withColumn(['state', 'name'], 'state', false)).toEqual(['name']);
    expect(withColumn(['state', 'name'], 'name', false)).toEqual(['state', 'name']);
  });
  it('are fewer where there is little room', () => {
    expect(USUAL_COLUMNS).not.toContain('changed');
    expect(USUAL_COLUMNS.filter((id) => !NARROW_COLUMNS.includes(id))).toEqual(['labels']);
  });
  it('know their order: an age goes up while its beginning goes down', () => {
    const column = (id: string) => COLUMNS.find((each) => each.id === id)!;
    expect(['name', '-name', 'state'].map((sort) => orderOf(column('name'), sort as 'name'))).toEqual(['ascending', 'descending', 'none']);
    expect(orderOf(column('age'), 'created_at')).toBe('descending');
    expect(orderOf(column('access'), 'name')).toBe('none');
  });
});

describe('page numbers', () => {
  it.each([
    [1, 1, [1]], [1, 3, [1, 2, 3]], [1, 9, [1, 2, null, 9]], [5, 9, [1, null, 4, 5, 6, null, 9]], [4, 9, [1, 2, 3, 4, 5, null, 9]], [9, 9, [1, null, 8, 9]],
  ])('around %i of %i', (page, count, pages) => expect(pagesAround(page, count)).toEqual(pages));
});

describe('rows', () => {
  const rows = (ids: string) => [...ids].map((id) => ({ id }));
  it.each([['abc', 'abc', 0], ['abc', 'acb', 2], ['abc', 'abd', 2], ['abc', 'bc', 1], ['abc', 'xabc', 1], ['', 'ab', 2]])('%s to %s moves %i', (shown, next, n) => {
    expect(countMoves(rows(shown), rows(next))).toBe(n);
  });
  it('keep their places with what is new of them', () => {
    expect(inPlace([{ id: 'a', n: 1 }, { id: 'b', n: 1 }], [{ id: 'c', n: 2 }, { id: 'a', n: 2 }])).toEqual([{ id: 'a', n: 2 }, { id: 'b', n: 1 }]);
  });
  it('keep their numbers, and leave them to others when they go', () => {
    let numbers = numberRows(new Map(), rows('abc'));
    for (const [next, those] of [['cxa', [2, 1, 0]], ['y', [2]], ['azby', [3, 4, 5, 2]]] as const) {
      numbers = numberRows(numbers, rows(next));
      expect([...numbers.values()]).toEqual(those);
    }
  });
});
