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

export type SignInField = 'vcenter' | 'username' | 'password';

const DIRECTORY = 'directory:';

/** What is offered while the service has not said which ways there are: what there was always. */
export const USUAL_WAYS: LoginWays = { vcenter: true, directories: [], kerberos: 'off' };

/** The accounts to choose from. Directories come first: where there is one, most people are in it. */
export function accountsOf(ways: LoginWays): Account[] {
  const directories = ways.directories.map((name): Account => `${DIRECTORY}${name}`);
  const rest: Account[] = ways.vcenter ? ['local', 'vcenter'] : ['local'];
  return [...directories, ...rest];
}

/** The account to begin with: the one that was used in this tab, if it is still there. */
export function firstAccount(accounts: readonly Account[], last: string | null): Account {
  return accounts.find((account) => account === last) ?? accounts[0] ?? 'local';
}

/** Null for accounts that are no directory's. */
export function directoryOf(account: Account): string | null {
  return account.startsWith(DIRECTORY) ? account.slice(DIRECTORY.length) : null;
}

/** The fields that must still be filled in, in the order of the form. */
export function missingFields(form: SignInForm): SignInField[] {
  const fields: SignInField[] = form.account === 'vcenter' ? ['vcenter', 'username', 'password'] : ['username', 'password'];
  return fields.filter((field) => form[field] === '');
}

/** `source` of the sign-on call. */
export function sourceOf(form: SignInForm): string {
  return form.account === 'vcenter' ? `vcenter:${form.vcenter}` : (directoryOf(form.account) ?? 'local');
}
