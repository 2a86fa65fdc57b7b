// Who is signed in: holds the token (in memory only, never in storage, so that closing the tab ends it), exchanges it in time and
// says when the session is over. No view, no texts.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ApiClient, TokenHolder } from '../api/client.js';
import { ApiError, isSessionOver } from '../api/error.js';
import type { LoginPasswordRequest, PasswordChange, Token, Whoami } from '../api/types.js';

/** Why nobody is signed in. `first`: the page was just opened. */
export type EndReason = 'first' | 'signed-out' | 'signed-out-here-only' | 'expired' | 'ended' | 'time-limit';

/** `mustChange`: somebody else set the password, and nothing goes before it is replaced. */
export type SessionState = { signedIn: false; reason: EndReason } | { signedIn: true; who: Whoami | null; mustChange: boolean };

/** Time, so that tests can fake it. */
export interface Clock {
  now(): number;
  after(ms: number, run: () => void): unknown;
  cancel(timer: unknown): void;
}

const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  after: (ms, run) => setTimeout(run, ms),
  cancel: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

type Api = Pick<ApiClient, 'loginPassword' | 'loginKerberos' | 'refresh' | 'logout' | 'whoami' | 'changePassword' | 'keepCookie'> & { holder: TokenHolder | null };

/** Signs in without anybody typing; null where that does not work now. */
export type SilentSignIn = () => Promise<Token | null>;

/** Exchange when this part of the life is over: far from the end, so that several attempts fit in. */
const REFRESH_AT = 0.66;
/** The service takes a repeated exchange for 30 s; a lost answer must be asked for again within that time. */
const RETRY_MS = [2_000, 4_000, 8_000, 15_000];
/** A replica that still asks for a change so long after one has not heard of it yet; this is a multiple of the second that takes. */
const CHANGE_SETTLES_MS = 5_000;
/** A session that ends so soon after it was begun by itself would only do so again. */
const SILENT_AGAIN_MS = 10_000;

export class Session implements TokenHolder {
  state: SessionState = { signedIn: false, reason: 'first' };
  /** Nobody is signed in, and the host is asked who is there. */
  isTrying = false;
  /** The id of the session, also when it is over. */
  id: string | null = null;

