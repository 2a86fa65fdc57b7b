// What a failed call means to a person: detail, remedy, request id. Titles belong to the view that made the call, unless they tell the outcome.
// SPDX-License-Identifier: GPL-3.0-or-later
import { ApiError } from '../api/error.js';
import { strings } from '../strings.js';
import type { ChangePasswordField } from './change-password-form.js';
import type { Account } from './sign-in-form.js';

export interface FailureText {
  detail: string;
  remedy: string | null;
  requestId: string | null;
}

/** The texts for `error`; anything but an ApiError is a fault of this page and is thrown on. */
export function describeFailure(error: unknown): FailureText {
  if (!(error instanceof ApiError)) throw error;
  const { failure } = error;
  switch (failure.kind) {
    case 'problem': {
      const { detail, remedy, request_id } = failure.problem;
      const wait = failure.retryAfterS === null ? null : strings.error.retryIn(failure.retryAfterS);
      return { detail, remedy: remedy ?? wait, requestId: request_id || null };
    }
    case 'unreachable':
      return { detail: strings.error.unreachable, remedy: strings.error.unreachableRemedy, requestId: null };
    case 'timeout':
      return { detail: strings.error.timeout, remedy: strings.error.timeoutRemedy, requestId: null };
    case 'signed-out':
      return { detail: strings.error.signedOut, remedy: strings.error.signedOutRemedy, requestId: null };
    case 'malformed':
      return { detail: strings.error.malformed(failure.status), remedy: strings.error.malformedRemedy, requestId: null };
  }
}

/** The same for the sign-in form, where a refusal and too many attempts have words of their own. The service does not tell strangers which vCenters there are. */
export function describeSignInFailure(error: unknown, account: Account = 'local'): FailureText {
  const text = describeFailure(error);
  if (!(error instanceof ApiError) || error.failure.kind !== 'problem') return text;
  const remedy = error.failure.problem.remedy;
  const refused = account === 'vcenter' ? strings.signIn.refusedVcenter : strings.signIn.refused;
  if (error.code === 'invalid_credentials') return { ...text, detail: refused, remedy: remedy ? sentence(remedy) : null };
  if (error.code === 'too_many_requests') return { ...text, detail: strings.signIn.throttled(error.failure.retryAfterS), remedy: null };
  return { ...text, detail: sentence(text.detail), remedy: text.remedy && sentence(text.remedy) };
}

/** The same for sign-on by Kerberos: what to do about a ticket that is not there, or not taken, only people at that computer and the administrator can find out. */
export function describeKerberosFailure(error: unknown): FailureText {
  const text = describeSignInFailure(error);
  const words = strings.signIn.kerberosFault;
  if (!(error instanceof ApiError)) return text;
  if (error.code === 'unauthenticated') return { ...text, ...words.none };
  if (error.code === 'invalid_credentials') return { ...text, ...words.refused };
  return text;
}

/** Is this what the page need not tell when nobody had asked it to sign in? Then there is a form to be filled in, as ever. */
export function isQuietKerberosFailure(error: unknown): boolean {
  return error instanceof ApiError && (error.failure.kind !== 'problem' || error.code === 'unauthenticated');
}

/** Either a word about one field of the form, or about the whole. */
export type ChangePasswordFailure = { field: ChangePasswordField; fault: string } | { field: null; title: string; text: FailureText };

/** The same for the form for another password. Without an answer it is open whether the password was changed. */
export function describeChangePasswordFailure(error: unknown): ChangePasswordFailure {
  const words = strings.changePassword;
  const text = describeFailure(error);
  if (!(error instanceof ApiError) || error.failure.kind !== 'problem') return { field: null, title: words.openTitle, text: { ...text, remedy: words.openRemedy } };
  if (error.code === 'invalid_credentials') return { field: 'old', fault: words.refused };
  if (error.code === 'unprocessable') return { field: 'fresh', fault: [text.detail, text.remedy].filter((part) => part !== null).map(sentence).join(' ') };
  if (error.code === 'too_many_requests') return { field: null, title: words.failedTitle, text: { ...text, detail: strings.signIn.throttled(error.failure.retryAfterS), remedy: null } };
  return { field: null, title: words.failedTitle, text };
}

/** The service's words begin small and end without a stop. */
function sentence(text: string): string {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}
