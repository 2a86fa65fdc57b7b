// What a failed call means to a person: detail, remedy, request id. Titles belong to the view that made the call, unless they tell the outcome.
// SPDX-License-Identifier: GPL-3.0-or-later
import { ApiError } from '../api/error.js';
import { strings } from '../strings/index.js';
import type { ChangePasswordField } from './change-password-form.js';
import { sentence } from './sentence.js';
import { directoryOf, type SignInForm } from './sign-in-form.js';

export interface FailureText {
  detail: string;
  remedy: string | null;
  requestId: string | null;
}

/** The texts for `error`; anything but an ApiError is a fault of this page and is thrown on. Administrators read the service's own words. */
export function describeFailure(error: unknown, forAdmin = false): FailureText {
  if (!(error instanceof ApiError)) throw error;
  const { failure } = error;
  switch (failure.kind) {
    case 'problem': {
      const { code, detail, remedy, request_id } = failure.problem;
      const words = forAdmin ? { detail: sentence(detail), remedy: remedy === undefined ? null : sentence(remedy) } : strings.error.problem(code);
      const wait = failure.retryAfterS === null ? null : strings.error.retryIn(failure.retryAfterS);
      return { detail: words.detail, remedy: forAdmin ? (words.remedy ?? wait) : (wait ?? words.remedy), requestId: request_id || null };
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

/** Whose password was tried, and at which vCenter. */
type Tried = Pick<SignInForm, 'account' | 'vcenter'>;

/** The same for the sign-in form; `tried` is null for Kerberos. */
export function describeSignInFailure(error: unknown, tried: Tried | null = null): FailureText {
  const text = describeFailure(error);
  if (!(error instanceof ApiError) || error.failure.kind !== 'problem') return text;
  return { ...text, ...signInWords(error.failure.problem.code, error.failure.retryAfterS, tried) };
}

/** What means something else at the sign-in than elsewhere. */
function signInWords(code: string, retryAfterS: number | null, tried: Tried | null): Partial<FailureText> {
  const words = strings.signIn;
  const account = tried?.account ?? null;
  const directory = account && directoryOf(account);
  // Strangers are not told which vCenters there are: what is wrong may be the vCenter, too.
  if (code === 'invalid_credentials' && account === 'vcenter') return tried?.vcenter === '' ? words.refusedOnlyVcenter : words.refusedVcenter;
  if (code === 'invalid_credentials') return words.refused;
  if (code === 'too_many_requests') return { detail: words.throttled(retryAfterS), remedy: null };
  if (code === 'forbidden') return words.noRole;
  if (account === 'vcenter' && isUpstream(code)) return words.vcenterAway;
  if (directory && isUpstream(code)) return words.directoryAway(directory);
  return {};
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

/** A fault of the vCenter or directory behind the service. */
function isUpstream(code: string): boolean {
  return code.startsWith('upstream_') || code === 'tls_untrusted';
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
  if (error.code === 'unprocessable') {
    // What is wrong with a password only the service knows; its words on that are for everybody.
    const { detail, remedy } = describeFailure(error, true);
    return { field: 'fresh', fault: remedy === null ? detail : `${detail} ${remedy}` };
  }
  if (error.code === 'too_many_requests') return { field: null, title: words.failedTitle, text: { ...text, detail: strings.signIn.throttled(error.failure.retryAfterS), remedy: null } };
  return { field: null, title: words.failedTitle, text };
}

export type ConnectDeed = 'check' | 'connect';
export interface ConnectFailure {
  title: string;
  text: FailureText;
}

/** The same for the form that connects a cluster, which shows the steps beside it. Without an answer it is open whether the cluster is connected. */
export function describeConnectFailure(error: ApiError, deed: ConnectDeed): ConnectFailure {
  const words = strings.connect;
  const text = describeFailure(error, true);
  if (error.failure.kind !== 'problem') return deed === 'check' ? { title: words.failed.check, text } : { title: words.openTitle, text: { ...text, remedy: words.openRemedy } };
  const title = words.failed[deed];
  if (error.code === 'too_many_requests') return { title, text: { ...text, detail: strings.signIn.throttled(error.failure.retryAfterS), remedy: null } };
  return { title, text: error.failure.problem.steps?.some(({ status }) => status === 'failed') ? { ...text, detail: words.failedText, remedy: null } : text };
}
