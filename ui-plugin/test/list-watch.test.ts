// Following the list: when it says that something has changed, when it rests, how it backs off.
// SPDX-License-Identifier: GPL-3.0-or-later
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Watched } from '../src/api/client.js';
import { ApiError } from '../src/api/error.js';
import type { ClusterQuery } from '../src/api/types.js';
import { ListWatch } from '../src/model/list-watch.js';

const QUERY: ClusterQuery = { q: '', hx_cluster_id: '' };

/** Requests that the test answers. */
interface Held {
  query: ClusterQuery;
  cursor: string;
  signal: AbortSignal;
  answer(changed: boolean, cursor: string): Promise<void>;
  refuse(error: unknown): Promise<void>;
}

let held: Held[];
let timers: { ms: number; run: () => void; cancelled: boolean }[];
let watch: ListWatch;
const changed = vi.fn();
const same = vi.fn();
const silent = vi.fn();

const settle = async (): Promise<void> => {
  for (let n = 0; n < 5; n += 1) await Promise.resolve();
};

const clock = {
  after: (ms: number, run: () => void) => {
    const timer = { ms, run, cancelled: false };
    timers.push(timer);
    return timer;
  },
  cancel: (timer: unknown) => {
    (timer as { cancelled: boolean }).cancelled = true;
  },
};

function watchClusters(query: ClusterQuery, cursor: string, signal: AbortSignal): Promise<Watched> {
  return new Promise((done, fail) => {
    held.push({
      query, cursor, signal,
      answer: (is, next) => { done({ changed: is, cursor: next }); return settle(); },
      refuse: (error) => { fail(error as Error); return settle(); },
    });
  });
}

function refusal(code: string, status: number, retryAfterS: number | null = null): ApiError {
  return new ApiError({ kind: 'problem', problem: { type: '', title: '', status, code, detail: '', request_id: '' }, retryAfterS });
}

beforeEach(() => {
  held = [];
  timers = [];
  for (const told of [changed, same, silent]) told.mockReset();
  watch = new ListWatch({ watchClusters }, { changed, same, silent }, clock);
});

describe('following', () => {
  it('asks with the cursor of the answer before, and tells what each answer says', async () => {
    watch.follow(QUERY);
    expect(held[0]?.cursor).toBe('');
    await held[0]?.answer(true, 'c1');
    expect([held[1]?.cursor, changed.mock.calls.length]).toEqual(['c1', 1]);
    expect(same).not.toHaveBeenCalled();
    await held[1]?.answer(false, 'c1');
    expect([held[2]?.cursor, changed.mock.calls.length, same.mock.calls.length]).toEqual(['c1', 1, 1]);
    await held[2]?.answer(true, 'c2');
    expect([held[3]?.cursor, changed.mock.calls.length]).toEqual(['c2', 2]);
  });

  it('goes on from the cursor of who has read the list', async () => {
    watch.follow(QUERY, 'c1');
    expect(held[0]?.cursor).toBe('c1');
    watch.follow(QUERY, 'c2');
    expect(held).toHaveLength(1);
  });

  it('begins anew for another question, and drops the answer to the one before', async () => {
    watch.follow(QUERY);
    watch.follow({ ...QUERY });
    expect(held).toHaveLength(1);
    watch.follow({ ...QUERY, q: 'x' });
    expect([held.length, held[0]?.signal.aborted, held[1]?.cursor, held[1]?.query.q]).toEqual([2, true, '', 'x']);
    await held[0]?.answer(true, 'late');
    expect([held.length, changed.mock.calls.length]).toEqual([2, 0]);
  });
});

describe('resting', () => {
  it('gives up the request and asks for nothing until it follows again', async () => {
    watch.follow(QUERY);
    watch.rest();
    expect(held[0]?.signal.aborted).toBe(true);
    await held[0]?.refuse(new DOMException('', 'AbortError'));
    expect([held.length, timers.length]).toEqual([1, 0]);
    watch.follow(QUERY);
    expect([held.length, held[1]?.cursor]).toEqual([2, '']);
  });

  it('ends a pause', async () => {
    watch.follow(QUERY);
    await held[0]?.refuse(new ApiError({ kind: 'unreachable' }));
    watch.rest();
    expect(timers[0]?.cancelled).toBe(true);
  });
});

describe('failures', () => {
  it('are followed by growing pauses, then by a look at the list', async () => {
    watch.follow(QUERY);
    for (let n = 0; n < 7; n += 1) {
      await held[n]?.refuse(new ApiError({ kind: 'unreachable' }));
      expect(held).toHaveLength(n + 1);
      timers[n]?.run();
      expect(changed).toHaveBeenCalledTimes(n + 1);
    }
    expect(timers.map((timer) => timer.ms)).toEqual([2000, 4000, 8000, 16000, 32000, 60000, 60000]);
    await held[7]?.answer(true, 'c1');
    await held[8]?.refuse(new ApiError({ kind: 'timeout' }));
    expect(timers.at(-1)?.ms).toBe(2000);
  });

  it('are told at once when the service is silent', async () => {
    watch.follow(QUERY);
    await held[0]?.refuse(new ApiError({ kind: 'unreachable' }));
    expect(silent).not.toHaveBeenCalled();
    timers[0]?.run();
    await held[1]?.refuse(new ApiError({ kind: 'timeout' }));
    expect([silent.mock.calls.length, changed.mock.calls.length]).toEqual([1, 1]);
  });

  it('wait as long as the service asks', async () => {
    watch.follow(QUERY);
    await held[0]?.refuse(refusal('too_many_requests', 429, 5));
    expect(timers[0]?.ms).toBe(5000);
  });

  it('of the session end it', async () => {
    watch.follow(QUERY);
    await held[0]?.refuse(refusal('session_ended', 401));
    expect([held.length, timers.length]).toEqual([1, 0]);
  });
});
