// Jobs: how far they are, in which words, which one a cluster is told of by, and those of a list.
// SPDX-License-Identifier: GPL-3.0-or-later
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Call } from '../src/api/client.js';
import { ApiError } from '../src/api/error.js';
import type { JobState, JobStep } from '../src/api/types.js';
import { duration, findJob, isUnderWay, jobTitle, percentOf, stepTitle } from '../src/model/job.js';
import { RowJobs, type RowJob } from '../src/model/row-jobs.js';
import { chooseLanguage } from '../src/strings/index.js';

const step = (state: JobStep['state'], percent: number | null = null): JobStep =>
  ({ number: 0, name: 'clone', item: null, title: 'clone', state, started_at: null, ended_at: null, percent, reason: null, remedy: null });
const refusal = (code: string): ApiError => new ApiError({ kind: 'problem', problem: { type: '', title: '', status: 404, code, detail: '', request_id: '' }, retryAfterS: null });
const signal = new AbortController().signal;

/** By path: what the service has. */
let jobs: { id: string; kind: string; title: string; object_id: string | null; state: JobState; steps: JobStep[] }[];
let asked: string[];
const call = vi.fn<(call: Call) => Promise<unknown>>();
const api = { call: call as never };

beforeEach(() => {
  jobs = [];
  asked = [];
  call.mockReset();
  call.mockImplementation(async ({ path, query }) => {
    asked.push([path, ...Object.values(query ?? {})].join(' '));
    if (path !== 'jobs') return { body: jobs.find(({ id }) => path === `jobs/${id}`) };
    return { body: { items: jobs.filter(({ object_id, state }) => object_id === (query?.['object_id'] ?? object_id) && state === (query?.['state'] ?? state)) } };
  });
});

afterEach(() => chooseLanguage(['en']));

const job = (id: string, object_id: string | null, state: JobState, steps: JobStep[] = []) => ({ id, kind: 'cluster.create', title: 'create the cluster', object_id, state, steps });

describe('how far a job is', () => {
  it.each([
    [[], 0],
    [[step('pending'), step('pending')], 0],
    [[step('done'), step('running')], 50],
    [[step('done'), step('waiting', 40)], 70],
    [[step('done'), step('failed', 90), step('undone', 90)], 33],
    [[step('done'), step('done'), step('running', 99)], 99],
    [[step('done'), step('done')], 100],
  ])('%#', (steps, percent) => expect(percentOf(steps)).toBe(percent));
});

describe('words', () => {
  it('are those of the page, else of the service', () => {
    const of = { name: 'clone', item: 'uuid', title: 'clone the template: control plane 2' };
    expect([jobTitle({ kind: 'cluster.create', title: 'x' }), jobTitle({ kind: 'new.kind', title: 'do it' })]).toEqual(['Create the cluster', 'Do it']);
    expect([stepTitle('cluster.create', of), stepTitle('new.kind', of), stepTitle('new.kind', { name: 'a', item: null, title: 'say: it' })]).toEqual(
      ['Clone the template: control plane 2', 'Clone the template: control plane 2', 'Say: it']);
    chooseLanguage(['de-AT']);
    expect([stepTitle('cluster.create', of), stepTitle('cluster.delete', { name: 'off', item: 'uuid', title: 'shut down: prod-worker-x' })]).toEqual(
      ['Die Vorlage klonen: Control Plane 2', 'Herunterfahren: prod-worker-x']);
  });

  it.each([[0, '0 sec'], [59.4, '59 sec'], [125, '2 min 5 sec'], [3840, '1 hr 4 min']])('%d seconds are %s', (s, text) =>
    expect(duration('2026-03-01T00:00:00Z', new Date(Date.parse('2026-03-01T00:00:00Z') + s * 1000).toISOString())).toBe(text));

  it('of states say which are under way', () => {
    expect((['queued', 'running', 'undoing', 'done', 'failed', 'canceled'] as const).filter(isUnderWay)).toEqual(['queued', 'running', 'undoing']);
  });
});

describe('the job of a cluster', () => {
  it.each([['queued', true], ['running', true], ['undoing', true], ['failed', true], ['done', false], ['canceled', false]] as const)('that is %s is told of: %s', async (state, isTold) => {
    jobs = [job('j', 'c', state)];
    expect((await findJob(api, 'c', undefined, signal))?.id).toBe(isTold ? 'j' : undefined);
    expect((await findJob(api, 'c', 'j', signal))?.id).toBe('j');
  });

  it('is none where the service has none, or knows no jobs', async () => {
    expect(await findJob(api, 'c', undefined, signal)).toBeNull();
    call.mockRejectedValueOnce(refusal('not_found'));
    expect(await findJob(api, 'c', undefined, signal)).toBeNull();
    call.mockRejectedValueOnce(refusal('unavailable'));
    await expect(findJob(api, 'c', undefined, signal)).rejects.toThrow(ApiError);
  });
});

describe('the jobs of a list', () => {
  const told: Record<string, RowJob>[] = [];
  const rows = (): RowJobs => new RowJobs(api, (found) => told.push(Object.fromEntries(found)));
  beforeEach(() => told.splice(0));

  it('are those at work on its rows', async () => {
    jobs = [job('1', 'a', 'running', [step('done'), step('pending')]), job('2', 'b', 'undoing', [step('undone')]), job('3', 'c', 'failed'), job('4', 'other', 'running'), job('5', null, 'running'), job('6', 'd', 'queued', [step('pending')])];
    await rows().look(['a', 'b', 'c', 'd']);
    expect(told).toEqual([{ a: { title: 'Create the cluster', percent: 50 }, b: { title: 'Create the cluster', percent: 0 }, d: { title: 'Create the cluster', percent: 0 } }]);
    expect(asked).toEqual(['jobs queued 500', 'jobs running 500', 'jobs undoing 500', 'jobs/6', 'jobs/1', 'jobs/2']);
  });

  it('are asked for by one look at a time, and for no rows not at all', async () => {
    jobs = [job('1', 'a', 'running', [step('pending')])];
    const of = rows();
    await Promise.all([of.look(['a']), of.look(['x']), of.look([])]);
    expect([told.length, Object.keys(told[0] ?? {}), told.at(-1), asked.length]).toEqual([2, ['a'], {}, 4]);
  });

  it('stay when a call fails, and say nothing when the list has gone', async () => {
    call.mockRejectedValueOnce(refusal('busy'));
    const of = rows();
    await of.look(['a']);
    const looking = of.look(['a']);
    of.stop();
    await looking;
    expect(told).toEqual([]);
  });
});
