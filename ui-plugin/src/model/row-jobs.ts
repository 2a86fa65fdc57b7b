// How far the jobs are that work on the clusters of the list. Loaded when one may; no markup.
// SPDX-License-Identifier: GPL-3.0-or-later
import { getJob, listJobs, type JobApi } from '../api/jobs.js';
import { ApiError, isAborted } from '../api/error.js';
import type { JobSummary } from '../api/types.js';
import { isUnderWay, jobTitle, percentOf } from './job.js';

/** What a row shows of its job. */
export interface RowJob {
  title: string;
  percent: number;
}

/** As many as the service gives in one answer. */
const JOBS_MAX = 500;

export class RowJobs {
  private readonly life = new AbortController();
  private wanted: readonly string[] = [];
  private isAsking = false;

  /** `changed` is told what is known, by id of the cluster. */
  constructor(private readonly api: JobApi, private readonly changed: (jobs: ReadonlyMap<string, RowJob>) => void) {}

  /** Looks for the jobs of these clusters; while it does so already, once more afterwards. */
  async look(clusterIds: readonly string[]): Promise<void> {
    this.wanted = clusterIds;
    if (this.isAsking) return;
    this.isAsking = true;
    for (let asked: readonly string[] | null = null; asked !== this.wanted; ) {
      asked = this.wanted;
      await this.ask(asked);
    }
    this.isAsking = false;
  }

  /** Gives up what is under way, for good. */
  stop(): void {
    this.life.abort();
  }

  /** Where that fails what is shown stays: the list tells by itself what is the matter. */
  private async ask(clusterIds: readonly string[]): Promise<void> {
    try {
      const jobs = await this.find(clusterIds);
      if (!this.life.signal.aborted) this.changed(jobs);
    } catch (error) {
      if (!(error instanceof ApiError) && !isAborted(error)) throw error;
    }
  }

  /** One after the other: a page can have many. */
  private async find(clusterIds: readonly string[]): Promise<ReadonlyMap<string, RowJob>> {
    const found = new Map<string, RowJob>();
    if (clusterIds.length === 0) return found;
    for (const job of await this.listAtWork()) {
      if (job.object_id === null || !clusterIds.includes(job.object_id)) continue;
      const { steps, state } = await getJob(this.api, job.id, this.life.signal);
      if (isUnderWay(state)) found.set(job.object_id, { title: jobTitle(job), percent: percentOf(steps) });
    }
    return found;
  }

  private async listAtWork(): Promise<JobSummary[]> {
    const of = (state: 'queued' | 'running' | 'undoing') => listJobs(this.api, { state, limit: JOBS_MAX }, this.life.signal);
    return (await Promise.all([of('queued'), of('running'), of('undoing')])).flat();
  }
}
