// Values of the list as they are shown: pure functions, no markup.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { Cluster, ClusterCounts, ClusterState, HealthReason, HxCluster, Node, NodeState, PlacedHx, Placement, Replicas, VsphereCluster } from '../api/types.js';
import { locale, strings } from '../strings/index.js';
import { sentence } from './sentence.js';

/** How a state or a number is to be taken; decides colour and icon. `hollow`: as it should be, but only because somebody has typed so. */
export type Tone = 'good' | 'warning' | 'bad' | 'busy' | 'neutral' | 'hollow';

const STATE_TONE: Record<ClusterState, Tone> = {
  ready: 'good',
  degraded: 'warning',
  failed: 'bad',
  unreachable: 'bad',
  creating: 'busy',
  updating: 'busy',
  deleting: 'busy',
  unknown: 'neutral',
};

/** Work of the service's own may be the reason for these. */
export function mayHaveJob(state: ClusterState): boolean {
  return state === 'failed' || STATE_TONE[state] === 'busy';
}

/** All states, in the order in which they are offered and drawn: the worst first, as the list of clusters has it. */
export const STATES: readonly ClusterState[] = ['failed', 'unreachable', 'degraded', 'unknown', 'deleting', 'creating', 'updating', 'ready'];

/** In a drawing, where no shape tells states of one tone apart; `unknown` is hatched (parts/drawings.ts). */
export const STATE_FILL: Record<ClusterState, string> = {
  ready: 'var(--fill-ready)',
  degraded: 'var(--fill-degraded)',
  failed: 'var(--fill-failed)',
  unreachable: 'var(--fill-unreachable)',
  creating: 'var(--fill-working)',
  updating: 'var(--fill-working)',
  deleting: 'var(--fill-working)',
  unknown: 'url(#unknown)',
};

/** Word and tone of a state; one that a newer service may have is shown as it is. Nothing is green that neither a program nor a vCenter has seen. */
export function describeState(state: ClusterState, source?: Cluster['state_source']): { word: string; tone: Tone } {
  const tone = STATE_TONE[state] ?? 'neutral';
  return { word: strings.state[state] ?? String(state), tone: tone === 'good' && source === 'declared' ? 'hollow' : tone };
}

/** A state with the number of clusters that are in it. `declared`: how many of them only because somebody has typed so. */
export interface CountedState {
  state: ClusterState;
  word: string;
  tone: Tone;
  n: number;
  declared: number;
}

/** Green as soon as one of them has been seen to be so. */
export function countState(state: ClusterState, counts: ClusterCounts | null): CountedState {
  const n = counts?.states[state] ?? 0;
  const declared = state === 'ready' ? Math.min(n, counts?.ready_declared ?? 0) : 0;
  return { state, n, declared, ...describeState(state, declared === n ? 'declared' : 'reported') };
}

/** The states that there are, the worst first. */
export function countStates(counts: ClusterCounts): CountedState[] {
  return STATES.map((state) => countState(state, counts)).filter(({ n }) => n > 0);
}

export interface ReplicasText {
  short: string;
  spoken: string;
  tone: Tone;
}

/** "3 / 3" for the eye, "3 of 3 ready" for the ear. While work on the cluster is going on a missing node is no alarm. */
export function describeReplicas(replicas: Replicas, { state, state_source: source }: Pick<Cluster, 'state' | 'state_source'>): ReplicasText {
  const { ready, desired } = replicas;
  const calm = ready === null || describeState(state).tone === 'busy';
  const tone = ready !== null && ready >= desired ? (source === 'declared' ? 'hollow' : 'good') : calm ? 'neutral' : ready === 0 ? 'bad' : 'warning';
  return { short: `${ready === null ? '?' : shortNumber(ready)} / ${shortNumber(desired)}`, spoken: strings.table.ready(ready, desired), tone };
}

/** What is known of a node: a report alone would say that Kubernetes has it ready, but that its machine runs vCenter shows. Where Kubernetes is asked, that alone is no good news. */
export type ShownNodeState = NodeState | 'running';

export const NODE_TONE: Record<ShownNodeState, Tone> = { ready: 'good', running: 'good', not_ready: 'bad', unknown: 'neutral' };

export function nodeState({ state, kubernetes, vm, host }: Pick<Node, 'state' | 'kubernetes' | 'vm' | 'host'>): ShownNodeState {
  const runs = !kubernetes && vm?.power === 'on' && vm.match !== 'none' && vm.match !== 'mismatch' && host?.connection === 'connected';
  return state === 'unknown' && runs ? 'running' : state;
}