  private current: Token | null = null;
  private expiresAtMs = 0;
  private timer: unknown = null;
  private exchanging: Promise<void> = Promise.resolve();
  private passwordChangedAtMs = -Infinity;
  /** Counts sessions, so that an answer for an earlier one is not taken for this one. */
  private epoch = 0;
  private triedAtMs = -Infinity;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly api: Api, private readonly silent: SilentSignIn | null = null, private readonly clock: Clock = SYSTEM_CLOCK) {
    api.holder = this;
  }

  /** Calls `listener` after each change of `state`; the answer ends that. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  token(): string | null {
    return this.current?.access_token ?? null;
  }

  /** Signs in; throws what the api client throws, and nothing has changed then. */
  async signIn(request: LoginPasswordRequest): Promise<void> {
    const token = await this.api.loginPassword(request);
    // Only a local account may have to change its password: known before anything is shown. For others the name may come later.
    await this.begin(token, request.source !== 'local');
  }

  /** Signs in as the host says, if there is one that knows. What is wrong with that shows in the form, where people sign in then. */
  async resume(): Promise<void> {
    if (this.silent === null || this.isTrying || this.clock.now() - this.triedAtMs < SILENT_AGAIN_MS) return;
    this.triedAtMs = this.clock.now();
    this.isTrying = true;
    this.notify();
    try {
      const token = await this.silent();
      this.isTrying = false;
      if (token !== null && !this.state.signedIn) return await this.begin(token, true);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    } finally {
      this.isTrying = false;
    }
    this.notify();
  }

  /** Signs in by the browser's Kerberos ticket; throws as signIn, and AbortError when it was given up. */
  async signInKerberos(signal: AbortSignal): Promise<void> {
    const token = await this.api.loginKerberos(signal);
    signal.throwIfAborted();
    await this.begin(token, true);
  }

  /** Replaces the password; throws what the api client throws, and nothing has changed here then. The session goes on. */
  async changePassword(change: PasswordChange): Promise<void> {
    const epoch = this.epoch;
    await this.api.changePassword(change);
    if (this.epoch !== epoch || !this.state.signedIn) return;
    this.passwordChangedAtMs = this.clock.now();
    const { who } = this.state;
    this.change({ signedIn: true, who: who && { ...who, must_change_password: false }, mustChange: false });
  }

  /** Signs out here at once, and then at the service. */
  async signOut(): Promise<void> {
    const token = this.token();
    if (token === null) return;
    const epoch = this.epoch;
    this.end('signed-out');
    try {
      await this.endAtService(token);
    } catch {
      if (this.epoch !== epoch || this.state.signedIn) return;
      this.change({ signedIn: false, reason: 'signed-out-here-only' });
    }
  }

  /** Where the session is over already, the browser's cookie may stand for another one. */
  private async endAtService(token: string): Promise<void> {
    try {
      await this.api.logout(token);
    } catch (error) {
      if (!isSessionOver(error)) throw error;
      await this.api.logout(null);
    }
  }

  exchanged(): Promise<void> {
    return this.exchanging;
  }

  refused(token: string, error: ApiError): void {
    if (token !== this.token()) return;
    this.end(error.code === 'token_expired' ? 'expired' : 'ended');
  }

  passwordDue(token: string): boolean {
    if (token !== this.token() || !this.state.signedIn) return false;
    if (this.clock.now() - this.passwordChangedAtMs < CHANGE_SETTLES_MS) return true;
    if (!this.state.mustChange) this.change({ ...this.state, mustChange: true });
    return false;
  }

  private async begin(token: Token, atOnce: boolean): Promise<void> {
    this.epoch += 1;
    this.passwordChangedAtMs = -Infinity;
    this.id = sidOf(token.access_token);
    this.adopt(token);
    void this.keep(token);
    if (atOnce) this.change({ signedIn: true, who: null, mustChange: false });
    await this.learnWho();
  }

  /** Without the cookie the page asks for a password when it is loaded again; nothing else is amiss. */
  private async keep(token: Token): Promise<void> {
    try {
      await this.api.keepCookie(token.access_token);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  }

  private async learnWho(): Promise<void> {
    const epoch = this.epoch;
    let who: Whoami | null = null;
    try {
      who = await this.api.whoami();
    } catch (error) {
      // The name in the header is a courtesy; the list tells what is wrong. A refused token has been reported already.
      if (!(error instanceof ApiError)) throw error;
      if (this.state.signedIn) return;
    }
    if (this.epoch === epoch && this.current) this.change({ signedIn: true, who, mustChange: who?.must_change_password ?? false });
  }

  private adopt(token: Token): void {
    this.current = token;
    const now = this.clock.now();
    this.expiresAtMs = now + token.expires_in * 1000;
    const sessionEndMs = Date.parse(token.session_expires_at);
    const last = Number.isFinite(sessionEndMs) && sessionEndMs <= this.expiresAtMs + 1000;
    if (last) this.schedule(this.expiresAtMs - now, () => this.end('time-limit'));
    else this.schedule(token.expires_in * 1000 * REFRESH_AT, () => this.startExchange(0));
  }

  private startExchange(attempt: number): void {
    this.exchanging = this.exchange(attempt);
  }

  private async exchange(attempt: number): Promise<void> {
    const old = this.token();
    if (old === null) return;
    if (this.clock.now() >= this.expiresAtMs) return this.end('expired');
    try {
      const next = await this.api.refresh(old);
      if (this.token() === old) this.adopt(next);
    } catch (error) {
      if (this.token() !== old) return;
      if (error instanceof ApiError && isSessionOver(error)) return this.refused(old, error);
      const wait = RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? 15_000;
      const left = Math.max(0, this.expiresAtMs - this.clock.now());
      this.schedule(Math.min(wait, left), () => this.startExchange(attempt + 1));
    }
  }

  private end(reason: EndReason): void {
    this.clock.cancel(this.timer);
    this.timer = null;
    this.current = null;
    // The host is asked before anybody hears of the end, so that no form shows up for a moment.
    const before = this.state;
    this.state = { signedIn: false, reason };
    if (before.signedIn && reason !== 'signed-out') void this.resume();
    this.notify();
  }

  private schedule(ms: number, run: () => void): void {
    this.clock.cancel(this.timer);
    this.timer = this.clock.after(ms, run);
  }

  private change(state: SessionState): void {
    this.state = state;
    this.notify();
  }

  private notify(): void {
    for (const listener of this.listeners) listener();
  }
}

/** The id of the session that a token is of; null where that cannot be read. */
function sidOf(token: string): string | null {
  try {
    const claims = JSON.parse(atob((token.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/'))) as { sid?: string };
    return claims.sid ?? null;
  } catch {
    return null;
  }
}
