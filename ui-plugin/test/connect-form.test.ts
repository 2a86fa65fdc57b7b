// The form that connects a cluster: what it takes from the service's words, and what a failure means.
// SPDX-License-Identifier: GPL-3.0-or-later
import { describe, expect, it } from 'vitest';
import { ApiError, type Failure } from '../src/api/error.js';
import type { ConnectStep } from '../src/api/types.js';
import { CONTEXTS_MAX, KUBECONFIG_BYTES_MAX, askedOf, faultOf } from '../src/model/connect-form.js';
import { describeConnectFailure } from '../src/model/failure-text.js';

const SHA = Array(32).fill('0A').join(':');
const step = (word: string, finding: string, status: ConnectStep['status'] = 'failed'): ConnectStep => ({ step: word, title: '', status, finding, remedy: null });
const problem = (code: string, steps?: ConnectStep[], retryAfterS: number | null = null): ApiError =>
  new ApiError({ kind: 'problem', retryAfterS, problem: { type: '', title: '', status: 400, code, detail: 'its words', remedy: 'its remedy', request_id: 'r', ...(steps ? { steps } : {}) } });

describe('a kubeconfig', () => {
  it('is there, and no longer than the service takes, counted in bytes', () => {
    expect([faultOf(''), faultOf(' \n'), faultOf('a'), faultOf('a'.repeat(KUBECONFIG_BYTES_MAX)), faultOf('ä'.repeat(KUBECONFIG_BYTES_MAX / 2 + 1))]).toEqual(['missing', 'missing', null, null, 'too-long']);
  });
});

describe('what is asked for', () => {
  const asking = (more: object): ApiError => {
    const error = problem('unprocessable');
    if (error.failure.kind === 'problem') Object.assign(error.failure.problem, more);
    return error;
  };

  it('is a certificate that is to be compared', () => {
    const certificate = { subject: 'CN=a', issuer: 'CN=b', sha256: SHA };
    expect(askedOf(asking({ certificate }))).toEqual({ certificate, contexts: null });
  });

  it('is one of the contexts, of which the service names some only', () => {
    expect(askedOf(asking({ contexts: ['a', 'b, c'] })).contexts).toEqual({ names: ['a', 'b, c'], areAll: true });
    expect(askedOf(asking({ contexts: Array<string>(CONTEXTS_MAX).fill('a') })).contexts?.areAll).toBe(false);
  });

  it('is nothing else', () => {
    expect(askedOf(problem('unprocessable'))).toEqual({ certificate: null, contexts: null });
    expect(askedOf(new ApiError({ kind: 'unreachable' } as Failure))).toEqual({ certificate: null, contexts: null });
  });
});

describe('a failure', () => {
  it('is told by the steps where there are any, else in the words of the service', () => {
    expect(describeConnectFailure(problem('tls_untrusted', [step('tls', 'x')]), 'check')).toEqual({
      title: 'The check found something', text: { detail: 'Nothing was made. The step that failed says what to do.', remedy: null, requestId: 'r' } });
    expect(describeConnectFailure(problem('conflict'), 'connect')).toEqual({ title: 'The cluster was not connected', text: { detail: 'Its words.', remedy: 'Its remedy.', requestId: 'r' } });
    expect(describeConnectFailure(problem('conflict', [step('text', '', 'ok')]), 'connect').text.detail).toBe('Its words.');
    expect(describeConnectFailure(problem('too_many_requests', undefined, 300), 'connect').text).toEqual({ detail: 'Too many attempts. Try again in 5 minutes.', remedy: null, requestId: 'r' });
  });

  it.each<Failure>([{ kind: 'timeout' }, { kind: 'unreachable' }, { kind: 'malformed', status: 502 }])('without an answer leaves open whether the cluster is connected: %j', (failure) => {
    expect(describeConnectFailure(new ApiError(failure), 'connect').title).toBe('The cluster may or may not be connected');
    expect(describeConnectFailure(new ApiError(failure), 'check').title).toBe('The check found something');
  });
});