const ISO_TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** What Kubernetes shows (src/model/kubernetes/kube_health.c), likewise. */
const KUBE_REASONS: readonly [RegExp, (...parts: string[]) => string | undefined][] = [
  [/^Kubernetes was not asked yet$/, () => strings.reason.kube.neverAsked],
  [/^its API server does not answer(: .+)?$/, (why = '') => strings.reason.kube.silent + why],
  [/^its API server refuses kaasd(: .+)?$/, (why = '') => strings.reason.kube.refused + why],
  [/^another cluster answers at its address$/, () => strings.reason.kube.other],
  [/^etcd does not answer its API server: without a majority of its members nothing can be read or written$/, () => strings.reason.kube.noQuorum],
  [/^its API server is not ready: (.+)$/, (checks = '') => strings.reason.kube.notReady(describeNames(checks))],
  [/^its API server has not told its readiness yet$/, () => strings.reason.kube.notTold],
  [/^its nodes have not been listed$/, () => strings.reason.kube.notListed],
  [/^(\d+) of (\d+) control planes (?:is|are) Ready$/, (ready = '', wanted = '') => strings.reason.kube.controlPlanes(ready, wanted)],
  [/^(\d+) of (\d+) control planes (?:is|are) Ready: no majority, the API cannot work$/, (ready = '', wanted = '') => strings.reason.kube.noMajority(ready, wanted)],
  [/^(\d+) of (\d+) workers (?:is|are) Ready$/, (ready = '', wanted = '') => strings.reason.kube.workers(ready, wanted)],
  [/^not Ready: (.+)$/, (names = '') => strings.reason.kube.names(describeNames(names))],
  [/^(\d+) (?:is|are) not there$/, (n = '') => strings.reason.kube.missing(n)],
  [/^not ready in the control plane: (.+)$/, (names = '') => strings.reason.kube.pods(describeNames(names))],
  [/^kubelets that do not fit the API server (\S+), newer or too old: (.+)$/, (version = '', names = '') => strings.reason.kube.skew(version, describeNames(names))],
  [/^(MemoryPressure|DiskPressure|PIDPressure|NetworkUnavailable): (.+)$/, (what = '', names = '') => strings.reason.kube.condition[what as KubeCondition](describeNames(names))],
  [/^the certificate of its API server (has ended|ends within a day|ends within 7 days|ends within 30 days), at (\S+Z)$/,
    (when = '', at = '') => strings.reason.kube.certificate[when as CertificateEnd](absoluteTime(at))],
  [/^kaasd's token for it (has ended|ends within a day|ends within 7 days|ends within 30 days), at (\S+Z)$/, (when = '', at = '') => strings.reason.kube.token[when as CertificateEnd](absoluteTime(at))],
  [/^kaasd may not: (.+)$/, (rules = '') => strings.reason.kube.rights(describeNames(rules))],
  [/^cordoned: (.+)$/, (names = '') => strings.reason.kube.cordoned(describeNames(names))],
  [/^Kubernetes (\S+) is out of support(?: since (\S+))?$/, (version = '', since = '') => strings.reason.kube.outOfSupport(version, since && calendarDate(`${since}T12:00:00Z`))],
  [/^upgrade available: (\S+)$/, (version = '') => strings.reason.kube.upgrade(version)],
  [/^the clock of its API server is more than a minute (ahead of|behind) that of kaasd$/, (way = '') => (way === 'behind' ? strings.reason.kube.clockBehind : strings.reason.kube.clockAhead)],
];
type KubeCondition = keyof typeof strings.reason.kube.condition;
type CertificateEnd = keyof typeof strings.reason.kube.certificate;

/** "cp-0 (its kubelet is silent), cp-1 and 2 more" */
function describeNames(names: string): string {
  return names.replaceAll('(its kubelet is silent)', `(${strings.reason.kube.kubeletSilent})`).replace(/ and (\d+) more$/, (_, n: string) => ` ${strings.reason.more(n)}`);
}

/** What the service itself says of a reason (src/model/cluster/rollup.c, host_impact.c), by what it looks like; `…` is a name or a number. */
const REASONS: readonly [RegExp, (...parts: string[]) => string | undefined][] = [
  [/^no report since (\S+Z), when it was (\w+)$/, (at = '', state = '') => strings.reason.silent(absoluteTime(at), describeState(state as ClusterState).word)],
  [/^VM (.+) is ([a-z ]+)$/, (vm = '', how = '') => (isWord(how) ? strings.reason.vm[how](vm) : undefined)],
  [/^another has its name$/, () => strings.reason.replaced],
  [/^host (.+) of VM (.+) does not respond$/, (host = '', vm = '') => strings.reason.hostSilent(host, vm)],
  [/^host (.+) of VM (.+) is disconnected$/, (host = '', vm = '') => strings.reason.hostGone(host, vm)],
  [/^and (\d+) more$/, (n = '') => strings.reason.more(n)],
  [/^(\d+) of its virtual machines (?:is|are) not running$/, (n = '') => strings.reason.someDown(n)],
  [/^(\d+) of (\d+) of its control plane (?:is|are) not running: no majority, the API cannot work$/, (down = '', known = '') => strings.reason.noMajority(down, known)],
  [/^(\d+) of (\d+) workers are ready$/, (ready = '', desired = '') => strings.reason.workersReady(ready, desired)],
  [/^(.+) are on host (.+?)(, and without it there is no majority)?$/, (names = '', host = '', majority = '') =>
    strings.reason.shareHost(describeNames(names).replace(/ and (\S+)$/, ` ${strings.reason.and} $1`), host, majority !== '')],
  [/^its machines are being (made|removed)$/, (how = '') => strings.reason.machines[how as keyof typeof strings.reason.machines]],
  ...KUBE_REASONS,
];

function isWord(how: string): how is keyof typeof strings.reason.vm {
  return Object.hasOwn(strings.reason.vm, how);
}

/** Why a cluster is in its state, in words of the page where they are known; a provisioner's own stay as they are, but for times. Empty if nothing is said. */
export function describeReason(reason: string | null): string {
  if (reason === null || reason === '') return '';
  return sentence(reason.split('; ').map(describePart).join('; '));
}

function describePart(part: string): string {
  for (const [pattern, words] of REASONS) {
    const found = pattern.exec(part);
    const text = found && words(...found.slice(1));
    if (text) return text;
  }
  return part.replace(ISO_TIME, (at) => absoluteTime(at));
}

/** What to do about a reason that Kubernetes gives, in words of the page where they are known; empty if nothing is said. */
export function describeRemedy({ reason, remedy }: Pick<HealthReason, 'reason' | 'remedy'>): string {
  const words: Record<string, string> = strings.reason.remedy;
  if (remedy === null) return '';
  return (Object.hasOwn(words, reason) ? words[reason] : undefined) ?? sentence(remedy);
}

/** Names that several of these HX clusters have. */
export function sharedNames(clusters: Iterable<Pick<HxCluster, 'id' | 'name'>>): ReadonlySet<string> {
  const ids = new Map<string, string>();
  const shared = new Set<string>();
  for (const { id, name } of clusters) {
    if ((ids.get(name) ?? id) !== id) shared.add(name);
    ids.set(name, id);
  }
  return shared;
}

/** Its name; where that is shared, with its place. */
export function hxName({ id, name, path }: PlacedHx, shared: ReadonlySet<string>): string {
  return shared.has(name) ? `${name} (${path ?? id})` : name;
}

export interface PlacementText {
  names: string[];
  /** Says how many places are not shown, or that there are none; null when `names` are all. */
  hidden: string | null;
}

/** HX clusters, or the vSphere clusters where there are none; hidden places counted. `shared`: names that say too little. */
export function describePlacement(placement: Placement, shared: ReadonlySet<string>): PlacementText {
  const { hx_clusters, vsphere_clusters, hidden } = placement;
  const names = hx_clusters.length > 0 ? hx_clusters.map((hx) => hxName(hx, shared)) : vsphere_clusters.map(vsphereName);
  if (names.length > 0) return { names: [...new Set(names)], hidden: hidden > 0 ? strings.table.hidden(hidden) : null };
  return { names, hidden: hidden > 0 ? strings.table.onlyHidden(hidden) : strings.table.nowhere };
}

export function vsphereName({ datacenter, name, moref }: VsphereCluster): string {
  return strings.table.vsphere(datacenter, name, moref);
}

/** How to ask for a label. Commas separate labels there: one with a comma in its value is asked for by its key. */
export function askedLabel(key: string, value: string): string {
  return value.includes(',') ? key : `${key}=${value}`;
}

export interface HxOption {
  id: string;
  label: string;
}

/** Entries of the HX cluster selector; those that share a name get their place added, so that they can be told apart. */
export function describeHxClusters(clusters: readonly HxCluster[]): HxOption[] {
  const shared = sharedNames(clusters);
  const options = clusters.map((hx) => {
    const label = shared.has(hx.name) ? `${hx.name} (${vsphereName(hx.vsphere_cluster)})` : hx.name;
    return { id: hx.id, label: hx.present ? label : strings.list.hxGone(label) };
  });
  return options.sort((a, b) => a.label.localeCompare(b.label, locale) || a.id.localeCompare(b.id));
}

/** The address if it may become a link: https, no user name in it. Else null. */
export function safeHttpsUrl(value: string | null): string | null {
  if (value === null || !URL.canParse(value)) return null;
  const url = new URL(value);
  const plain = url.protocol === 'https:' && url.username === '' && url.password === '' && url.hostname !== '';
  return plain ? url.href : null;
}

const formatters = new Map<string, unknown>();

/** In the language of the page. Kept, since making one takes longer than making a row of the list. */
function formatter<Options, Formatter>(kind: new (locale: string, options: Options) => Formatter, options: Options): Formatter {
  const key = `${kind.name} ${locale} ${JSON.stringify(options)}`;
  const made = (formatters.get(key) as Formatter | undefined) ?? new kind(locale, options);
  formatters.set(key, made);
  return made;
}

const LAST_STEP = [Infinity, 'year', 365 * 86_400] as const;
const STEPS: readonly (readonly [limitS: number, unit: 'minute' | 'hour' | 'day' | 'month' | 'year', seconds: number])[] = [
  [3600, 'minute', 60],
  [86_400, 'hour', 3600],
  [60 * 86_400, 'day', 86_400],
  [365 * 86_400, 'month', 30 * 86_400],
  LAST_STEP,
];

/** "5 minutes ago"; less than a minute, also ahead of our clock, counts as now. Empty for what is no time. */
export function relativeTime(iso: string | null, nowMs: number): string {
  const ms = iso === null ? NaN : Date.parse(iso);
  if (!Number.isFinite(ms)) return '';
  const ageS = Math.round((nowMs - ms) / 1000);
  if (Math.abs(ageS) < 60) return strings.table.justNow;
  const [unit, seconds] = unitOf(ageS);
  return formatter(Intl.RelativeTimeFormat, { numeric: 'auto' }).format(-Math.trunc(ageS / seconds), unit);
}

/** "5 minutes": how long ago it was. Empty for what is no time. */
export function age(iso: string, nowMs: number): string {
  const ms = Date.parse(iso);
  if (!Number.isFinite(ms)) return '';
  const ageS = Math.max(60, (nowMs - ms) / 1000);
  const [unit, seconds] = unitOf(ageS);
  return formatter(Intl.NumberFormat, { style: 'unit', unit, unitDisplay: 'long' }).format(Math.trunc(ageS / seconds));
}

function unitOf(ageS: number): [unit: 'minute' | 'hour' | 'day' | 'month' | 'year', seconds: number] {
  const [, unit, seconds] = STEPS.find(([limit]) => Math.abs(ageS) < limit) ?? LAST_STEP;
  return [unit, seconds];
}

const AGE_STEP_S = 5;

/** "now", "10 seconds ago", "2 minutes ago": for a time that somebody watches. */
export function freshness(at: Date, nowMs: number): string {
  const ageS = Math.max(0, Math.floor((nowMs - at.getTime()) / 1000));
  const format = formatter(Intl.RelativeTimeFormat, { numeric: 'auto' });
  if (ageS < 60) return format.format(-(ageS - (ageS % AGE_STEP_S)), 'second');
  const [unit, seconds] = unitOf(ageS);
  return format.format(-Math.trunc(ageS / seconds), unit);
}

/** Date and time as the reader writes them, in the reader's zone, the zone named: "2 Mar 2026, 10:30:00 GMT+1". Empty for what is no time. */
export function absoluteTime(iso: string | null, timeZone?: string): string {
  const ms = iso === null ? NaN : Date.parse(iso);
  if (!Number.isFinite(ms)) return '';
  const options: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeStyle: 'long', ...(timeZone === undefined ? {} : { timeZone }) };
  return formatter(Intl.DateTimeFormat, options).format(ms);
}

