// The address: what was asked comes back from it, and whatever is written there becomes a place that there is.
// SPDX-License-Identifier: GPL-3.0-or-later
import { describe, expect, it } from 'vitest';
import { FIRST_PLACE, FIRST_QUERY, PARTS, readAddress, writeAddress, type ListQuery } from '../src/model/address.js';

const ID = '2f0b5d0e-7a57-4b8e-8a0e-5c1c5d9e7a01';

describe('the address', () => {
  it('of the usual list is short', () => {
    expect(writeAddress(FIRST_PLACE)).toBe('#/clusters');
    for (const hash of ['', '#', '#/', '#/clusters', '#/clusters?', '#?']) expect(readAddress(hash)).toEqual(FIRST_PLACE);
  });

  it('of the overview says no more', () => {
    expect(writeAddress({ ...FIRST_PLACE, view: 'overview' })).toBe('#/overview');
    expect(readAddress('#/overview')).toEqual({ ...FIRST_PLACE, view: 'overview' });
  });

  it('of the form that connects a cluster says no more', () => {
    expect(writeAddress({ ...FIRST_PLACE, view: 'connect' })).toBe('#/connect');
    expect(readAddress('#/connect')).toEqual({ ...FIRST_PLACE, view: 'connect' });
    expect(readAddress(`#/connect/${ID}`).view).toBe('nowhere');
  });

  it('keeps everything that is asked, and which cluster is open', () => {
    const query: ListQuery = {
      q: 'a&b=c #100% ü 🐳', states: ['failed', 'degraded'], label: 'team/x=a b', hxClusterId: ID, hxName: '', onHx: null, sort: '-created_at', page: 3, size: 100,
    };
    for (const part of PARTS) expect(readAddress(writeAddress({ ...FIRST_PLACE, id: ID, part, query }))).toEqual({ ...FIRST_PLACE, id: ID, part, query });
    expect(readAddress(writeAddress({ ...FIRST_PLACE, query }))).toEqual({ ...FIRST_PLACE, query });
  });

  it('that says nonsense is the usual one', () => {
    const nonsense = '#/clusters?q=%00&state=a,ready,b&sort=password&page=-1&size=7&hx=%07&label=%0a&more=1';
    expect(readAddress(nonsense)).toEqual({ ...FIRST_PLACE, query: { ...FIRST_QUERY, states: ['ready'] } });
    expect(readAddress(`#/clusters/${ID}/nonsense`)).toEqual({ ...FIRST_PLACE, id: ID });
    for (const page of ['0', '1.5', 'x', '']) expect(readAddress(`#/clusters?page=${page}`).query.page).toBe(1);
    expect(readAddress(`#/clusters?q=${'x'.repeat(500)}`).query.q).toHaveLength(100);
    expect(readAddress('#/clusters?q=%E0%A4%A').query.q).not.toBe('');
  });

  it('that there is not is told from the list', () => {
    for (const hash of ['#nonsense', '#/nonsense', '#/clusters/x', '#/Clusters', `#/nonsense/${ID}`]) expect([hash, readAddress(hash).view, readAddress(hash).id]).toEqual([hash, 'nowhere', null]);
    expect(readAddress('', '?cluster=x')).toEqual(FIRST_PLACE);
    expect(readAddress('', `?cluster=${ID}`).id).toBe(ID);
  });

  it('asks for no page that the service does not count to', () => {
    const page = (asked: string) => readAddress(`#/clusters?${asked}`).query.page;
    expect([page('page=99999'), page('page=1e99&size=25'), page('page=20000')]).toEqual([20_001, 40_001, 20_000]);
  });

  it('may name an HX cluster in front, unless one is chosen behind', () => {
    expect(readAddress('', '?hx_cluster=HX-East&x=1').query.hxName).toBe('HX-East');
    expect(readAddress(`#/clusters?hx=${ID}`, '?hx_cluster=HX-East').query).toMatchObject({ hxName: '', hxClusterId: ID });
    expect(readAddress('', '?hx_cluster=%01').query.hxName).toBe('');
    expect(readAddress('', `?hx_cluster=${ID}`).query).toMatchObject({ hxName: '', hxClusterId: ID });
    const query: ListQuery = { ...FIRST_QUERY, hxName: 'HX & East', q: 'x' };
    expect(readAddress(writeAddress({ ...FIRST_PLACE, query }))).toEqual({ ...FIRST_PLACE, query });
  });
});
