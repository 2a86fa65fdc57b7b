// Values of the list as they are shown: pure functions, no markup.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { Cluster, ClusterState, HxCluster, Placement, Replicas } from '../api/types.js';
import { locale, strings } from '../strings/index.js';

/** How a state or a number is to be taken; decides colour and icon. */
export type Tone = 'good' | 'warning' | 'bad' | 'busy' | 'neutral';

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

/** Word and tone of a state; one that a newer service may have is shown as it is. */
export function describeState(state: ClusterState): { word: string; tone: Tone } {
  return { word: strings.state[state] ?? String(state), tone: STATE_TONE[state] ?? 'neutral' };
}

export interface ReplicasText {
  short: string;
  spoken: string;
  tone: Tone;
}

/** "3 / 3" for the eye, "3 of 3 ready" for the ear. While work on the cluster is going on a missing node is no alarm. */
export function describeReplicas(replicas: Replicas, state: ClusterState): ReplicasText {
  const { ready, desired } = replicas;
  const calm = ready === null || describeState(state).tone === 'busy';
  const tone = ready !== null && ready >= desired ? 'good' : calm ? 'neutral' : ready === 0 ? 'bad' : 'warning';
  return { short: `${ready ?? '?'} / ${desired}`, spoken: strings.table.ready(ready, desired), tone };
}

export interface PlacementText {
  title: string;
  lines: string[];
  /** Says how many places are not shown; null when all are. */
  hidden: string | null;
  declared: boolean;
}

/** HX clusters as the title, vSphere clusters with datacenter below, hidden places counted. */
export function describePlacement(placement: Placement): PlacementText {
  const lines = placement.vsphere_clusters.map((v) => strings.table.vsphere(v.datacenter, v.name, v.moref));
  const declared = placement.source === 'declared';
  if (lines.length === 0) {
    const title = placement.hidden > 0 ? strings.table.onlyHidden(placement.hidden) : strings.table.nowhere;
    return { title, lines, hidden: null, declared };
  }
  const names = placement.hx_clusters.map((hx) => hx.name);
  const hidden = placement.hidden > 0 ? strings.table.hidden(placement.hidden) : null;
  return { title: names.length > 0 ? names.join(', ') : strings.table.noHx, lines, hidden, declared };
}

export interface HxOption {
  id: string;
  label: string;
}

/** Entries of the HX cluster selector; those that share a name get their place added, so that they can be told apart. */
export function describeHxClusters(clusters: readonly HxCluster[]): HxOption[] {
  const count = new Map<string, number>();
  for (const hx of clusters) count.set(hx.name, (count.get(hx.name) ?? 0) + 1);
  const options = clusters.map((hx) => {
    const { datacenter, name, moref } = hx.vsphere_cluster;
    const place = strings.table.vsphere(datacenter, name, moref);
    const label = (count.get(hx.name) ?? 0) > 1 ? `${hx.name} (${place})` : hx.name;
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

const STEPS: [limitS: number, unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  [3600, 'minute', 60],
  [86_400, 'hour', 3600],
  [30 * 86_400, 'day', 86_400],
  [365 * 86_400, 'month', 30 * 86_400],
  [Infinity, 'year', 365 * 86_400],
];

/** "5 minutes ago"; less than a minute, also ahead of our clock, counts as now. */
export function relativeTime(iso: string | null, nowMs: number): string {
  const ms = iso === null ? NaN : Date.parse(iso);
  if (!Number.isFinite(ms)) return strings.table.never;
  const ageS = Math.round((nowMs - ms) / 1000);
  if (Math.abs(ageS) < 60) return strings.table.justNow;
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
  const [, unit, seconds] = STEPS.find(([limit]) => Math.abs(ageS) < limit) ?? [0, 'year' as const, 365 * 86_400];
  return format.format(-Math.trunc(ageS / seconds), unit);
}

/** Date and time as the reader writes them, in the reader's zone, the zone named: "2 Mar 2026, 10:30:00 GMT+1". Empty for what is no time. */
export function absoluteTime(iso: string | null, timeZone?: string): string {
  const ms = iso === null ? NaN : Date.parse(iso);
  if (!Number.isFinite(ms)) return '';
  const options: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeStyle: 'long', ...(timeZone === undefined ? {} : { timeZone }) };
  return new Intl.DateTimeFormat(locale, options).format(ms);
}

/** The time of day with seconds, as the reader writes it. */
export function clockTime(date: Date): string {
  return new Intl.DateTimeFormat(locale, { timeStyle: 'medium' }).format(date);
}

/** "host:port" of an address, for a short label. */
export function hostOf(cluster: Pick<Cluster, 'api_endpoint'>): string | null {
  const href = safeHttpsUrl(cluster.api_endpoint);
  return href === null ? null : new URL(href).host;
}
