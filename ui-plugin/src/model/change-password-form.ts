// What the form for another password holds and what is wrong with it; pure. Whether the new one is good enough is for the service to say
// (docs/openapi.yaml, NewPassword); what can be told without asking is told here.
// SPDX-License-Identifier: GPL-3.0-or-later

export interface ChangePasswordForm {
  old: string;
  fresh: string;
  again: string;
}

export type ChangePasswordField = keyof ChangePasswordForm;
export type ChangePasswordFault = 'old-missing' | 'fresh-missing' | 'fresh-short' | 'fresh-long' | 'fresh-control' | 'fresh-is-old' | 'again-missing' | 'again-differs';
export type ChangePasswordFaults = Partial<Record<ChangePasswordField, ChangePasswordFault>>;

/** In the order of the form. */
export const CHANGE_PASSWORD_FIELDS: readonly ChangePasswordField[] = ['old', 'fresh', 'again'];

export const PASSWORD_CHARS_MIN = 12;
export const PASSWORD_BYTES_MAX = 500;

/** What is wrong with each field; a field that is right is left out. */
export function faultsOf(form: ChangePasswordForm): ChangePasswordFaults {
  const faults: ChangePasswordFaults = {};
  const fresh = faultOfFresh(form);
  if (form.old === '') faults.old = 'old-missing';
  if (fresh) faults.fresh = fresh;
  if (form.again === '') faults.again = 'again-missing';
  else if (form.again !== form.fresh) faults.again = 'again-differs';
  return faults;
}

/** The field to go to. */
export function firstFault(faults: ChangePasswordFaults): ChangePasswordField | null {
  return CHANGE_PASSWORD_FIELDS.find((field) => faults[field] !== undefined) ?? null;
}

function faultOfFresh({ old, fresh }: ChangePasswordForm): ChangePasswordFault | null {
  if (fresh === '') return 'fresh-missing';
  // As the service counts: characters, not the 16-bit units of a JavaScript string; at most so many bytes of UTF-8.
  if ([...fresh].length < PASSWORD_CHARS_MIN) return 'fresh-short';
  if (new TextEncoder().encode(fresh).length > PASSWORD_BYTES_MAX) return 'fresh-long';
  if (/[\u0000-\u001f\u007f-\u009f]/.test(fresh)) return 'fresh-control';
  return fresh === old ? 'fresh-is-old' : null;
}
