// Follows the list: holds one request that the service answers when something has changed, and says so. Rests while nobody looks, backs off
// while calls fail. No markup, no rows.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ApiClient, Watched } from '../api/client.js';
import { ApiError, isSessionOver } from '../api/error.js';
import type { ClusterFilter } from '../api/types.js';

type Api = Pick<ApiClient, 'watchClusters'>;

/** What following the list tells. */
export interface WatchListener {
  /** The list is, or may be, another one than before. */
  changed(): void;
  /** The service has answered that it is not. */
  same(): void;
  /** The service has not answered in time. */
  silent(error: ApiError): void;
}

/** Time, so that tests can fake it. */
export interface WatchClock {
  after(ms: number, run: () => void): unknown;
  cancel(timer: unknown): void;
}

const SYSTEM_CLOCK: WatchClock = {
  after: (ms, run) => setTimeout(run, ms),
  cancel: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;

export class ListWatch {
  private filter: ClusterFilter | null = null;
  private cursor = '';
  private failures = 0;
  private running: AbortController | null = null;
  private timer: unknown = null;

  constructor(private readonly api: Api, private readonly listener: WatchListener, private readonly clock: WatchClock = SYSTEM_CLOCK) {}

  /** Follows what fits this filter, from what `cursor` stands for (empty: the first answer tells a change); nothing if it does already. */
  follow(filter: ClusterFilter, cursor = ''): void {
    if (this.filter !== null && JSON.stringify(filter) === JSON.stringify(this.filter)) return;
    this.rest();
    this.filter = filter;
    this.cursor = cursor;
    void this.ask();
  }

  /** Gives up what is under way; what changes meanwhile is told after the next `follow`. */
  rest(): void {
    this.filter = null;
    this.failures = 0;
    this.running?.abort();
    this.running = null;
    if (this.timer !== null) this.clock.cancel(this.timer);
    this.timer = null;
  }

  private async ask(): Promise<void> {
    const filter = this.filter;
    if (filter === null) return;
    const running = new AbortController();
    this.running = running;
    try {
      const answer = await this.api.watchClusters(filter, this.cursor, running.signal);
      if (this.running === running) this.take(answer);
    } catch (error) {
      if (this.running === running) this.fail(error);
    }
  }

  private take(answer: Watched): void {
    this.failures = 0;
    this.cursor = answer.cursor;
    if (answer.changed) this.listener.changed();
    else this.listener.same();
    void this.ask();
  }

  /** The next attempt begins with a look at the list: what has changed meanwhile was not told. */
  private fail(error: unknown): void {
    this.running = null;
    if (!(error instanceof ApiError)) throw error;
    if (isSessionOver(error)) return this.rest();
    if (error.failure.kind === 'timeout') this.listener.silent(error);
    const asked = error.failure.kind === 'problem' ? (error.failure.retryAfterS ?? 0) * 1_000 : 0;
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.failures);
    this.failures += 1;
    this.timer = this.clock.after(Math.max(asked, pause), () => {
      this.timer = null;
      this.listener.changed();
      void this.ask();
    });
  }
}
