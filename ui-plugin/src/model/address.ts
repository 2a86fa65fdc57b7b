// The part of the page's address behind `#`: what is shown and how; and in front of it, from who made the link, the name of an HX cluster and the id of a cluster. Pure: whatever somebody
// writes there becomes a place that there is.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ClusterState, Sort } from '../api/types.js';
import { COLUMNS } from './columns.js';
import { STATES } from './format.js';

export const PAGE_SIZES = [25, 50, 100] as const;
export type PageSize = (typeof PAGE_SIZES)[number];

/** What the list is asked. */
export interface ListQuery {
  q: string;
  states: readonly ClusterState[];
  /** `key=value`, or empty. */
  label: string;
  hxClusterId: string;
  /** Name of an HX cluster whose id is not known yet. */
  hxName: string;
  /** Only what runs on an HX cluster at all, or only what does not; null: both. */
  onHx: boolean | null;
  sort: Sort;
  page: number;
  size: PageSize;
}

export const FIRST_QUERY: ListQuery = { q: '', states: [], label: '', hxClusterId: '', hxName: '', onHx: null, sort: '-state', page: 1, size: 50 };

/** The parts of a cluster's details, in their order. */
export const PARTS = ['summary', 'nodes', 'access', 'events'] as const;
export type Part = (typeof PARTS)[number];

export type View = 'clusters' | 'overview';

export interface Place {
  /** `connect`: the form that connects a cluster; `nowhere`: there is no such address. */
  view: View | 'connect' | 'nowhere';
  /** Of the cluster whose details are open; null for the list. */
  id: string | null;
  /** Of the details. */
  part: Part;
  query: ListQuery;
}

export const FIRST_PLACE: Place = { view: 'clusters', id: null, part: 'summary', query: FIRST_QUERY };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const TEXT_MAX = 100;
const HX_NAME_MAX = 256;
const LABEL_MAX = 320;
/** As far as the service counts (docs/openapi.yaml, `offset`). */
const OFFSET_MAX = 1_000_000;
const SORTS = new Set(COLUMNS.flatMap(({ sort }) => (sort ? [sort.ascending, sort.descending] : [])));

/** The place of an address; `search` is the part behind `?`, `hash` that behind `#`, each with its sign. */
export function readAddress(hash: string, search = ''): Place {
  const [path = '', asked = ''] = split(hash.replace(/^#/, ''));
  const query = readQuery(new URLSearchParams(asked));
  const given = new URLSearchParams(search);
  const cluster = given.get('cluster') ?? '';
  const shown = hash === '' && UUID.test(cluster) ? `/clusters/${cluster}` : path;
  const [, , id = '', named] = shown.split('/');
  const view = viewOf(shown);
  return {
    view,
    id: view === 'clusters' && id !== '' ? id : null,
    part: PARTS.find((part) => part === named) ?? 'summary',
    query: query.hxClusterId === '' && query.hxName === '' && query.onHx === null ? { ...query, ...readHx(given.get('hx_cluster')) } : query,
  };
}

function viewOf(path: string): Place['view'] {
  const [nothing, first = '', id = ''] = path.split('/');
  if (nothing !== '') return 'nowhere';
  if (first === 'overview' || (first === 'connect' && id === '')) return first;
  return first === '' || (first === 'clusters' && (id === '' || UUID.test(id))) ? 'clusters' : 'nowhere';
}

/** The part of the address behind `#`, with it. */
export function writeAddress({ view, id, part, query }: Place): string {
  if (view === 'overview' || view === 'connect') return `#/${view}`;
  const asked = writeQuery(query).toString();
  const path = ['#', 'clusters', ...(id === null ? [] : [id]), ...(id === null || part === 'summary' ? [] : [part])];
  return `${path.join('/')}${asked === '' ? '' : `?${asked}`}`;
}

/** The address of the list with this question. */
export function listAddress(query: Partial<ListQuery>): string {
  return writeAddress({ ...FIRST_PLACE, query: { ...FIRST_QUERY, ...query } });
}

function split(hash: string): [string, string] {
  const at = hash.indexOf('?');
  return at < 0 ? [hash, ''] : [hash.slice(0, at), hash.slice(at + 1)];
}

/** An HX cluster by id, or by what people call it. */
function readHx(asked: string | null): Pick<ListQuery, 'hxClusterId' | 'hxName'> {
  const called = text(asked, HX_NAME_MAX);
  return UUID.test(called) ? { hxClusterId: called, hxName: '' } : { hxClusterId: '', hxName: called };
}

function readQuery(asked: URLSearchParams): ListQuery {
  const sort = asked.get('sort') as Sort;
  const states = (asked.get('state') ?? '').split(',');
  const size = PAGE_SIZES.find((each) => String(each) === asked.get('size')) ?? FIRST_QUERY.size;
  return {
    q: text(asked.get('q'), TEXT_MAX),
    states: STATES.filter((state) => states.includes(state)),
    label: text(asked.get('label'), LABEL_MAX),
    ...readHx(asked.get('hx')),
    onHx: asked.has('hx') ? null : readFlag(asked.get('on_hx')),
    sort: SORTS.has(sort) ? sort : FIRST_QUERY.sort,
    page: pageNumber(asked.get('page'), size),
    size,
  };
}

function writeQuery(query: ListQuery): URLSearchParams {
  const { q, states, label, hxClusterId, hxName, onHx, sort, page, size } = query;
  const all: [string, string, string][] = [
    ['q', q.trim(), ''], ['state', states.join(), ''], ['label', label, ''], ['hx', hxClusterId || hxName, ''], ['on_hx', String(onHx ?? ''), ''], ['sort', sort, FIRST_QUERY.sort],
    ['page', String(page), '1'], ['size', String(size), String(FIRST_QUERY.size)],
  ];
  return new URLSearchParams(all.filter(([, value, usual]) => value !== usual).map(([name, value]) => [name, value]));
}

function text(value: string | null, max: number): string {
  return value === null || CONTROL.test(value) ? '' : value.slice(0, max);
}

function readFlag(value: string | null): boolean | null {
  return value === 'true' || value === 'false' ? value === 'true' : null;
}

/** One behind the last page becomes the last, when the service has told which that is. */
function pageNumber(value: string | null, size: PageSize): number {
  const page = Number(value ?? 1);
  return Number.isInteger(page) && page >= 1 ? Math.min(page, OFFSET_MAX / size + 1) : 1;
}
