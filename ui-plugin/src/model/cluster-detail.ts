// The state behind the details of one cluster: the cluster itself, and what each part of them needs beside it. No markup.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ApiClient } from '../api/client.js';
import { ApiError, isAborted, isSessionOver } from '../api/error.js';
import type { AuditEntry, Cluster, ClusterHealth, ClusterUsage, Explanation, Grant, Job, Node, StaleReason } from '../api/types.js';
import type { Part } from './address.js';
import { AwayVcenters } from './away-vcenters.js';
import { mayHaveJob } from './format.js';

type Api = Pick<ApiClient, 'getCluster' | 'getHealth' | 'listNodes' | 'getUsage' | 'explain' | 'listClusterGrants' | 'listClusterEvents' | 'listVcenters'>;

/** The job that works on a cluster, or has failed at it; `known`: id of the one that is shown. Null: none. */
export type FindJob = (clusterId: string, known: string | undefined, signal: AbortSignal) => Promise<Job | null>;

export interface Access {
  explanation: Explanation;
  /** Null for who may not know them. */
  grants: Grant[] | null;
}

/** What the parts show beside the cluster, each as it was loaded last. */
export interface PartContent {
  /** Null: a service of the version before does not tell. */
  health: ClusterHealth | null;
  job: Job | null;
  nodes: { nodes: Node[]; hidden: number };
  access: Access;
  events: AuditEntry[];
}

const EVENTS = 50;

export class ClusterDetailModel {
  cluster: Cluster | null = null;
  content: Partial<PartContent> = {};
  /** What the nodes use; 'unknown': nobody tells; null: not asked yet. vCenter is asked when a person looks, not at each change. */
  usage: ClusterUsage | 'unknown' | null = null;
  /** The cluster is not there, or not for this viewer. */
  isGone = false;
  loading = false;
  failure: ApiError | null = null;
  stale: StaleReason[] = [];
  /** The vCenters that make it stale. */
  readonly away: AwayVcenters;
  asOf: string | null = null;
  refreshedAt: Date | null = null;

  private etag: string | null = null;
  private running: AbortController | null = null;
  private asking: AbortController | null = null;

  constructor(
    private readonly api: Api, readonly id: string, public part: Part, private readonly changed: () => void, isAdmin: () => boolean, private readonly findJob: FindJob,
    private readonly now: () => Date = () => new Date(),
  ) {
    this.away = new AwayVcenters(api, isAdmin, changed);
  }

  /** Shows another part; what is known of it already is there at once. */
  async open(part: Part): Promise<void> {
    if (part === this.part) return;
    this.part = part;
    await this.load();
  }

  async load(quiet = false): Promise<void> {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    this.loading = !quiet;
    if (!quiet) this.changed();
    if (!quiet && this.part === 'nodes') void this.loadUsage();
    try {
      const [answer, content] = await Promise.all([this.api.getCluster(this.id, this.etag, running.signal), this.loadPart(running.signal)]);
      const cluster = answer.body ?? this.cluster;
      const job = cluster === null ? {} : await this.loadJob(cluster, running.signal);
      if (this.running !== running) return;
      this.cluster = cluster;
      this.etag = answer.etag ?? this.etag;
      this.isGone = false;
      this.stale = answer.stale;
      this.asOf = answer.asOf;
      this.content = { ...this.content, ...content, ...job };
      this.refreshedAt = this.now();
      this.settle(null);
      void this.away.look(this.stale);
    } catch (error) {
      if (this.running === running) this.fail(error);
    }
  }

  /** The service answers, and nothing has changed, but for how far a job is. */
  noteAnswer(): void {
    if (this.failure || this.isAtWork) return void this.load(true);
    this.refreshedAt = this.now();
    this.changed();
  }

  /** The service has not answered somebody else's call. */
  noteSilence(error: ApiError): void {
    if (this.loading) return;
    this.failure = error;
    this.changed();
  }

  /** Gives up what is under way, for good. */
  stop(): void {
    this.running?.abort();
    this.asking?.abort();
    this.away.stop();
    this.running = null;
    this.asking = null;
  }

  private async loadPart(signal: AbortSignal): Promise<Partial<PartContent>> {
    switch (this.part) {
      case 'summary': return { health: await this.loadHealth(signal) };
      case 'nodes': return { nodes: await this.api.listNodes(this.id, signal) };
      case 'access': return { access: await this.loadAccess(signal) };
      case 'events': return { events: await this.api.listClusterEvents(this.id, EVENTS, signal) };
    }
  }

  private get isAtWork(): boolean {
    const { job } = this.content;
    return this.part === 'summary' && !!job && job.ended_at === null;
  }

  /** Before anything is shown, so that nothing moves when it comes. */
  private async loadJob({ id, state }: Cluster, signal: AbortSignal): Promise<Partial<PartContent>> {
    const known = this.content.job?.id;
    if (this.part !== 'summary' || !(known !== undefined || mayHaveJob(state))) return {};
    return { job: await this.findJob(id, known, signal) };
  }

  private async loadHealth(signal: AbortSignal): Promise<ClusterHealth | null> {
    try {
      return await this.api.getHealth(this.id, signal);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'not_found') return null;
      throw error;
    }
  }

  private async loadUsage(): Promise<void> {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    let usage: ClusterUsage | 'unknown' = 'unknown';
    try {
      usage = await this.api.getUsage(this.id, asking.signal);
    } catch (error) {
      if (!(error instanceof ApiError) && !isAborted(error)) throw error;
    }
    if (this.asking !== asking) return;
    this.usage = usage;
    this.changed();
  }

  private async loadAccess(signal: AbortSignal): Promise<Access> {
    const [explanation, grants] = await Promise.all([this.api.explain(this.id, signal), this.loadGrants(signal)]);
    return { explanation, grants };
  }

  private async loadGrants(signal: AbortSignal): Promise<Grant[] | null> {
    try {
      return await this.api.listClusterGrants(this.id, signal);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'forbidden') return null;
      throw error;
    }
  }

  private fail(error: unknown): void {
    if (isAborted(error)) return;
    if (!(error instanceof ApiError)) {
      this.settle(null);
      throw error;
    }
    this.isGone = error.code === 'not_found';
    // The session tells the page itself.
    this.settle(isSessionOver(error) || this.isGone ? null : error);
  }

  private settle(failure: ApiError | null): void {
    this.failure = failure;
    this.running = null;
    this.loading = false;
    this.changed();
  }
}
