// The start of the page, as far as it is none of a view: what becomes of the session of a page that is left. The browser is a fake.
// SPDX-License-Identifier: GPL-3.0-or-later
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { start, type Host } from '../src/start.js';
import type { App } from '../src/views/app.js';

const TOKEN = { access_token: 't', token_type: 'Bearer', expires_in: 900, session_expires_at: '2026-03-01T16:00:00Z' } as const;
const WHO = { id: 'local:1', name: 'anna', source: 'local', directory: null, role: 'user', method: 'password', groups: [], must_change_password: false };
const asked = vi.fn<typeof fetch>();
let leave: (how: { persisted: boolean }) => void;

beforeEach(() => {
  asked.mockReset().mockImplementation(async () => new Response(JSON.stringify(WHO), { headers: { 'Content-Type': 'application/json' } }));
  vi.stubGlobal('document', { documentElement: { lang: '', dataset: {} } });
  vi.stubGlobal('window', { addEventListener: (_: string, on: typeof leave) => void (leave = on) });
});

afterEach(() => vi.unstubAllGlobals());

const sent = (): string[] => asked.mock.calls.map(([address]) => String(address).split('/').pop() ?? '');

describe('a page without a cookie that is left', () => {
  it('ends its session, unless the browser keeps it for the way back', async () => {
    const host: Host = {
      base: 'https://kaas.test/v2/', fetch: asked, languages: ['en'], theme: null, isFramed: true, hasAccount: false, scope: null, card: null,
      openVm: null, keepsCookie: false, signIn: async () => TOKEN, tell: () => undefined,
    };
    const session = start({} as App, host);
    await vi.waitFor(() => expect(session.token()).toBe('t'));
    leave({ persisted: true });
    expect(sent()).not.toContain('logout');
    leave({ persisted: false });
    expect(sent()).toContain('logout');
  });
});
