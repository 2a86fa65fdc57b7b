// The sign-in form: which accounts it offers, what it sends, and what a failed sign-on means to a person.
// SPDX-License-Identifier: GPL-3.0-or-later
import { describe, expect, it } from 'vitest';
import { ApiError, type Failure } from '../src/api/error.js';
import { describeKerberosFailure, describeSignInFailure, isQuietKerberosFailure } from '../src/model/failure-text.js';
import { USUAL_WAYS, accountsOf, directoryOf, firstAccount, missingFields, sourceOf, type SignInForm } from '../src/model/sign-in-form.js';
import { strings } from '../src/strings/index.js';

const FILLED: SignInForm = { account: 'local', vcenter: '', username: 'anna', password: 'secret' };
const words = strings.signIn;

function refusal(status: number, code: string, detail = 'd', remedy?: string, retryAfterS: number | null = null): ApiError {
  const problem = { type: 'about:blank', title: '', status, code, detail, request_id: 'r-1', ...(remedy === undefined ? {} : { remedy }) };
  return new ApiError({ kind: 'problem', problem, retryAfterS });
}

/** Whose password was tried. */
const at = (account: SignInForm['account'], vcenter = 'vc') => ({ account, vcenter });
const failed = (failure: Failure): ApiError => new ApiError(failure);

describe('accounts', () => {
  it('offers what there is, what is here alone last', () => {
    expect(accountsOf(USUAL_WAYS)).toEqual(['vcenter', 'local']);
    expect(accountsOf({ vcenter: false, directories: [], kerberos: 'auto' })).toEqual(['local']);
    expect(accountsOf({ vcenter: true, directories: ['corp', 'lab'], kerberos: 'off' })).toEqual(['directory:corp', 'directory:lab', 'vcenter', 'local']);
  });

  it('begins with the one used last, unless it is gone', () => {
    const accounts = accountsOf({ vcenter: true, directories: ['corp'], kerberos: 'off' });
    expect(firstAccount(accounts, null)).toBe('directory:corp');
    expect(firstAccount(accounts, 'local')).toBe('local');
    expect(firstAccount(accounts, 'directory:gone')).toBe('directory:corp');
    expect(firstAccount([], 'vcenter')).toBe('local');
  });

  it('says who checks the password', () => {
    expect(sourceOf(FILLED)).toBe('local');
    expect(sourceOf({ ...FILLED, account: 'vcenter', vcenter: 'vc.example.com' })).toBe('vcenter:vc.example.com');
    expect(sourceOf({ ...FILLED, account: 'vcenter' })).toBe('vcenter');
    expect(sourceOf({ ...FILLED, account: 'directory:corp' })).toBe('corp');
    expect(directoryOf('directory:a:b')).toBe('a:b');
    expect(directoryOf('vcenter')).toBeNull();
  });

  it('wants all of it but the vCenter, in the order of the form', () => {
    expect(missingFields(FILLED)).toEqual([]);
    expect(missingFields({ ...FILLED, account: 'vcenter', username: '' })).toEqual(['username']);
    expect(missingFields({ ...FILLED, account: 'directory:corp', username: '', password: '' })).toEqual(['username', 'password']);
    expect(missingFields({ ...FILLED, password: '' })).toEqual(['password']);
  });
});

describe('failures', () => {
  it('says what to do where nobody gave a role', () => {
    const error = refusal(403, 'forbidden', 'you are known, but no role is mapped to you', 'ask an administrator');
    expect(describeSignInFailure(error)).toEqual({ ...words.noRole, requestId: 'r-1' });
    expect(describeKerberosFailure(error)).toEqual(describeSignInFailure(error));
  });

  it('tells a ticket that was not sent from one that was not taken', () => {
    expect(describeKerberosFailure(refusal(401, 'unauthenticated'))).toEqual({ ...words.kerberosFault.none, requestId: 'r-1' });
    expect(describeKerberosFailure(refusal(401, 'invalid_credentials'))).toEqual({ ...words.kerberosFault.refused, requestId: 'r-1' });
    expect(describeSignInFailure(refusal(401, 'invalid_credentials')).detail).toBe(words.refused.detail);
    expect(describeKerberosFailure(refusal(429, 'too_many_requests', 'd', undefined, 3)).detail).toBe(words.throttled(3));
    expect([3, 119, 120, 601].map((s) => words.throttled(s))).toEqual(['3 seconds', '119 seconds', '2 minutes', '11 minutes'].map((time) => `Too many attempts. Try again in ${time}.`));
  });

  it('says of a vCenter account that any of the three may be wrong', () => {
    const refused = refusal(401, 'invalid_credentials');
    expect(describeSignInFailure(refused, at('vcenter'))).toEqual({ ...words.refusedVcenter, requestId: 'r-1' });
    expect(describeSignInFailure(refused, at('vcenter', ''))).toEqual({ ...words.refusedOnlyVcenter, requestId: 'r-1' });
    expect(describeSignInFailure(refused, at('local'))).toEqual({ ...words.refused, requestId: 'r-1' });
  });

  it('tells who checks the password, when that one is away', () => {
    for (const code of ['upstream_unreachable', 'upstream_timeout', 'tls_untrusted']) {
      expect(describeSignInFailure(refusal(502, code), at('vcenter')).detail).toBe(words.vcenterAway.detail);
      expect(describeSignInFailure(refusal(502, code), at('directory:corp')).detail).toBe(words.directoryAway('corp').detail);
    }
    expect(describeSignInFailure(refusal(502, 'upstream_timeout'), at('vcenter')).remedy).toBe(words.vcenterAway.remedy);
  });

  it('names no tool of administrators, whatever the service names', () => {
    const codes = ['invalid_credentials', 'forbidden', 'too_many_requests', 'upstream_unreachable', 'unavailable', 'internal'];
    for (const code of codes) {
      for (const account of ['local', 'vcenter', 'directory:corp', null] as const) {
        const text = describeSignInFailure(refusal(400, code, "calls are held back; see 'kaasctl vcenter list'", 'run kaasctl'), account && at(account));
        expect(JSON.stringify(text)).not.toMatch(/kaasctl|held back/);
      }
    }
  });

  it('keeps quiet, when nobody asked, about what a form can do without', () => {
    expect(isQuietKerberosFailure(refusal(401, 'unauthenticated'))).toBe(true);
    expect(isQuietKerberosFailure(failed({ kind: 'timeout' }))).toBe(true);
    for (const told of [refusal(403, 'forbidden'), refusal(401, 'invalid_credentials'), refusal(503, 'unavailable')]) expect(isQuietKerberosFailure(told)).toBe(false);
  });

  it('is no place for the faults of this page', () => {
    expect(() => describeKerberosFailure(new TypeError('x'))).toThrow(TypeError);
  });
});
