// The session: the token's life, exchange in time, every way a session ends. Time is a fake.
// SPDX-License-Identifier: GPL-3.0-or-later
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { TokenHolder } from '../src/api/client.js';
import { ApiError } from '../src/api/error.js';
import type { PasswordChange, Token, Whoami } from '../src/api/types.js';
import { Session, type Clock } from '../src/session/session.js';

const HOUR_MS = 3_600_000;
const CREDENTIALS = { username: 'admin', password: 'secret', source: 'local' };
const WHO: Whoami = { id: 'local:1', name: 'admin', source: 'local', directory: null, role: 'admin', method: 'password', groups: [], must_change_password: false };
const CHANGE = { old_password: 'secret', new_password: 'seven swans in a paper boat' };

/** Time that stands still until it is told to go on. */
class FakeClock implements Clock {
  nowMs = Date.parse('2026-03-01T08:00:00Z');
  private timers: { at: number; run: () => void }[] = [];

  now(): number {
    return this.nowMs;
  }

  after(ms: number, run: () => void): unknown {
    const timer = { at: this.nowMs + ms, run };
    this.timers.push(timer);
    return timer;
  }

  cancel(timer: unknown): void {
    this.timers = this.timers.filter((t) => t !== timer);
  }

  get pending(): number {
    return this.timers.length;
  }

