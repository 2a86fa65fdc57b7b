// Values as they are shown, and what must never become a link.
// SPDX-License-Identifier: GPL-3.0-or-later
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { ApiError } from '../src/api/error.js';
import type { ClusterCounts, ClusterState, HxCluster, Placement } from '../src/api/types.js';
import { describeFailure, describeSignInFailure } from '../src/model/failure-text.js';
import { absoluteTime, age, askedLabel, countState, countStates, describeHxClusters, describePlacement, describeReason, describeRemedy, describeReplicas, describeState, freshness, hostOf, hxName, nodeState, relativeTime, safeHttpsUrl, sharedNames } from '../src/model/format.js';
import { sentence } from '../src/model/sentence.js';
import { missingFields, sourceOf } from '../src/model/sign-in-form.js';
import { chooseLanguage, strings } from '../src/strings/index.js';

const v = (name: string | null, moref = 'domain-c7', datacenter: string | null = 'DC0') => ({ vcenter_id: 'v', datacenter, moref, name });
const placement = (more: Partial<Placement>): Placement => ({ source: 'observed', vsphere_clusters: [], hx_clusters: [], hidden: 0, ...more });

describe('states', () => {
  it('have word and tone', () => {
    expect(describeState('degraded')).toEqual({ word: 'Degraded', tone: 'warning' });
  });
  it('are not green where somebody has only typed them; what is wrong is shown as such, whoever says it', () => {
    const tones = (source: 'declared' | 'reported') => (['ready', 'degraded', 'failed', 'creating', 'unknown'] as const).map((state) => describeState(state, source).tone);
    expect(tones('declared')).toEqual(['hollow', 'warning', 'bad', 'busy', 'neutral']);
    expect(tones('reported')).toEqual(['good', 'warning', 'bad', 'busy', 'neutral']);
  });
  it('are counted with those that somebody has only typed', () => {
    const counts = (ready_declared?: number) => ({ total: 5, states: { failed: 2, ready: 3, unknown: 0 }, ready_declared }) as unknown as ClusterCounts;
    expect([undefined, 0, 2, 3].map((n) => countStates(counts(n)).map(({ state, n: all, declared, tone }) => `${state} ${all} ${declared} ${tone}`))).toEqual(
      ['ready 3 0 good', 'ready 3 0 good', 'ready 3 2 good', 'ready 3 3 hollow'].map((ready) => ['failed 2 0 bad', ready]));
    expect(countState('ready', null)).toMatchObject({ n: 0, tone: 'hollow' });
  });
  it('that are new are shown as they are', () => {
    expect(describeState('hibernating' as ClusterState)).toEqual({ word: 'hibernating', tone: 'neutral' });
  });
});

describe('a node', () => {
  const node = (power: 'on' | 'off', connection: 'connected' | 'not_responding' = 'connected', match = 'instance_uuid', state: 'unknown' | 'not_ready' | 'ready' = 'unknown') =>
    nodeState({ state, vm: { name: 'vm', power, match }, host: { moref: 'h', name: null, connection } });
  it('runs where vCenter shows that, and nobody says more', () => {
    expect([node('on'), node('off'), node('on', 'not_responding'), node('on', 'connected', 'mismatch'), node('on', 'connected', 'none'), nodeState({ state: 'unknown', vm: null, host: null })]).toEqual(
      ['running', 'unknown', 'unknown', 'unknown', 'unknown', 'unknown']);
    expect([node('on', 'connected', 'instance_uuid', 'not_ready'), node('on', 'connected', 'instance_uuid', 'ready')]).toEqual(['not_ready', 'ready']);
  });

  it('of which Kubernetes does not know how it is does not run because its machine does', () => {
    const kubernetes = { ready: null, reason: null, since: null, cordoned: false, version: null, pressure: [] };
    const seen = { state: 'unknown', vm: { name: 'vm', power: 'on', match: 'name' }, host: { moref: 'h', name: null, connection: 'connected' } } as const;
    expect([nodeState({ ...seen, kubernetes }), nodeState({ ...seen, kubernetes: null })]).toEqual(['unknown', 'running']);
  });
});

describe('sentences', () => {
  it('leave addresses at their beginning as they are', () => {
    expect(['hx-1.example.com:443 does not answer', 'localhost:443 is busy', 'database: it is away'].map(sentence)).toEqual(
      ['hx-1.example.com:443 does not answer.', 'localhost:443 is busy.', 'Database: it is away.']);
  });
});

