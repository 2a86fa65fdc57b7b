// What the sign-in form holds, which accounts it offers and when it is complete; pure.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { LoginWays } from '../api/types.js';

/** Where a password is checked: here, at a vCenter, or by the directory of that name. */
export type Account = 'local' | 'vcenter' | `directory:${string}`;

export interface SignInForm {
  account: Account;
  vcenter: string;
  username: string;
  password: string;
}

/** What nobody can sign in without. */
export type MustField = 'username' | 'password';
export type SignInField = MustField | 'vcenter';

const DIRECTORY = 'directory:';

/** What is offered while the service has not said which ways there are: what there was always. */
export const USUAL_WAYS: LoginWays = { vcenter: true, directories: [], kerberos: 'off' };

/** The accounts to choose from. Where there is a directory, most people are in it, else in vCenter; local accounts are a few people's. */
export function accountsOf(ways: LoginWays): Account[] {
  const directories = ways.directories.map((name): Account => `${DIRECTORY}${name}`);
  return [...directories, ...(ways.vcenter ? ['vcenter' as const] : []), 'local'];
}

/** The account to begin with: the one that was used last at this browser, if it is still there. */
export function firstAccount(accounts: readonly Account[], last: string | null): Account {
  return accounts.find((account) => account === last) ?? accounts[0] ?? 'local';
}

/** Null for accounts that are no directory's. */
export function directoryOf(account: Account): string | null {
  return account.startsWith(DIRECTORY) ? account.slice(DIRECTORY.length) : null;
}

/** The fields that must still be filled in, in the order of the form. */
export function missingFields(form: SignInForm): MustField[] {
  return (['username', 'password'] as const).filter((field) => form[field] === '');
}

/** `source` of the sign-on call. The only vCenter needs no address; whether there is only one the service tells no stranger. */
export function sourceOf({ account, vcenter }: Pick<SignInForm, 'account' | 'vcenter'>): string {
  if (account !== 'vcenter') return directoryOf(account) ?? 'local';
  return vcenter === '' ? 'vcenter' : `vcenter:${vcenter}`;
}
