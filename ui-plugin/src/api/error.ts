// The one error that the api client throws, and the questions the rest of the page asks about it. No texts for people: see src/strings.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { Problem } from './types.js';

export type Failure =
  /** The service answered an error of its own. */
  | { kind: 'problem'; problem: Problem; retryAfterS: number | null }
  /** No answer at all: offline, name not found, refused, certificate not trusted. The browser does not tell which. */
  | { kind: 'unreachable' }
  | { kind: 'timeout' }
  /** Nothing was asked: the session had ended before. */
  | { kind: 'signed-out' }
  /** An answer, but not one of ours: a proxy's error page, a truncated body. */
  | { kind: 'malformed'; status: number };

/** What a failed call throws. */
export class ApiError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.kind === 'problem' ? `${failure.problem.status} ${failure.problem.code}` : failure.kind);
    this.name = 'ApiError';
  }

  get code(): string | null {
    return this.failure.kind === 'problem' ? this.failure.problem.code : null;
  }
}

const SESSION_OVER = new Set(['unauthenticated', 'token_expired', 'session_ended']);

/** True when only a new sign-on helps. A 401 alone does not say so: a refused password is a 401 as well. */
export function isSessionOver(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  if (error.failure.kind === 'signed-out') return true;
  if (error.failure.kind !== 'problem') return false;
  return error.failure.problem.status === 401 && SESSION_OVER.has(error.failure.problem.code);
}

/** True when the caller may do nothing but replace a password that somebody else has set. */
export function isPasswordDue(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'password_change_required';
}

/** True for the exception of a call that its own caller gave up. */
export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
