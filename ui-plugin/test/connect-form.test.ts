// The form that connects a cluster: what it takes from the service's words, and what a failure means.
// SPDX-License-Identifier: GPL-3.0-or-later
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ApiError, type Failure } from '../src/api/error.js';
import type { ConnectStep } from '../src/api/types.js';
import { KUBECONFIG_BYTES_MAX, askedContexts, faultOf, unknownCertificate } from '../src/model/connect-form.js';
import { describeConnectFailure } from '../src/model/failure-text.js';

const SHA = Array(32).fill('0A').join(':');
const step = (word: string, finding: string, status: ConnectStep['status'] = 'failed'): ConnectStep => ({ step: word, title: '', status, finding, remedy: null });
const problem = (code: string, steps?: ConnectStep[], retryAfterS: number | null = null): ApiError =>
  new ApiError({ kind: 'problem', retryAfterS, problem: { type: '', title: '', status: 400, code, detail: 'its words', remedy: 'its remedy', request_id: 'r', ...(steps ? { steps } : {}) } });

describe('the words of the service', () => {
  it.each([
    ['kubernetes/connect.c', 'no CA is given; the server\'s certificate has the SHA-256 %s: %s, issued by %s'],
    ['k8s/kubeconfig.c', 'there are several contexts and none is the current one: %s'],
    ['k8s/kubeconfig.c', 'there is no context \\"%s\\"; there is %s'],
    ['k8s/kubeconfig.c', ' and %zu more'],
    ['k8s/kubeconfig.c', '"kubeconfig: %s"'],
  ])('that are read here stand in %s: %s', (file, words) => {
    expect(readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8')).toContain(words);
  });
});

describe('a kubeconfig', () => {
  it('is there, and no longer than the service takes, counted in bytes', () => {
    expect([faultOf(''), faultOf(' \n'), faultOf('a'), faultOf('a'.repeat(KUBECONFIG_BYTES_MAX)), faultOf('ä'.repeat(KUBECONFIG_BYTES_MAX / 2 + 1))]).toEqual(['missing', 'missing', null, null, 'too-long']);
  });
});

describe('a certificate', () => {
  it('is to be confirmed where no CA is given', () => {
    const finding = `no CA is given; the server's certificate has the SHA-256 ${SHA}: CN=a, issued by CN=b`;
    expect(unknownCertificate([step('text', '', 'ok'), step('tls', finding)])).toEqual({ sha256: SHA, about: 'CN=a, issued by CN=b' });
    expect([unknownCertificate([]), unknownCertificate([step('tls', finding, 'ok')]), unknownCertificate([step('tls', `expired, SHA-256 ${SHA}: CN=a`)])]).toEqual([null, null, null]);
  });
});

describe('contexts', () => {
  it.each([
    ['kubeconfig: there are several contexts and none is the current one: "a", "b, c"', { names: ['a', 'b, c'], areAll: true }],
    ['kubeconfig:3:1: there is no context "x"; there is "a"', { names: ['a'], areAll: true }],
    ['kubeconfig: there is no context "x"; there is "a", "b" and 12 more', { names: ['a', 'b'], areAll: false }],
    ['kubeconfig: there are several contexts and none is the current one: "a long name...", "b"', { names: ['a long name...', 'b'], areAll: false }],
    ['kubeconfig: there is no context in it', null],
    ['', null],
  ])('are named by %j', (finding, contexts) => {
    expect(askedContexts([step('text', finding)])).toEqual(contexts);
    expect(askedContexts([step('text', finding, 'ok'), step('tls', finding)])).toBeNull();
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