describe('replicas', () => {
  it.each([
    [{ ready: 3, desired: 3 }, 'ready', '3 / 3', 'good', '3 of 3 ready'],
    [{ ready: 4, desired: 5 }, 'degraded', '4 / 5', 'warning', '4 of 5 ready'],
    [{ ready: 0, desired: 2 }, 'failed', '0 / 2', 'bad', '0 of 2 ready'],
    [{ ready: 0, desired: 2 }, 'creating', '0 / 2', 'neutral', '0 of 2 ready'],
    [{ ready: 0, desired: 0 }, 'ready', '0 / 0', 'good', '0 of 0 ready'],
    [{ ready: null, desired: 6 }, 'unknown', '? / 6', 'neutral', '6 wanted, number ready unknown'],
  ] as const)('%j while %s', (replicas, state, short, tone, spoken) => {
    expect(describeReplicas(replicas, { state, state_source: 'reported' })).toEqual({ short, tone, spoken });
  });
  it('are not green where somebody has only typed them', () => {
    const typed = (state: ClusterState, ready: number) => describeReplicas({ ready, desired: 3 }, { state, state_source: 'declared' }).tone;
    expect([typed('ready', 3), typed('degraded', 2), typed('failed', 0)]).toEqual(['hollow', 'warning', 'bad']);
  });
  it('have the separators of the language', () => {
    expect(describeReplicas({ ready: 1000, desired: 12345 }, { state: 'degraded', state_source: 'reported' }).short).toBe('1,000 / 12,345');
  });
});

describe('placement', () => {
  const hx = (name: string, id = name, path: string | null = `DC-${id}/${name}`) => ({ id, name, name_source: 'vcenter' as const, hx_uuid: null, path });
  it('tells HX clusters that share a name apart, by their id where the service does not tell their place', () => {
    const all = [hx('HX-East', '1'), hx('HX-West', '2'), hx('HX-East', '3'), hx('HX-West', '2')];
    expect([...sharedNames(all)]).toEqual(['HX-East']);
    expect(describePlacement(placement({ hx_clusters: all.slice(0, 3) }), sharedNames(all)).names).toEqual(['HX-East (DC-1/HX-East)', 'HX-West', 'HX-East (DC-3/HX-East)']);
    const { path, ...ofBefore } = hx('HX-East', '4');
    expect([hx('HX-East', '4', null), ofBefore].map((one) => hxName(one, sharedNames(all)))).toEqual(['HX-East (4)', 'HX-East (4)']);
    expect(path).toBe('DC-4/HX-East');
  });
  it('names HX clusters, else vSphere clusters with datacenter, and counts the hidden', () => {
    const both = placement({ vsphere_clusters: [v('East')], hx_clusters: [hx('HX-East'), hx('HX-West')], hidden: 2 });
    expect(describePlacement(both, new Set())).toEqual({ names: ['HX-East', 'HX-West'], hidden: '2 more, hidden from you' });
    expect(describePlacement(placement({ vsphere_clusters: [v('East'), v(null, 'domain-c9', null)] }), new Set())).toEqual({ names: ['DC0 / East', 'domain-c9'], hidden: null });
  });
  it('tells hidden from nowhere', () => {
    expect(describePlacement(placement({ hidden: 1 }), new Set()).hidden).toBe('1 vSphere cluster, hidden from you');
    expect(describePlacement(placement({}), new Set()).hidden).toBe('Not known');
  });
});

