// Which vCenters make what is shown stale: told to who can do something about it.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ApiClient } from '../api/client.js';
import { ApiError, isAborted } from '../api/error.js';
import type { StaleReason } from '../api/types.js';

export class AwayVcenters {
  /** Empty where they are not known: that one is away is told all the same. */
  names: string[] = [];

  private readonly life = new AbortController();

  constructor(private readonly api: Pick<ApiClient, 'listVcenters'>, private readonly isAdmin: () => boolean, private readonly changed: () => void) {}

  /** Nobody waits for it. */
  async look(stale: readonly StaleReason[]): Promise<void> {
    const names = this.isAdmin() && stale.includes('vcenter') ? await this.ask() : [];
    if (this.life.signal.aborted || names.join() === this.names.join()) return;
    this.names = names;
    this.changed();
  }

  /** For good. */
  stop(): void {
    this.life.abort();
  }

  private async ask(): Promise<string[]> {
    try {
      const vcenters = await this.api.listVcenters(this.life.signal);
      return vcenters.filter(({ state }) => state === 'unreachable' || state === 'refused').map(({ name }) => name);
    } catch (error) {
      if (!(error instanceof ApiError) && !isAborted(error)) throw error;
      return [];
    }
  }
}
