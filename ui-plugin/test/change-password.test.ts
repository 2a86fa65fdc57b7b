// The form for another password: what is wrong with it, and what a refusal means to a person.
// SPDX-License-Identifier: GPL-3.0-or-later
import { describe, expect, it } from 'vitest';
import { ApiError } from '../src/api/error.js';
import { faultsOf, firstFault } from '../src/model/change-password-form.js';
import { describeChangePasswordFailure } from '../src/model/failure-text.js';
import { strings } from '../src/strings/index.js';

const OLD = 'correct horse battery staple';
const FRESH = 'seven swans in a paper boat';

describe('the form', () => {
  it('has nothing wrong with it', () => {
    expect(faultsOf({ old: OLD, fresh: FRESH, again: FRESH })).toEqual({});
    expect(firstFault({})).toBeNull();
  });

  it('wants all of it, and goes to the first field that is wrong', () => {
    const faults = faultsOf({ old: '', fresh: '', again: '' });
    expect(faults).toEqual({ old: 'old-missing', fresh: 'fresh-missing', again: 'again-missing' });
    expect(firstFault(faults)).toBe('old');
    expect(firstFault({ again: 'again-differs', fresh: 'fresh-short' })).toBe('fresh');
  });

  it.each([
    ['eleven char', 'fresh-short'],
    ['twelve chars', undefined],
    ['🐳'.repeat(11), 'fresh-short'],
    ['🐳'.repeat(12), undefined],
    ['x'.repeat(500), undefined],
    ['x'.repeat(501), 'fresh-long'],
    ['🐳'.repeat(126), 'fresh-long'],
    ['with\ta tab inside', 'fresh-control'],
    ['with\u0085next line', 'fresh-control'],
    [OLD, 'fresh-is-old'],
    ['  blanks around it  ', undefined],
  ])('judges %j', (text, fault) => {
    expect(faultsOf({ old: OLD, fresh: text, again: text }).fresh).toBe(fault);
  });

  it('compares the repetition sign by sign', () => {
    expect(faultsOf({ old: OLD, fresh: FRESH, again: `${FRESH} ` })).toEqual({ again: 'again-differs' });
  });
});

describe('a refusal', () => {
  const refusal = (code: string, status: number, more: object = {}, retryAfterS: number | null = null): ApiError =>
    new ApiError({ kind: 'problem', problem: { type: 'about:blank', title: '', status, code, detail: 'the detail', request_id: 'r', ...more }, retryAfterS });

  it('of the old password belongs to its field', () => {
    expect(describeChangePasswordFailure(refusal('invalid_credentials', 401))).toEqual({ field: 'old', fault: strings.changePassword.refused });
  });

  it('of the new one has the words of the service, as sentences', () => {
    expect(describeChangePasswordFailure(refusal('unprocessable', 422))).toEqual({ field: 'fresh', fault: 'The detail.' });
    expect(describeChangePasswordFailure(refusal('unprocessable', 422, { remedy: 'take words' }))).toEqual({ field: 'fresh', fault: 'The detail. Take words.' });
  });

  it('for too many attempts tells how long to wait', () => {
    const failure = describeChangePasswordFailure(refusal('too_many_requests', 429, {}, 1));
    expect(failure).toMatchObject({ field: null, text: { detail: 'Too many attempts. Try again in 1 second.' } });
  });

  it('of another kind has the words of the page', () => {
    const failure = describeChangePasswordFailure(refusal('database_unavailable', 503, { remedy: 'elsewhere' }));
    expect(failure).toEqual({ field: null, title: strings.changePassword.failedTitle, text: { ...strings.error.problem('database_unavailable'), requestId: 'r' } });
  });

  it('that did not arrive leaves open what happened', () => {
    const failure = describeChangePasswordFailure(new ApiError({ kind: 'timeout' }));
    expect(failure).toMatchObject({ field: null, title: strings.changePassword.openTitle, text: { remedy: strings.changePassword.openRemedy } });
  });
});