/** The day as the reader writes it, in the reader's zone. Empty for what is no time. */
export function calendarDate(iso: string): string {
  const ms = Date.parse(iso);
  return Number.isFinite(ms) ? formatter(Intl.DateTimeFormat, { dateStyle: 'medium' }).format(ms) : '';
}

/** With the separators of the language. */
export function shortNumber(n: number): string {
  return formatter(Intl.NumberFormat, {}).format(n);
}

/** The time of day with seconds, as the reader writes it. */
export function clockTime(date: Date): string {
  return formatter(Intl.DateTimeFormat, { timeStyle: 'medium' }).format(date);
}

/** "host:port" of an address, for a short label. */
export function hostOf(cluster: Pick<Cluster, 'api_endpoint'>): string | null {
  const href = safeHttpsUrl(cluster.api_endpoint);
  return href === null ? null : new URL(href).host;
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function formatBytes(bytes: number): string {
  const step = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${threeDigits(bytes / 1024 ** step)} ${UNITS[step]}`;
}

export function formatMhz(mhz: number): string {
  return mhz < 1000 ? `${threeDigits(mhz)} MHz` : `${threeDigits(mhz / 1000)} GHz`;
}

function threeDigits(value: number): string {
  return formatter(Intl.NumberFormat, { maximumSignificantDigits: 3 }).format(value);
}
