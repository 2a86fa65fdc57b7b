// The columns of the list: which there are, by what they sort, which of them somebody wants to see; pure.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { Sort } from '../api/types.js';

export type ColumnId = 'state' | 'name' | 'version' | 'controlPlane' | 'workers' | 'placement' | 'access' | 'labels' | 'age' | 'changed';
export type Order = 'ascending' | 'descending';

export interface Column {
  id: ColumnId;
  /** How to ask for each order; an age goes up while the time of its beginning goes down. */
  sort?: Record<Order, Sort>;
  /** The order that a first click on the column asks for; ascending if it is not said. */
  first?: Order;
  /** Not there unless somebody wants it. */
  isExtra?: boolean;
}

const by = (ascending: Sort, descending: Sort): Record<Order, Sort> => ({ ascending, descending });

/** In the order in which they stand. */
export const COLUMNS: readonly Column[] = [
  { id: 'state', sort: by('state', '-state'), first: 'descending' }, // the worst first
  { id: 'name', sort: by('name', '-name') },
  { id: 'version', sort: by('kubernetes_version', '-kubernetes_version') },
  { id: 'controlPlane', sort: by('control_plane', '-control_plane') },
  { id: 'workers', sort: by('workers', '-workers') },
  { id: 'placement', sort: by('hx_cluster', '-hx_cluster') },
  { id: 'access' },
  { id: 'labels' },
  { id: 'age', sort: by('-created_at', 'created_at') },
  { id: 'changed', sort: by('-updated_at', 'updated_at'), isExtra: true },
];

/** Without a name a row says nothing. */
export const ALWAYS: ColumnId = 'name';

export const USUAL_COLUMNS: readonly ColumnId[] = COLUMNS.filter((column) => !column.isExtra).map(({ id }) => id);
/** Where there is room for no more, as in a frame beside a tree of objects. */
export const NARROW_COLUMNS: readonly ColumnId[] = USUAL_COLUMNS.filter((id) => id !== 'labels');

/** What was remembered; null if that is nothing. */
export function readColumns(text: string | null): readonly ColumnId[] | null {
  if (text === null) return null;
  const wanted = new Set([ALWAYS, ...text.split(',')]);
  return COLUMNS.map(({ id }) => id).filter((id) => wanted.has(id));
}

/** `columns` with this one added or left out. */
export function withColumn(columns: readonly ColumnId[], id: ColumnId, isShown: boolean): readonly ColumnId[] {
  return COLUMNS.map((column) => column.id).filter((each) => (each === id ? isShown || id === ALWAYS : columns.includes(each)));
}

/** In which order `sort` puts the rows by this column. */
export function orderOf(column: Column, sort: Sort): Order | 'none' {
  if (column.sort?.ascending === sort) return 'ascending';
  return column.sort?.descending === sort ? 'descending' : 'none';
}

/** What a click on this column asks for: its first order, or the other one where the rows are in that already. */
export function nextOrder(column: Column, sort: Sort): Order {
  const first = column.first ?? 'ascending';
  return orderOf(column, sort) !== first ? first : first === 'ascending' ? 'descending' : 'ascending';
}
