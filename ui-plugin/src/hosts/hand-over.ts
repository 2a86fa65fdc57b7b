// How the page that shows the panel hands over who is at it: one message, from one of the pages that may do so, in answer to ours. What
// travels works once: a code of the service, or a clone ticket of a vCenter. docs/panel.md is the contract.
// SPDX-License-Identifier: GPL-3.0-or-later

/** What a host may hand over. `origin`: of the page that did, as the browser tells. */
export type Credential = { origin: string } & ({ code: string } | { vcenter: string; cloneTicket: string });

/** What the host is told of the session; never a token. */
export type HostState = 'signed-in' | 'signed-out';

/** A host that takes longer has none to hand over. */
export const HAND_OVER_MS = 2_000;

const CODE = /^[0-9a-f]{32}$/;
const TEXT_MAX = 1_024;

/** What of the browser is needed, so that tests can fake it. */
export interface Surroundings {
  parent: Pick<Window, 'postMessage'>;
  listen(onMessage: (event: MessageEvent) => void): () => void;
  after(ms: number, run: () => void): () => void;
  nonce(): string;
}

/**
 * Asks the parent, as each of `origins`, and waits for its one answer. Null when none has come in time. What comes from elsewhere, with
 * another nonce or in another form is as if it had not come: the right answer may still be on its way.
 */
export function askHost(origins: readonly string[], around: Surroundings): Promise<Credential | null> {
  const nonce = around.nonce();
  return new Promise((answer) => {
    const finish = (credential: Credential | null): void => {
      deafen();
      calm();
      answer(credential);
    };
    const deafen = around.listen((event) => {
      if (event.source !== around.parent || !origins.includes(event.origin)) return;
      const credential = readHandOver(event.data, nonce, event.origin);
      if (credential) finish(credential);
    });
    const calm = around.after(HAND_OVER_MS, () => finish(null));
    tell(origins, around.parent, { type: 'kaas:ready', nonce });
  });
}

/** Never to `*`: of a page that is none of these the browser drops it. */
export function tell(origins: readonly string[], parent: Pick<Window, 'postMessage'>, message: object): void {
  for (const origin of origins) parent.postMessage(message, origin);
}

function readHandOver(data: unknown, nonce: string, origin: string): Credential | null {
  if (typeof data !== 'object' || data === null) return null;
  const { type, nonce: answered, code, vcenter, clone_ticket: cloneTicket } = data as Record<string, unknown>;
  if (type !== 'kaas:hand-over' || answered !== nonce) return null;
  if (typeof code === 'string' && CODE.test(code)) return { origin, code };
  const isText = (text: unknown): text is string => typeof text === 'string' && text !== '' && text.length <= TEXT_MAX;
  return isText(vcenter) && isText(cloneTicket) ? { origin, vcenter, cloneTicket } : null;
}
