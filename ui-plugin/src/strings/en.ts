// Every text that a person reads, in English; with parameters as functions. The other catalogues have the same members.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { ClusterState, Method, Role, StaleReason } from '../api/types.js';
import { PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN, type ChangePasswordFault } from '../model/change-password-form.js';
import type { EndReason } from '../session/session.js';

/** What a failed call means to a person: what is the matter, and what to do about it. */
interface Fault {
  detail: string;
  remedy: string;
}

const plural = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`;

const LATER = 'Try again in a few minutes. If it stays like this, tell an administrator of this service.';
const DATABASE: Fault = { detail: 'The service cannot reach its database.', remedy: LATER };
const NOT_READY: Fault = { detail: 'The service is not ready right now.', remedy: LATER };
const UPSTREAM: Fault = { detail: 'A vCenter or directory that the service needs does not work as it should.', remedy: LATER };

/** By `code` of the service's problem. Its own words are for programs and administrators: they name tools that other people do not have. */
const FAULTS: Record<string, Fault> = {
  forbidden: { detail: 'You do not have the right to do this.', remedy: 'Ask an administrator of this service.' },
  not_found: { detail: 'What was asked for is not there any more, or you may not see it.', remedy: 'Choose something else, or clear the filters.' },
  too_many_requests: { detail: 'The service was asked too often.', remedy: 'Wait a little, then try again.' },
  busy: { detail: 'The service has too much to do.', remedy: 'Wait a little, then try again.' },
  rights_unknown: { detail: 'vCenter has not told yet what you may see.', remedy: LATER },
  unavailable: NOT_READY,
  canceled: NOT_READY,
  database_unavailable: DATABASE,
  schema_mismatch: DATABASE,
  upstream_error: UPSTREAM,
  upstream_protocol: UPSTREAM,
  upstream_denied: UPSTREAM,
  upstream_unreachable: UPSTREAM,
  upstream_timeout: UPSTREAM,
  tls_untrusted: UPSTREAM,
};

const METHODS: Partial<Record<Method, string>> = {
  password: 'with a password, checked here',
  vcenter_password: 'with a password, checked by vCenter',
  vcenter_session: 'by a vCenter session',
  vcenter_clone_ticket: 'by a vCenter session',
  vcenter_session_key: 'by a vCenter session',
  vcenter_service: 'by a program that acts for you',
  kerberos: 'with Kerberos',
  service: 'as a program',
};

export const catalogue = {
  product: 'Harmony KaaS',
  tagline: 'Kubernetes clusters on vSphere and HyperFlex',

  header: {
    signOut: 'Sign out',
    changePassword: 'Change password',
    role: { admin: 'Administrator', user: 'User', provisioner: 'Provisioner', service: 'Service' } satisfies Record<Role, string>,
    account: 'Your account',
    name: 'Name',
    roleLabel: 'Role',
    way: 'Signed in',
    id: 'Id',
    groupsLabel: 'Groups',
    groups: (n: number) => (n === 0 ? 'None' : String(n)),
    moreGroups: (n: number) => `and ${n} more`,
    method: (method: Method, directory: string | null): string => {
      if (method === 'directory_password') return `with a password, checked by the directory ${directory ?? ''}`.trimEnd();
      return METHODS[method] ?? method;
    },
  },

  signIn: {
    documentTitle: 'Sign in · Harmony KaaS',
    title: 'Sign in',
    account: 'Account',
    local: 'Local account',
    vcenter: 'vCenter account',
    directory: (name: string) => `Directory ${name}`,
    waiting: 'Asking the service how to sign in …',
    kerberos: 'Sign in with Kerberos',
    kerberosBusy: 'Signing in with Kerberos …',
    kerberosHint: 'Without a password, as who you are logged in to this computer.',
    or: 'or with a password',
    vcenterAddress: 'vCenter',
    vcenterHint: 'Address or name of a vCenter that is joined to this service, with its port if needed',
    username: 'User name',
    usernameHintVcenter: 'As in the vSphere Client, for example anna@vsphere.local',
    usernameHintDirectory: 'As you log in to your computer',
    kerberosFault: {
      none: {
        detail: 'Your browser did not send a Kerberos ticket.',
        remedy: 'That needs a computer that is logged in to the domain, and a browser that is allowed to use Kerberos at this address. Ask your administrator about it, or sign in with a password.',
      },
      refused: {
        detail: 'The Kerberos ticket of your browser was not accepted.',
        remedy: 'Check the clock of this computer, then lock and unlock it to get a new ticket. If that does not help, give the request id to your administrator: the log tells the reason.',
      },
    },
    password: 'Password',
    submit: 'Sign in',
    busy: 'Signing in …',
    missing: { vcenter: 'Enter the address of the vCenter.', username: 'Enter your user name.', password: 'Enter your password.' },
    refused: { detail: 'The user name or password is not right.', remedy: null },
    refusedVcenter: {
      detail: 'The vCenter, the user name or the password is not right.',
      remedy: 'Where several vCenters have one address, enter the port as well, for example vc.example.com:443.',
    },
    noRole: { detail: 'The service knows who you are, but you may not use it yet.', remedy: 'Ask an administrator of this service for a role. The request id helps to find the reason.' },
    vcenterAway: { detail: 'The vCenter that checks your password cannot be reached right now.', remedy: LATER },
    directoryAway: (name: string) => ({ detail: `The directory ${name}, which checks your password, cannot be reached right now.`, remedy: LATER }),
    throttled: (s: number | null) => (s === null ? 'Too many attempts. Wait a little.' : `Too many attempts. Try again in ${plural(s, 'second', 'seconds')}.`),
  },

  changePassword: {
    documentTitle: 'Change password · Harmony KaaS',
    title: 'Change password',
    due: 'Your password was set by somebody else. Replace it with one that only you know; then you can go on.',
    old: 'Current password',
    fresh: 'New password',
    freshHint: `At least ${PASSWORD_CHARS_MIN} characters. Several words that do not belong together are easy to remember and hard to guess.`,
    again: 'New password again',
    submit: 'Change password',
    busy: 'Changing the password …',
    cancel: 'Cancel',
    fault: {
      'old-missing': 'Enter the password that you signed in with.',
      'fresh-missing': 'Enter a new password.',
      'fresh-short': `Too short: take at least ${PASSWORD_CHARS_MIN} characters, for example several words.`,
      'fresh-long': `Too long: take at most ${PASSWORD_BYTES_MAX} bytes, which are as many plain letters.`,
      'fresh-control': 'There is a control character in it, such as a tab: remove it.',
      'fresh-is-old': 'This is the current password: take another one.',
      'again-missing': 'Enter the new password once more.',
      'again-differs': 'This is not the same as the new password: enter it once more.',
    } satisfies Record<ChangePasswordFault, string>,
    refused: 'This is not your current password: enter it once more.',
    failedTitle: 'The password was not changed',
    openTitle: 'The password may or may not have been changed',
    openRemedy: 'Try again. If the current password is refused then, the new one counts already: sign out, and sign in with it.',
    done: 'Your password is changed. Your other sessions have ended.',
  },

  /** Why the sign-in page is shown; null says nothing. */
  ended: {
    'first': null,
    'signed-out': 'You are signed out.',
    'signed-out-here-only': 'You are signed out on this page, but the service could not be told. The session there ends by itself.',
    'expired': 'Your session has expired, because this page could not renew it in time. Sign in again.',
    'ended': 'Your session has ended. Sign in again.',
    'time-limit': 'Your session has reached its longest time. Sign in again.',
  } satisfies Record<EndReason, string | null>,

  list: {
    documentTitle: 'Kubernetes clusters · Harmony KaaS',
    title: 'Kubernetes clusters',
    filter: 'Filter by name or description',
    hxCluster: 'HX cluster',
    allHxClusters: 'All HX clusters',
    hxNotLoaded: 'HX clusters could not be loaded',
    hxGone: (label: string) => `${label} (gone)`,
    clearFilters: 'Clear filters',
    refresh: 'Refresh',
    refreshed: (time: string) => `Last refresh ${time}`,
    loading: 'Loading clusters …',
    count: (n: number, more: boolean) => (more ? `${plural(n, 'cluster', 'clusters')} on this page` : plural(n, 'cluster', 'clusters')),
    previous: 'Previous',
    next: 'Next',
    pages: 'Pages',
    page: (n: number) => `Page ${n}`,
    tableLabel: 'Kubernetes clusters',
  },

  table: {
    name: 'Name',
    state: 'State',
    version: 'Kubernetes',
    controlPlane: 'Control plane',
    workers: 'Workers',
    placement: 'Runs on',
    access: 'Links',
    observed: 'Observed',
    ready: (ready: number | null, desired: number) => (ready === null ? `${desired} wanted, number ready unknown` : `${ready} of ${desired} ready`),
    vsphere: (datacenter: string | null, name: string | null, moref: string) => {
      const cluster = name ?? moref;
      return datacenter === null ? cluster : `${datacenter} / ${cluster}`;
    },
    hidden: (n: number) => `and ${n} more that you may not see`,
    onlyHidden: (n: number) => `${plural(n, 'vSphere cluster', 'vSphere clusters')} that you may not see`,
    nowhere: 'Not placed',
    noHx: 'No HX cluster',
    declared: 'declared',
    declaredHint: 'From the record; not yet confirmed by the node VMs',
    never: 'Never',
    justNow: 'Just now',
    dashboard: 'Dashboard',
    dashboardOf: (name: string) => `Dashboard of ${name}, opens in a new tab`,
    api: 'API',
    apiOf: (name: string) => `API endpoint of ${name}, opens in a new tab`,
    none: '–',
  },

  state: {
    unknown: 'Unknown',
    creating: 'Creating',
    ready: 'Ready',
    updating: 'Updating',
    degraded: 'Degraded',
    unreachable: 'Unreachable',
    failed: 'Failed',
    deleting: 'Deleting',
  } satisfies Record<ClusterState, string>,

  empty: {
    noneTitle: 'No clusters yet',
    noneAdmin: 'Add the first cluster record on the command line; it shows up here at once:',
    noneAdminCommand: 'kaasctl cluster add --name prod-1 --vsphere-cluster DC0/HX-East --kubernetes-version 1.31.2',
    noneUserTitle: 'No clusters for you yet',
    noneUser: 'You see a cluster when you have the right to view its vSphere cluster in vCenter, or when an administrator of this service granted it to you. Ask one of them.',
    noMatchTitle: 'No cluster matches',
    noMatch: 'No cluster that you may see fits the filter.',
    noneOnHx: (name: string) => `No cluster that you may see runs on ${name}.`,
    pastEnd: 'There are no more clusters on this page.',
  },

  stale: {
    title: 'This list may be out of date.',
    away: (names: string[]) => `${names.length === 1 ? 'A vCenter is' : 'vCenters are'} away: ${names.join(', ')}. The command "kaasctl vcenter status" tells why.`,
    asOf: (time: string) => `It is as of ${time}.`,
    reason: {
      database: 'Changes cannot be read from the database right now.',
      vcenter: 'A vCenter that clusters run on is away: it cannot be reached, or it refuses the service.',
      rights: 'Your rights cannot be confirmed with vCenter right now; the last known ones are used.',
    } satisfies Record<StaleReason, string>,
  },

  error: {
    listTitle: 'The clusters could not be loaded',
    refreshTitle: 'The list could not be refreshed',
    signInTitle: 'Signing in did not work',
    keptRows: 'The rows below are from the last refresh that worked.',
    unreachable: 'The service does not answer.',
    unreachableRemedy: 'Check the network connection and whether the browser trusts the certificate of this site, then try again.',
    signedOut: 'The session has ended.',
    signedOutRemedy: 'Sign in again.',
    timeout: 'The service did not answer in time.',
    timeoutRemedy: 'Try again in a moment.',
    malformed: (status: number) => `The answer did not come from the service (HTTP ${status}).`,
    malformedRemedy: 'A proxy or load balancer in between may have answered instead. Tell the administrator of this service.',
    problem: (code: string): Fault => FAULTS[code] ?? {
      detail: `The service could not do this (${code}).`,
      remedy: 'Try again. If that does not help, give the request id to an administrator of this service.',
    },
    stillWaiting: 'The service has not answered yet. Still waiting …',
    requestId: 'Request id',
    retryIn: (s: number) => `Wait ${plural(s, 'second', 'seconds')} before you try again.`,
    retry: 'Try again',
  },
};

export type Catalogue = typeof catalogue;
