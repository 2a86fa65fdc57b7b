// The state behind the overview: how many clusters are in which state, and the HX clusters with what runs on each and what they say of
// themselves. No markup.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ApiClient } from '../api/client.js';
import { ApiError, isAborted, isSessionOver } from '../api/error.js';
import type { ClusterCounts, HxCluster, HxClusterWhole, HxConnection, HxFacts } from '../api/types.js';

type Api = Pick<ApiClient, 'countClusters' | 'getHxCluster' | 'listAllHxClusters' | 'listHxConnections'>;

export interface HxOverview {
  hx: HxCluster;
  /** Of the clusters that run there; null if not known. */
  counts: ClusterCounts | null;
  /** Null if they were never read, or are not known. */
  facts: HxFacts | null;
  /** Null if there is none, or the viewer may not know. */
  connection: HxConnection | null;
}

/** So many HX clusters are asked for; each is a call. */
export const ASKED = 24;

export class OverviewModel {
  counts: ClusterCounts | null = null;
  hxClusters: HxOverview[] | null = null;
  loading = false;
  failure: ApiError | null = null;
  refreshedAt: Date | null = null;

  private running: AbortController | null = null;

  constructor(
    private readonly api: Api, private readonly changed: () => void, private readonly isAdmin: () => boolean, private readonly now: () => Date = () => new Date(),
  ) {}

  async load(quiet = false): Promise<void> {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    this.loading = !quiet || this.counts === null;
    if (this.loading) this.changed();
    try {
      const [counts, hxClusters] = await Promise.all([this.api.countClusters({}, running.signal), this.loadHxClusters(running.signal)]);
      if (this.running !== running) return;
      this.counts = counts;
      this.hxClusters = hxClusters;
      this.refreshedAt = this.now();
      this.settle(null);
    } catch (error) {
      if (this.running === running) this.fail(error);
    }
  }

  /** The service answers, and nothing has changed. */
  noteAnswer(): void {
    if (this.failure) return void this.load(true);
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
    this.running = null;
  }

  private async loadHxClusters(signal: AbortSignal): Promise<HxOverview[]> {
    const [all, connections] = await Promise.all([this.api.listAllHxClusters(signal), this.loadConnections(signal)]);
    // What one HX cluster lacks does not take the others away.
    const wholes = await Promise.all(all.slice(0, ASKED).map(({ id }) => orNull(this.api.getHxCluster(id, signal))));
    return all.map((hx, n) => overviewOf(hx, wholes[n] ?? null, connections.find(({ hx_cluster }) => hx_cluster.id === hx.id) ?? null));
  }

  private async loadConnections(signal: AbortSignal): Promise<HxConnection[]> {
    return this.isAdmin() ? ((await orNull(this.api.listHxConnections(signal))) ?? []) : [];
  }

  private fail(error: unknown): void {
    if (isAborted(error)) return;
    if (!(error instanceof ApiError)) {
      this.settle(null);
      throw error;
    }
    // The session tells the page itself.
    this.settle(isSessionOver(error) ? null : error);
  }

  private settle(failure: ApiError | null): void {
    this.failure = failure;
    this.running = null;
    this.loading = false;
    this.changed();
  }
}

/** Administrators are told more of what it said. */
function overviewOf(hx: HxCluster, whole: HxClusterWhole | null, connection: HxConnection | null): HxOverview {
  return { hx, counts: whole?.clusters ?? null, facts: connection?.status.facts ?? whole?.facts ?? null, connection };
}

async function orNull<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ApiError || isAborted(error)) return null;
    throw error;
  }
}
