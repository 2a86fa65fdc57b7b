// Calls about jobs, loaded with what shows them: most people never see one.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ApiClient } from './client.js';
import { ApiError } from './error.js';
import type { Job, JobLines, JobState, JobSummary, List } from './types.js';

export type JobApi = Pick<ApiClient, 'call'>;
export type JobDeed = 'cancel' | 'retry';

/** How long the service holds a request for lines; a little longer, and it hangs. */
const LINES_WAIT_S = 25;
const LINES_TIMEOUT_MS = 30_000;

/** The newest first, as many as a page has. */
export async function listJobs(api: JobApi, query: { object_id?: string; state?: JobState; limit: number }, signal: AbortSignal): Promise<JobSummary[]> {
  const { body } = await api.call<List<JobSummary>>({ method: 'GET', path: 'jobs', query, signal });
  if (!Array.isArray(body?.items)) throw new ApiError({ kind: 'malformed', status: 200 });
  return body.items;
}

export async function getJob(api: JobApi, id: string, signal: AbortSignal): Promise<Job> {
  return jobFrom((await api.call<Job>({ method: 'GET', path: `jobs/${id}`, signal })).body);
}

/** For administrators. Throws ApiError (`conflict` for a job that is in no state for it). */
export async function changeJob(api: JobApi, id: string, deed: JobDeed): Promise<Job> {
  return jobFrom((await api.call<Job>({ method: 'POST', path: `jobs/${id}/${deed}` })).body);
}

/** The lines behind number `after`: waits until there is one, until the job has ended, or for a while. */
export async function waitForLines(api: JobApi, id: string, after: number, signal: AbortSignal): Promise<JobLines> {
  const { body } = await api.call<JobLines>({ method: 'GET', path: `jobs/${id}/lines`, query: { after, wait: LINES_WAIT_S }, signal, timeoutMs: LINES_TIMEOUT_MS });
  if (!Array.isArray(body?.items)) throw new ApiError({ kind: 'malformed', status: 200 });
  return body;
}

function jobFrom(body: Job | null): Job {
  if (!Array.isArray(body?.steps)) throw new ApiError({ kind: 'malformed', status: 200 });
  return body;
}
