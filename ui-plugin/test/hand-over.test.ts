// The hand-over: who may answer, once, in which form, in time. The browser is a fake.
// SPDX-License-Identifier: GPL-3.0-or-later
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { HAND_OVER_MS, askHost, type Credential } from '../src/hosts/hand-over.js';

const HX = 'https://hx-east.test';
const ORIGINS = [HX, 'https://vc.test'];
const CODE = '0123456789abcdef0123456789abcdef';
const NONCE = 'n1';
const parent = { postMessage: vi.fn() };
let listeners: ((event: MessageEvent) => void)[];
let late: (() => void) | null;

const around = {
  parent,
  listen: (on: (event: MessageEvent) => void) => {
    listeners.push(on);
    return () => void (listeners = listeners.filter((each) => each !== on));
  },
  after: (ms: number, run: () => void) => {
    expect(ms).toBe(HAND_OVER_MS);
    late = run;
    return () => void (late = null);
  },
  nonce: () => NONCE,
};

/** A message as the browser brings it. */
function send(data: unknown, origin = HX, source: unknown = parent): void {
  for (const on of listeners) on({ data, origin, source } as MessageEvent);
}

const message = (more: object = {}): object => ({ type: 'kaas:hand-over', nonce: NONCE, code: CODE, ...more });

beforeEach(() => {
  listeners = [];
  late = null;
  parent.postMessage.mockReset();
});

/** What came of it after `sends`, and then of time. */
async function outcome(sends: () => void): Promise<Credential | null> {
  const asked = askHost(ORIGINS, around);
  sends();
  late?.();
  return await asked;
}

describe('asking', () => {
  it('speaks to each origin by name, never to all', async () => {
    await outcome(() => undefined);
    expect(parent.postMessage.mock.calls).toEqual(ORIGINS.map((origin) => [{ type: 'kaas:ready', nonce: NONCE }, origin]));
  });

  it('takes a code, or a clone ticket, and says from where', async () => {
    expect(await outcome(() => send(message()))).toEqual({ origin: HX, code: CODE });
    const ticket = message({ code: undefined, vcenter: 'vc.test', clone_ticket: 'cst-1' });
    expect(await outcome(() => send(ticket, 'https://vc.test'))).toEqual({ origin: 'https://vc.test', vcenter: 'vc.test', cloneTicket: 'cst-1' });
  });

  it('hears no second message, and nothing after its time', async () => {
    expect(await outcome(() => [send(message()), send(message({ code: 'f'.repeat(32) }))])).toEqual({ origin: HX, code: CODE });
    expect(listeners).toEqual([]);
    expect(await outcome(() => undefined)).toBeNull();
    expect(listeners).toEqual([]);
  });
});

describe('what is as if it had not come', () => {
  const wrong: [string, () => void][] = [
    ['from another origin', () => send(message(), 'https://evil.test')],
    ['from an origin that only begins so', () => send(message(), `${HX}.evil.test`)],
    ['from another window of the right origin', () => send(message(), HX, {})],
    ['with another nonce', () => send(message({ nonce: 'n0' }))],
    ['with none', () => send(message({ nonce: undefined }))],
    ['of another type', () => send(message({ type: 'kaas:ready' }))],
    ['with a token', () => send(message({ code: undefined, access_token: 'eyJ' }))],
    ['with no code', () => send(message({ code: 'x' }))],
    ['with half a ticket', () => send(message({ code: undefined, vcenter: 'vc.test' }))],
    ['with a ticket that is too long', () => send(message({ code: undefined, vcenter: 'vc', clone_ticket: 'x'.repeat(1025) }))],
    ['no object', () => send('kaas:hand-over')],
    ['nothing', () => send(null)],
  ];
  it.each(wrong)('%s', async (_, sends) => {
    expect(await outcome(sends)).toBeNull();
  });

  it.each(wrong)('%s; the right one may follow', async (_, sends) => {
    expect(await outcome(() => [sends(), send(message())])).toEqual({ origin: HX, code: CODE });
  });
});