describe('reasons', () => {
  afterEach(() => chooseLanguage(['en']));
  it.each([
    ['no report since 2026-03-01T20:32:35Z, when it was ready', /^No report since Mar 1, 2026, .*, when it was: Ready\.$/, /^Keine Meldung seit 01\.03\.2026, .*: Bereit\.$/],
    ['VM a b is powered off; VM c is gone; another has its name; and 4 more', 'VM a b is powered off; VM c is gone; another has its name; and 4 more.', /^VM a b ist ausgeschaltet; VM c ist nicht mehr da; eine andere/],
    ['host esx-1 of VM cp-0 does not respond', 'Host esx-1 of VM cp-0 does not respond.', 'Host esx-1 der VM cp-0 antwortet nicht.'],
    ['host esx-1 of VM cp-0 is disconnected', 'Host esx-1 of VM cp-0 is disconnected.', 'Host esx-1 der VM cp-0 ist nicht verbunden.'],
    ['2 of 3 of its control plane are not running: no majority, the API cannot work; VM cp-0 is suspended', '2 of 3 of its control plane are not running: no majority, the API cannot work; VM cp-0 is suspended.', /^2 von 3 seiner Control Plane laufen nicht: keine Mehrheit/],
    ['1 of 1 of its control plane is not running: no majority, the API cannot work', /^1 of 1 of its control plane is not/, /^1 von 1 seiner Control Plane läuft nicht/],
    ['1 of its virtual machines is not running', '1 of its virtual machines is not running.', '1 seiner virtuellen Maschinen läuft nicht.'],
    ['waiting since 2026-03-01T20:32:35Z; 4 of its virtual machines are not running', /^Waiting since Mar 1, 2026.*; 4 of/, /^Waiting since 01\.03\.2026.*; 4 seiner virtuellen Maschinen laufen nicht/],
    ['Kubernetes was not asked yet', 'Kubernetes was not asked yet.', 'Kubernetes wurde noch nicht gefragt.'],
    ['its API server does not answer: connection refused', 'Its API server does not answer: connection refused.', 'Sein API-Server antwortet nicht: connection refused.'],
    ['its API server refuses kaasd; VM x is gone', 'Its API server refuses kaasd; VM x is gone.', 'Sein API-Server weist kaasd ab; VM x ist nicht mehr da.'],
    ['another cluster answers at its address', 'Another cluster answers at its address.', 'An seiner Adresse antwortet ein anderer Cluster.'],
    ['etcd does not answer its API server: without a majority of its members nothing can be read or written', /^Etcd does not answer/, /^Etcd antwortet seinem API-Server nicht/],
    ['its API server is not ready: h0, h1, h2 and 2 more', 'Its API server is not ready: h0, h1, h2 and 2 more.', 'Sein API-Server ist nicht bereit: h0, h1, h2 und 2 weitere.'],
    ['its API server has not told its readiness yet', /^Its API server has not/, /^Sein API-Server hat noch nicht gesagt/],
    ['its nodes have not been listed', 'Its nodes have not been listed.', 'Seine Knoten sind noch nicht gelesen.'],
    ['2 of 3 control planes are Ready; not Ready: cp-1 (its kubelet is silent)', '2 of 3 control planes are ready; not ready: cp-1 (its kubelet is silent).', '2 von 3 Control Planes sind bereit; nicht bereit: cp-1 (sein Kubelet schweigt).'],
    ['1 of 3 control planes is Ready: no majority, the API cannot work', /^1 of 3 control planes is ready: no majority/, /^1 von 3 Control Planes ist bereit: keine Mehrheit/],
    ['1 of 4 workers is Ready; not Ready: w-0 (KubeletNotReady); 2 are not there', '1 of 4 workers is ready; not ready: w-0 (KubeletNotReady); 2 are not there.', '1 von 4 Workern ist bereit; nicht bereit: w-0 (KubeletNotReady); 2 fehlen.'],
    ['MemoryPressure: w-0; DiskPressure: w-1; PIDPressure: w-2; NetworkUnavailable: w-3', 'Short of memory: w-0; short of disk space: w-1; too many processes: w-2; no network for pods: w-3.', 'Zu wenig Speicher: w-0; zu wenig Plattenplatz: w-1; zu viele Prozesse: w-2; kein Netz für Pods: w-3.'],
    ['not ready in the control plane: kube-scheduler (cp-1)', 'Not ready in the control plane: kube-scheduler (cp-1).', 'Nicht bereit in der Control Plane: kube-scheduler (cp-1).'],
    ['kubelets that do not fit the API server v1.37.2, newer or too old: w-0 (v1.33.1)', /^Kubelets that do not fit the API server v1\.37\.2/, /^Kubelets, die nicht zum API-Server v1\.37\.2 passen/],
    ['the certificate of its API server ends within 7 days, at 2026-12-07T10:00:00.000Z', /^The certificate of its API server ends within 7 days, at Dec 7, 2026/, /^Das Zertifikat seines API-Servers läuft innerhalb von 7 Tagen ab, am 07\.12\.2026/],
    ['the clock of its API server is more than a minute ahead of that of kaasd', /more than a minute ahead\.$/, /geht mehr als eine Minute vor\.$/],
    ['the clock of its API server is more than a minute behind that of kaasd', /more than a minute behind\.$/, /geht mehr als eine Minute nach\.$/],
    ["kaasd's token for it ends within a day, at 2026-12-07T10:00:00Z", /^The token of this service ends within a day, at Dec 7, 2026/, /^Das Token dieses Dienstes läuft innerhalb eines Tages ab, am 07\.12\.2026/],
    ['kaasd may not: list nodes, get /readyz and 2 more', 'This service lacks rights: list nodes, get /readyz and 2 more.', 'Diesem Dienst fehlen Rechte: list nodes, get /readyz und 2 weitere.'],
    ['cordoned: w-0, w-1', 'Cordoned: w-0, w-1.', 'Gesperrt (cordon): w-0, w-1.'],
    ['Kubernetes v1.32.1 is out of support since 2026-02-28', 'Kubernetes v1.32.1 is out of support since Feb 28, 2026.', 'Kubernetes v1.32.1 wird nicht mehr gepflegt, seit 28.02.2026.'],
    ['Kubernetes v1.20.1 is out of support', 'Kubernetes v1.20.1 is out of support.', 'Kubernetes v1.20.1 wird nicht mehr gepflegt.'],
    ['cp-0 and cp-1 are on host esx-7, and without it there is no majority; cp-2, cp-3 and 3 more are on host esx-8', 'Several control planes on host esx-7: cp-0 and cp-1 (no majority without it); several control planes on host esx-8: cp-2, cp-3 and 3 more.',
      'Mehrere Control Planes auf Host esx-7: cp-0 und cp-1 (ohne ihn keine Mehrheit); mehrere Control Planes auf Host esx-8: cp-2, cp-3 und 3 weitere.'],
    ['upgrade available: v1.36.4', 'An upgrade is available: v1.36.4.', 'Es gibt eine neuere Version: v1.36.4.'],
    ['VM x is constructor', 'VM x is constructor.', 'VM x is constructor.'],
    ['', '', ''], [null, '', ''],
  ])('%j are told', (reason, english, german) => {
    for (const [language, text] of [['en', english], ['de', german]] as const) {
      chooseLanguage([language]);
      expect(describeReason(reason)).toEqual(text instanceof RegExp ? expect.stringMatching(text) : text);
    }
  });
});

