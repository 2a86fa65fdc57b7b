// What an HX cluster says of itself, as it is shown; pure.
// SPDX-License-Identifier: GPL-3.0-or-later
import type { HxCluster, HxConnection, HxFacts } from '../api/types.js';
import { locale, strings } from '../strings/index.js';
import { formatBytes, type Tone } from './format.js';

export interface HealthText {
  tone: Tone;
  words: string[];
}

/** Twice as long as from one reading to the next (`hx.read_interval`, if nobody has changed it). */
const OLD_MS = 20 * 60_000;

/** Is this how it was, and perhaps no more? It cannot be read now, as far as the viewer may know that, or has not been for long. */
export function isOld({ read_at }: HxFacts, connection: HxConnection | null, nowMs: number): boolean {
  const state = connection?.status.state ?? 'ok';
  return (state !== 'ok' && state !== 'unknown') || nowMs - Date.parse(read_at) > OLD_MS;
}

/** State and health in a few words; null if nothing is known of it. Who may know how the connection is hears of that first. What was good long ago is not green. */
export function describeHealth(hx: HxCluster, facts: HxFacts | null, connection: HxConnection | null, nowMs: number): HealthText | null {
  if (!hx.present) return { tone: 'neutral', words: [strings.overview.gone] };
  const state = connection?.status.state ?? 'ok';
  if (connection === null && facts === null) return null;
  if (state !== 'ok' || facts === null) return { tone: state === 'unknown' ? 'neutral' : 'warning', words: [strings.overview.connection[state]] };
  const words = [facts.state, facts.resiliency].filter((word) => word !== null);
  const tone = toneOf(facts);
  return { tone: tone === 'good' && isOld(facts, connection, nowMs) ? 'neutral' : tone, words: words.map(hxWord) };
}

function toneOf({ state, resiliency }: HxFacts): Tone {
  if (state !== null && state !== 'ONLINE') return 'bad';
  return resiliency === null || resiliency === 'HEALTHY' ? 'good' : 'warning';
}

/** A word of HX in the reader's language; one that is not known is shown as HX spells it, but in small letters. */
export function hxWord(word: string): string {
  const words: Record<string, string> = strings.overview.hxWord;
  if (Object.hasOwn(words, word)) return words[word] ?? word;
  return word.charAt(0) + word.slice(1).toLowerCase().replaceAll('_', ' ');
}

export interface CapacityText {
  /** From 0 to 1. */
  used: number;
  percent: string;
  words: string;
  tone: Tone;
}

/** How full it is; null if it does not tell. */
export function describeCapacity({ used_bytes, capacity_bytes, space }: HxFacts): CapacityText | null {
  if (used_bytes === null || capacity_bytes === null || capacity_bytes <= 0) return null;
  const used = Math.min(1, used_bytes / capacity_bytes);
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 }).format(used);
  const tone = space === null || space === 'NORMAL' ? 'busy' : 'warning';
  return { used, percent, words: strings.overview.capacity(formatBytes(used_bytes), formatBytes(capacity_bytes)), tone };
}
