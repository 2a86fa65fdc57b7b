// Jobs as they are shown, and where they are found. Loaded when a cluster may have one; no markup.
// SPDX-License-Identifier: GPL-3.0-or-later
import { getJob, listJobs, type JobApi } from '../api/jobs.js';
import { ApiError } from '../api/error.js';
import type { Job, JobState, JobStep, JobSummary } from '../api/types.js';
import { locale } from '../strings/index.js';
import { jobStrings } from '../strings/jobs/index.js';
import type { Tone } from './format.js';

export const JOB_TONE: Record<JobState, Tone> = { queued: 'busy', running: 'busy', undoing: 'busy', done: 'good', failed: 'bad', canceled: 'neutral' };
export const STEP_TONE: Record<JobStep['state'], Tone> = { pending: 'hollow', running: 'busy', waiting: 'busy', done: 'good', failed: 'bad', undone: 'neutral' };

export function isUnderWay(state: JobState): boolean {
  return JOB_TONE[state] === 'busy';
}

/** How many of its steps are done, in percent; of a step that tells how far it is, that part. A hundred is for all of them. */
export function percentOf(steps: readonly JobStep[]): number {
  const done = steps.reduce((sum, { state, percent }) => sum + (state === 'done' ? 100 : state === 'running' || state === 'waiting' ? (percent ?? 0) : 0), 0);
  return Math.floor(done / Math.max(1, steps.length));
}

/** What a job does, in words of the page where they are known. */
export function jobTitle({ kind, title }: Pick<JobSummary, 'kind' | 'title'>): string {
  return jobStrings().kind[kind] ?? capital(title);
}

/** What a step does; one that there is for each of several machines ends in the name of its own. */
export function stepTitle(kind: string, { name, item, title }: Pick<JobStep, 'name' | 'item' | 'title'>): string {
  const what = jobStrings().step[`${kind}/${name}`];
  const at = item === null ? -1 : title.indexOf(': ');
  if (at < 0) return what ?? capital(title);
  return `${what ?? capital(title.slice(0, at))}: ${describeItem(title.slice(at + 2))}`;
}

/** "control plane 1", "worker 2", or a name. */
function describeItem(text: string): string {
  const found = /^(control plane|worker) (\d+)$/.exec(text);
  return found ? jobStrings().machine[found[1] as 'control plane' | 'worker'](found[2] ?? '') : text;
}

/** "14 sec", "2 min 5 sec", "1 hr 4 min": from one time to another. */
export function duration(from: string, to: string): string {
  const s = Math.max(0, Math.round((Date.parse(to) - Date.parse(from)) / 1000));
  const of = (n: number, unit: string): string => new Intl.NumberFormat(locale, { style: 'unit', unit }).format(Math.trunc(n));
  if (s < 60) return of(s, 'second');
  return s < 3600 ? `${of(s / 60, 'minute')} ${of(s % 60, 'second')}` : `${of(s / 3600, 'hour')} ${of((s % 3600) / 60, 'minute')}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The job that a cluster is told of by: the newest one if it is at work or has failed, or is the one that has been shown before. Null: none, or a service without jobs. */
export async function findJob(api: JobApi, clusterId: string, known: string | undefined, signal: AbortSignal): Promise<Job | null> {
  try {
    const [newest] = await listJobs(api, { object_id: clusterId, limit: 1 }, signal);
    if (newest === undefined || !(isUnderWay(newest.state) || newest.state === 'failed' || newest.id === known)) return null;
    return await getJob(api, newest.id, signal);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return null;
    throw error;
  }
}
