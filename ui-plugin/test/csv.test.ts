// The file for spreadsheets: all rows, one form for every text, nothing that runs.
// SPDX-License-Identifier: GPL-3.0-or-later
import { describe, expect, it, vi } from 'vitest';
import type { Answer } from '../src/api/client.js';
import type { Cluster, ClusterPage, ClusterQuery } from '../src/api/types.js';
import { clustersToCsv, readAll, toCsv } from '../src/model/csv.js';
import { strings } from '../src/strings/index.js';

const CLUSTER = {
  id: 'i', name: '=cmd|x', description: 'a "b",\nc', state: 'degraded', state_reason: '4 of 5 workers are ready', state_source: 'reported', state_since: null, state_by: null,
  kubernetes_version: '1.31.2', api_endpoint: 'https://a:6443', dashboard_url: null, control_plane: { ready: null, desired: 3 }, workers: { ready: 4, desired: 5 },
  placement: { source: 'observed', hidden: 0, hx_clusters: [{ id: 'h', name: 'HX-East', name_source: 'vcenter' as const, hx_uuid: null }], vsphere_clusters: [{ vcenter_id: 'v', datacenter: 'DC0', moref: 'm', name: 'East' }] },
  labels: { team: 'shop', tier: 'back' }, created_at: '2026-03-01T00:00:00Z', updated_at: '2026-03-02T00:00:00Z', observed_at: null,
} as Partial<Cluster> as Cluster; // a member more is no matter of this file

/** All cells of `file`, as a spreadsheet reads them that divides by `separator`: a quotation mark counts only where a cell begins. */
function readCsv(file: string, separator: string): string[] {
  const cells: string[] = [];
  for (let at = 0; at < file.length; ) {
    let text = '';
    if (file[at] === '"') {
      for (at += 1; at < file.length && (file[at] !== '"' || file[at + 1] === '"'); at += 1) {
        text += file[at];
        if (file[at] === '"') at += 1;
      }
      at += 1;
    }
    for (; at < file.length && file[at] !== separator && file[at] !== '\n'; at += 1) if (file[at] !== '\r') text += file[at];
    cells.push(text);
    at += 1;
  }
  return cells;
}

describe('the file', () => {
  it('has a head and every value of a cluster', () => {
    const [head, row, ...rest] = clustersToCsv([CLUSTER]).replace('\ufeff', '').split('\r\n');
    expect(head).toBe(Object.values(strings.table.csv).join());
    expect(row).toBe(`'=cmd|x,"a ""b"",\nc",Degraded,4 of 5 workers are ready.,1.31.2,,3,4,5,HX-East,DC0 / East,https://a:6443,,"team=shop; tier=back",2026-03-01T00:00:00Z,2026-03-02T00:00:00Z,i`);
    expect(rest).toEqual(['']);
  });

  it('tells HX clusters of one name apart', () => {
    const on = (...hx_clusters: { id: string; path: string }[]) => ({ ...CLUSTER, placement: { ...CLUSTER.placement, hx_clusters: hx_clusters.map((hx) => ({ ...hx, name: 'HX-East', name_source: 'hx' as const, hx_uuid: null })) } });
    const [east, far] = [{ id: '1', path: 'DC0/HX-East' }, { id: '2', path: 'DC1/HX-East' }];
    const file = clustersToCsv([on(east), on(east, far)]);
    for (const text of [',HX-East (DC0/HX-East),', ',"HX-East (DC0/HX-East); HX-East (DC1/HX-East)",']) expect(file).toContain(text);
  });

  it.each(['=1+1', '+1', '-1', '@x'])('takes no formula: %j', (text) => {
    expect(toCsv([[text]]).replace(/["\ufeff]|\r\n$/g, '')).toBe(`'${text}`);
  });

  it.each([
    ';=1+1', 'a;=1+1;b', '; =1+1', 'a\n=1+1', 'a\r\n=1+1', 'a\t=1+1', 'a,=1+1', ';"=1+1"', '";=1+1', '"=1+1', ' =1+1', ';\uff1d1+1', 'x;;=1+1', 'x; \t=1+1', '\n\n+1', ';-1', ';@x', '";""=1+1"',
  ])('is no formula by whichever sign cells are divided: %j', (text) => {
    const file = toCsv([['a', text, 'b'], [text]]).replace('\ufeff', '');
    for (const separator of [',', ';', '\t'])
      for (const value of readCsv(file, separator)) expect(value.trimStart().replace(/^"+/, '')).not.toMatch(/^[=+\-@\uff1d]/);
  });

  it('leaves alone what is no formula', () => {
    for (const text of ['a;b', 'a=b; c=d', 'x - y', 'mail@example.com', '3 + 4', 'HX-East; HX-West']) expect(readCsv(toCsv([[text]]).replace('\ufeff', ''), ',')).toEqual([text]);
  });

  it('keeps numbers numbers, begins with the mark of UTF-8', () => {
    expect(toCsv([[-1, 'a-b', null]])).toBe('\ufeff-1,a-b,\r\n');
  });
});

describe('all rows', () => {
  it('are read from page to page, and it is told how far that is', async () => {
    const answer = (name: string, next: string | null): Answer<ClusterPage> => ({
      notModified: false, etag: null, asOf: null, stale: [], watchCursor: null, body: { items: [{ ...CLUSTER, name }], next_cursor: next, total: 2 } });
    const listClusters = vi.fn(async (query: ClusterQuery) => (query.cursor === 'c' ? answer('b', null) : answer('a', 'c')));
    const progress = vi.fn();
    const rows = await readAll({ listClusters }, { q: 'x', sort: 'name', offset: 50, limit: 50 }, progress, new AbortController().signal);
    expect(rows.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(listClusters.mock.calls.map(([query]) => query)).toEqual([{ q: 'x', sort: 'name', limit: 500 }, { q: 'x', sort: 'name', limit: 500, cursor: 'c' }]);
    expect(progress.mock.calls).toEqual([[1, 2], [2, 2]]);
  });
});