describe('remedies', () => {
  afterEach(() => chooseLanguage(['en']));
  const reasons = [...readFileSync(new URL('../../src/model/kubernetes/kube_reasons.def', import.meta.url), 'utf8').matchAll(/^KUBE_REASON\(\w+, "(\w+)"/gm)].map(([, word]) => word ?? '');

  it('are in words of the page for every reason that the service has', () => {
    expect(reasons.length).toBeGreaterThan(20);
    for (const language of ['en', 'de']) {
      chooseLanguage([language]);
      expect(reasons.filter((reason) => describeRemedy({ reason, remedy: 'its own' }) === 'Its own.')).toEqual([]);
    }
  });

  it('that are new are the service\'s own; where it has none there is none', () => {
    expect([describeRemedy({ reason: 'new', remedy: 'do this' }), describeRemedy({ reason: 'constructor', remedy: 'kubectl x' }), describeRemedy({ reason: 'clock', remedy: null })]).toEqual(['Do this.', 'kubectl x.', '']);
  });
});

describe('labels', () => {
  it('are asked for as they are, or by key where a comma would part them', () => {
    expect([askedLabel('a', 'b=c'), askedLabel('a', 'b,c')]).toEqual(['a=b=c', 'a']);
  });
});

describe('HX selector', () => {
  it('tells equal names apart, marks what is gone, sorts', () => {
    const hx = (id: string, name: string, dc: string, present = true): HxCluster => ({ id, name, hx_uuid: null, management_address: null, vsphere_cluster: v(name, id, dc), present });
    const options = describeHxClusters([hx('1', 'West', 'DC0', false), hx('2', 'East', 'DC1'), hx('3', 'East', 'DC0')]);
    expect(options.map((o) => o.label)).toEqual(['East (DC0 / East)', 'East (DC1 / East)', 'West (gone)']);
  });
});

describe('links', () => {
  it('are made of https only', () => {
    expect(safeHttpsUrl('https://a.example.com:6443/x?y#z')).toBe('https://a.example.com:6443/x?y#z');
    for (const bad of ['http://a', 'javascript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', '//a', '/x', 'https://', 'https://u:p@a/', 'nonsense', '', null]) {
      expect(safeHttpsUrl(bad)).toBeNull();
    }
  });
  it('are labelled by host', () => {
    expect(hostOf({ api_endpoint: 'https://10.0.0.1:6443/' })).toBe('10.0.0.1:6443');
    expect(hostOf({ api_endpoint: 'ftp://10.0.0.1' })).toBeNull();
  });
});

describe('times', () => {
  const now = Date.parse('2026-03-02T10:00:00Z');
  it.each([
    ['2026-03-02T09:59:40Z', 'Just now'],
    ['2026-03-02T10:00:30Z', 'Just now'],
    ['2026-03-02T09:53:00Z', '7 minutes ago'],
    ['2026-03-02T05:00:00Z', '5 hours ago'],
    ['2026-02-28T09:00:00Z', '2 days ago'],
    ['2026-01-10T09:00:00Z', '51 days ago'],
    ['2025-12-20T09:00:00Z', '2 months ago'],
    ['2023-01-01T00:00:00Z', '3 years ago'],
    ['2026-03-02T12:00:00Z', 'in 2 hours'],
    ['not a time', ''],
    [null, ''],
  ])('%s is %s', (iso, text) => {
    expect(relativeTime(iso, now)).toBe(text);
  });
  it.each([['2026-03-02T09:59:59Z', '1 minute'], ['2026-03-02T05:00:00Z', '5 hours'], ['2025-12-20T09:00:00Z', '2 months'], ['2027-01-01T00:00:00Z', '1 minute'], ['x', '']])(
    'since %s it is %s', (iso, text) => expect(age(iso, now)).toBe(text));
  it.each([[0, 'now'], [4_999, 'now'], [14_000, '10 seconds ago'], [60_000, '1 minute ago'], [-3_000, 'now']])('%i ms ago is %s', (ms, text) => {
    expect(freshness(new Date(now - ms), now)).toBe(text);
  });
  it('in full name the zone', () => {
    expect(absoluteTime('2026-03-02T09:05:07Z', 'UTC')).toBe('Mar 2, 2026, 9:05:07 AM UTC');
    chooseLanguage(['de-DE']);
    expect(absoluteTime('2026-03-02T23:05:07Z', 'Europe/Berlin')).toBe('03.03.2026, 00:05:07 MEZ');
    chooseLanguage(['en']);
    expect(absoluteTime(null)).toBe('');
  });
});

describe('failures', () => {
  const problem = (code: string, status: number, remedy?: string, retryAfterS: number | null = null) =>
    new ApiError({ kind: 'problem', retryAfterS, problem: { type: '', title: '', status, code, detail: 'what', request_id: 'r', ...(remedy ? { remedy } : {}) } });
  it('have words of the page by their code, and the request id', () => {
    expect(describeFailure(problem('database_unavailable', 503, 'run kaasctl health'))).toEqual({ ...strings.error.problem('database_unavailable'), requestId: 'r' });
    expect(describeFailure(problem('internal', 500)).detail).toBe('The service could not do this (internal).');
    expect(describeFailure(problem('busy', 503, undefined, 1)).remedy).toBe('Wait 1 second before you try again.');
  });
  it('have the words of the service for administrators, as sentences', () => {
    expect(describeFailure(problem('database_unavailable', 503, 'run kaasctl health'), true)).toEqual({ detail: 'What.', remedy: 'Run kaasctl health.', requestId: 'r' });
    expect(describeFailure(problem('busy', 503, undefined, 1), true).remedy).toBe('Wait 1 second before you try again.');
  });
  it.each([
    ['vCenter did not answer', 'vCenter did not answer.'], ['vSphere, too', 'vSphere, too.'], ['kaasd tries again', 'kaasd tries again.'],
    ['kaasctl: no', 'kaasctl: no.'], ['the list', 'The list.'], ['"x" is none', '"x" is none.'], ['Done!', 'Done!'],
  ])('keep the letters of names: %s', (text, said) => {
    expect(sentence(text)).toBe(said);
  });
  it('without an answer say what to check', () => {
    for (const kind of ['unreachable', 'timeout'] as const) expect(describeFailure(new ApiError({ kind })).remedy).not.toBeNull();
    expect(describeFailure(new ApiError({ kind: 'malformed', status: 502 })).detail).toContain('502');
  });
  it('of the page itself are not hidden', () => {
    expect(() => describeFailure(new TypeError('bug'))).toThrow('bug');
  });
  it('at sign-in have words of their own', () => {
    expect(describeSignInFailure(problem('invalid_credentials', 401)).detail).toBe('The user name or password is not right.');
    expect(describeSignInFailure(problem('too_many_requests', 429, undefined, 9)).detail).toBe('Too many attempts. Try again in 9 seconds.');
  });
});

describe('sign-in form', () => {
  const form = { account: 'vcenter' as const, vcenter: 'vc', username: 'u', password: ' ' };
  it('asks for what is missing', () => {
    expect(missingFields(form)).toEqual([]);
    expect(missingFields({ ...form, vcenter: '' })).toEqual([]);
    expect(missingFields({ ...form, account: 'local', vcenter: '', username: '' })).toEqual(['username']);
    expect(missingFields({ ...form, password: '' })).toEqual(['password']);
  });
  it('says who checks the password', () => {
    expect(sourceOf(form)).toBe('vcenter:vc');
    expect(sourceOf({ ...form, account: 'local' })).toBe('local');
  });
});