  /** Lets `ms` pass and runs what becomes due, with the promises behind it. */
  async pass(ms: number): Promise<void> {
    const end = this.nowMs + ms;
    for (;;) {
      const due = this.timers.filter((t) => t.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.nowMs = due.at;
      this.cancel(due);
      due.run();
      await settle();
    }
    this.nowMs = end;
  }
}

const settle = (): Promise<void> => new Promise((done) => setImmediate(done));

function refusal(code: string, status = 401): ApiError {
  const problem = { type: 'about:blank', title: '', status, code, detail: '', request_id: '' };
  return new ApiError({ kind: 'problem', problem, retryAfterS: null });
}

let clock: FakeClock;
let count: number;
let api: ReturnType<typeof makeApi>;
let session: Session;

function token(expiresInS = 900, sessionMs = 8 * HOUR_MS): Token {
  count += 1;
  return { access_token: `t${count}`, token_type: 'Bearer', expires_in: expiresInS, session_expires_at: new Date(clock.nowMs + sessionMs).toISOString() };
}

function makeApi() {
  return {
    holder: null as TokenHolder | null,
    loginPassword: vi.fn(async () => token()),
    loginKerberos: vi.fn(async (_: AbortSignal) => token()),
    refresh: vi.fn(async (_: string) => token()),
    logout: vi.fn(async (_: string | null) => undefined),
    whoami: vi.fn(async () => WHO),
    keepCookie: vi.fn(async (_: string) => undefined),
    changePassword: vi.fn(async (_: PasswordChange) => undefined),
  };
}

beforeEach(() => {
  clock = new FakeClock();
  count = 0;
  api = makeApi();
  session = new Session(api, null, clock);
});

const reason = (): string => (session.state.signedIn ? 'signed in' : session.state.reason);

describe('Kerberos', () => {
  it('begins a session, known before the name is', async () => {
    const seen: (string | null)[] = [];
    session.subscribe(() => session.state.signedIn && seen.push(session.state.who?.name ?? null));
    await session.signInKerberos(new AbortController().signal);
    expect(seen).toEqual([null, 'admin']);
    expect(session.token()).toBe('t1');
  });

  it('begins none when it was given up meanwhile', async () => {
    const attempt = new AbortController();
    const over = session.signInKerberos(attempt.signal);
    attempt.abort();
    await expect(over).rejects.toMatchObject({ name: 'AbortError' });
    expect(session.state).toEqual({ signedIn: false, reason: 'first' });
    expect(session.token()).toBeNull();
  });
});

describe('sign-in', () => {
  it('begins with nobody', () => {
    expect(reason()).toBe('first');
    expect(session.token()).toBeNull();
    expect(api.holder).toBe(session);
  });

  it('keeps the token and learns the name', async () => {
    const seen: string[] = [];
    session.subscribe(() => seen.push(reason()));
    await session.signIn(CREDENTIALS);
    expect(session.token()).toBe('t1');
    expect(session.state).toEqual({ signedIn: true, who: WHO, mustChange: false });
    expect(seen).toEqual(['signed in']);
  });

  it('changes nothing when refused', async () => {
    api.loginPassword.mockRejectedValueOnce(refusal('invalid_credentials'));
    await expect(session.signIn(CREDENTIALS)).rejects.toBeInstanceOf(ApiError);
    expect(reason()).toBe('first');
    expect(clock.pending).toBe(0);
  });

  it('goes on without a name', async () => {
    api.whoami.mockRejectedValueOnce(new ApiError({ kind: 'timeout' }));
    await session.signIn(CREDENTIALS);
    expect(session.state).toEqual({ signedIn: true, who: null, mustChange: false });
  });

  it('does not take the name of the one before', async () => {
    let tell: (who: Whoami) => void = () => undefined;
    api.whoami.mockImplementationOnce(() => new Promise((done) => (tell = done)));
    const first = session.signIn(CREDENTIALS);
    await settle();
    await session.signOut();
    await session.signIn(CREDENTIALS);
    tell({ ...WHO, name: 'somebody else' });
    await first;
    expect(session.state).toEqual({ signedIn: true, who: WHO, mustChange: false });
  });

  it('does not wait for the name of an account that has its password elsewhere', async () => {
    api.whoami.mockImplementationOnce(() => new Promise(() => undefined));
    void session.signIn({ ...CREDENTIALS, source: 'vcenter:vc' });
    await settle();
    expect(session.state).toEqual({ signedIn: true, who: null, mustChange: false });
  });

  it('that ends before the name is known stays ended', async () => {
    api.whoami.mockImplementationOnce(async () => {
      session.refused('t1', refusal('session_ended'));
      throw refusal('session_ended');
    });
    await session.signIn(CREDENTIALS);
    expect(reason()).toBe('ended');
  });
});

describe('a password that somebody else has set', () => {
  const mustChange = (): boolean => session.state.signedIn && session.state.mustChange;

  it('is known before anything is shown', async () => {
    const seen: boolean[] = [];
    api.whoami.mockResolvedValueOnce({ ...WHO, must_change_password: true });
    session.subscribe(() => seen.push(mustChange()));
    await session.signIn(CREDENTIALS);
    expect(seen).toEqual([true]);
  });

  it('is learnt from any call, once', async () => {
    await session.signIn(CREDENTIALS);
    const listener = vi.fn();
    session.subscribe(listener);
    expect(session.passwordDue('t0')).toBe(false);
    expect(mustChange()).toBe(false);
    expect(session.passwordDue('t1')).toBe(false);
    expect(session.passwordDue('t1')).toBe(false);
    expect(mustChange()).toBe(true);
    expect(listener).toHaveBeenCalledOnce();
  });

  it('is replaced, and the session goes on', async () => {
    api.whoami.mockResolvedValueOnce({ ...WHO, must_change_password: true });
    await session.signIn(CREDENTIALS);
    await session.changePassword(CHANGE);
    expect(api.changePassword).toHaveBeenCalledExactlyOnceWith(CHANGE);
    expect(session.state).toEqual({ signedIn: true, who: WHO, mustChange: false });
    expect(session.token()).toBe('t1');
  });

  it('may still be asked for by a replica that has not heard; later it is meant', async () => {
    await session.signIn(CREDENTIALS);
    await session.changePassword(CHANGE);
    await clock.pass(4_000);
    expect(session.passwordDue('t1')).toBe(true);
    expect(mustChange()).toBe(false);
    await clock.pass(1_000);
    expect(session.passwordDue('t1')).toBe(false);
    expect(mustChange()).toBe(true);
  });

  it('stays when the change is refused', async () => {
    api.whoami.mockResolvedValueOnce({ ...WHO, must_change_password: true });
    await session.signIn(CREDENTIALS);
    api.changePassword.mockRejectedValueOnce(refusal('invalid_credentials'));
    await expect(session.changePassword(CHANGE)).rejects.toBeInstanceOf(ApiError);
    expect(mustChange()).toBe(true);
  });

  it('that is replaced after sign-out changes nothing here', async () => {
    await session.signIn(CREDENTIALS);
    let answer: () => void = () => undefined;
    api.changePassword.mockImplementationOnce(() => new Promise((done) => (answer = () => done(undefined))));
    const change = session.changePassword(CHANGE);
    await session.signOut();
    answer();
    await change;
    expect(reason()).toBe('signed-out');
  });
});

describe('exchange', () => {
  it('happens well before the end, again and again', async () => {
    await session.signIn(CREDENTIALS);
    await clock.pass(500_000);
    expect(api.refresh).not.toHaveBeenCalled();
    await clock.pass(100_000);
    expect(api.refresh).toHaveBeenCalledExactlyOnceWith('t1');
    expect(session.token()).toBe('t2');
    await clock.pass(600_000);
    expect(session.token()).toBe('t3');
  });

  it('can be waited for', async () => {
    await session.signIn(CREDENTIALS);
    await session.exchanged();
    let answer: (next: Token) => void = () => {};
    api.refresh.mockReturnValueOnce(new Promise<Token>((done) => (answer = done)));
    await clock.pass(594_000);
    const waited = session.exchanged().then(() => session.token());
    answer(token());
    expect(await waited).toBe('t2');
  });

  it('is repeated soon when the answer is lost: the old token is good for 30 s more', async () => {
    await session.signIn(CREDENTIALS);
    api.refresh.mockRejectedValueOnce(new ApiError({ kind: 'unreachable' })).mockRejectedValueOnce(new ApiError({ kind: 'timeout' }));
    await clock.pass(594_000 + 6_000);
    expect(api.refresh).toHaveBeenCalledTimes(3);
    expect(session.token()).toBe('t2');
    expect(reason()).toBe('signed in');
  });

  it('that never works ends with the token', async () => {
    await session.signIn(CREDENTIALS);
    api.refresh.mockRejectedValue(refusal('database_unavailable', 503));
    await clock.pass(899_000);
    expect(reason()).toBe('signed in');
    await clock.pass(2_000);
    expect(reason()).toBe('expired');
    expect(session.token()).toBeNull();
    expect(clock.pending).toBe(0);
  });

  it('that is refused ends the session', async () => {
    await session.signIn(CREDENTIALS);
    api.refresh.mockRejectedValue(refusal('session_ended'));
    await clock.pass(600_000);
    expect(reason()).toBe('ended');
  });

  it('is not tried when it leads no further: the session has its longest time', async () => {
    api.loginPassword.mockImplementationOnce(async () => token(900, 900_000));
    await session.signIn(CREDENTIALS);
    await clock.pass(899_000);
    expect(reason()).toBe('signed in');
    await clock.pass(1_000);
    expect(reason()).toBe('time-limit');
    expect(api.refresh).not.toHaveBeenCalled();
  });

  it('that answers after sign-out is dropped', async () => {
    let answer: (t: Token) => void = () => undefined;
    await session.signIn(CREDENTIALS);
    api.refresh.mockImplementationOnce(() => new Promise((done) => (answer = done)));
    await clock.pass(600_000);
    await session.signOut();
    answer(token());
    await settle();
    expect(session.token()).toBeNull();
    expect(reason()).toBe('signed-out');
    expect(clock.pending).toBe(0);
  });
});

describe('end', () => {
  it('by sign-out: here at once, then at the service', async () => {
    await session.signIn(CREDENTIALS);
    const done = session.signOut();
    expect(session.token()).toBeNull();
    await done;
    expect(api.logout).toHaveBeenCalledExactlyOnceWith('t1');
    expect(reason()).toBe('signed-out');
  });

  it('says so when the service could not be told', async () => {
    await session.signIn(CREDENTIALS);
    api.logout.mockRejectedValueOnce(new ApiError({ kind: 'unreachable' }));
    await session.signOut();
    expect(reason()).toBe('signed-out-here-only');
  });

  it('of a session that was over already is that of what the cookie stands for', async () => {
    await session.signIn(CREDENTIALS);
    api.logout.mockRejectedValueOnce(refusal('session_ended'));
    await session.signOut();
    expect(api.logout.mock.calls).toEqual([['t1'], [null]]);
    expect(reason()).toBe('signed-out');
    await session.signIn(CREDENTIALS);
    api.logout.mockRejectedValueOnce(refusal('session_ended')).mockRejectedValueOnce(new ApiError({ kind: 'unreachable' }));
    await session.signOut();
    expect(reason()).toBe('signed-out-here-only');
  });

  it('by a refused call, but not by one with an earlier token', async () => {
    await session.signIn(CREDENTIALS);
    session.refused('t0', refusal('session_ended'));
    expect(reason()).toBe('signed in');
    session.refused('t1', refusal('token_expired'));
    expect(reason()).toBe('expired');
  });
});

describe('a host that knows who is there', () => {
  const silent = vi.fn<() => Promise<Token | null>>();
  beforeEach(() => {
    silent.mockReset().mockImplementation(async () => token());
    session = new Session(api, silent, clock);
  });

  it('signs in at the start', async () => {
    const seen: [boolean, boolean][] = [];
    session.subscribe(() => seen.push([session.state.signedIn, session.isTrying]));
    await session.resume();
    expect(seen).toEqual([[false, true], [true, false], [true, false]]);
  });

  it.each([[null], [refusal('invalid_credentials')]])('leaves it to the form otherwise (%#)', async (outcome) => {
    silent.mockImplementation(async () => {
      if (outcome) throw outcome;
      return null;
    });
    await session.resume();
    expect([session.state.signedIn, session.isTrying]).toEqual([false, false]);
  });

  it('is asked again when the session has ended, before a form shows', async () => {
    await session.resume();
    await clock.pass(60_000);
    const seen: boolean[] = [];
    session.subscribe(() => !session.state.signedIn && seen.push(session.isTrying));
    session.refused(session.token() ?? '', refusal('session_ended'));
    await settle();
    expect([seen.every((isTrying) => isTrying), session.state.signedIn]).toEqual([true, true]);
    expect(silent).toHaveBeenCalledTimes(2);
  });

  it('is not asked again at once, nor after a sign-out', async () => {
    await session.resume();
    session.refused(session.token() ?? '', refusal('session_ended'));
    await settle();
    expect(session.state.signedIn).toBe(false);
    await session.signIn(CREDENTIALS);
    await clock.pass(60_000);
    await session.signOut();
    expect(silent).toHaveBeenCalledTimes(1);
  });

  it('comes too late for somebody who has signed in meanwhile', async () => {
    let answer: (token: Token) => void = () => undefined;
    silent.mockImplementation(() => new Promise((done) => (answer = done)));
    const resumed = session.resume();
    await session.signIn(CREDENTIALS);
    const mine = session.token();
    answer(token());
    await resumed;
    expect(session.token()).toBe(mine);
  });
});

describe('the cookie', () => {
  it('is kept for each session that is begun, and is no matter where it is not', async () => {
    api.keepCookie.mockRejectedValueOnce(refusal('database_unavailable', 503));
    await session.signIn(CREDENTIALS);
    expect(api.keepCookie.mock.calls).toEqual([['t1']]);
    expect(session.state.signedIn).toBe(true);
  });
});
