// The state behind the overview: how many clusters are in which state, on HX clusters and elsewhere, and the HX clusters with what runs on
// each and what they say of themselves. No markup.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ApiClient } from '../api/client.js';
import { ApiError, isAborted, isSessionOver } from '../api/error.js';
import type { ClusterCounts, HxClusterWhole, HxConnection, HxFacts } from '../api/types.js';
import { AwayVcenters } from './away-vcenters.js';
import type { Tone } from './format.js';
import { describeHealth } from './hx-health.js';

type Api = Pick<ApiClient, 'countClusters' | 'listWholeHxClusters' | 'listHxConnections' | 'listVcenters'>;

export interface HxOverview {
  hx: HxClusterWhole;
  /** Null if they were never read, or are not known. */
  facts: HxFacts | null;
  /** Null if there is none, or the viewer may not know. */
  connection: HxConnection | null;
}

/** What is worse stands first. */
const RANK: Record<Tone, number> = { bad: 0, warning: 1, neutral: 2, hollow: 2, busy: 3, good: 4 };

export class OverviewModel {
  counts: ClusterCounts | null = null;
  /** Of those that run on no HX cluster; all others are counted by one. */
  elsewhere: ClusterCounts | null = null;
  /** The worst first, those that are equal by name. */
  hxClusters: HxOverview[] | null = null;
  /** The vCenters that make it stale. */
  readonly away: AwayVcenters;
  loading = false;
  failure: ApiError | null = null;
  refreshedAt: Date | null = null;

  private running: AbortController | null = null;

  constructor(
    private readonly api: Api, private readonly changed: () => void, private readonly isAdmin: () => boolean, private readonly now: () => Date = () => new Date(),
  ) {
    this.away = new AwayVcenters(api, isAdmin, changed);
  }

  async load(quiet = false): Promise<void> {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    this.loading = !quiet || this.counts === null;
    if (this.loading) this.changed();
    try {
      const { signal } = running;
      const [counts, elsewhere, hxClusters] = await Promise.all([
        this.api.countClusters({}, signal), this.api.countClusters({ on_hx: 'false' }, signal), this.loadHxClusters(signal)]);
      this.counts = counts;
      this.elsewhere = elsewhere;
      this.hxClusters = hxClusters;
      this.refreshedAt = this.now();
      this.settle(null);
      void this.away.look(counts.stale ?? []);
    } catch (error) {
      if (this.running === running) this.fail(error);
    }
  }

  /** How many run on an HX cluster at all. */
  get onHx(): number {
    return (this.counts?.total ?? 0) - (this.elsewhere?.total ?? 0);
  }

  /** By how much the numbers of the HX clusters add up to more: who runs on two of them counts with each. */
  get surplus(): number {
    return Math.max(0, (this.hxClusters ?? []).reduce((sum, { hx }) => sum + hx.clusters.total, 0) - this.onHx);
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
    this.away.stop();
    this.running = null;
  }

  private async loadHxClusters(signal: AbortSignal): Promise<HxOverview[]> {
    const [all, connections] = await Promise.all([this.api.listWholeHxClusters(signal), this.loadConnections(signal)]);
    return inOrder(all.map((hx) => overviewOf(hx, connections.find(({ hx_cluster }) => hx_cluster.id === hx.id) ?? null)), this.now().getTime());
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
function overviewOf(hx: HxClusterWhole, connection: HxConnection | null): HxOverview {
  return { hx, facts: connection?.status.facts ?? hx.facts, connection };
}

/** The service gives them by name. */
function inOrder(all: HxOverview[], nowMs: number): HxOverview[] {
  const rank = ({ hx, facts, connection }: HxOverview): number => RANK[describeHealth(hx, facts, connection, nowMs)?.tone ?? 'neutral'];
  return all.sort((a, b) => rank(a) - rank(b));
}

async function orNull<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof ApiError || isAborted(error)) return null;
    throw error;
  }
}
