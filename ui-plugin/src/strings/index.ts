// The language of the page. Each catalogue is one file beside this one, named by its language and exporting `catalogue`: a further language is
// one more file.
// SPDX-License-Identifier: GPL-3.0-or-later
import { catalogue as english, type Catalogue } from './en.js';

export type { Catalogue } from './en.js';

const files = import.meta.glob<Catalogue>('./??.ts', { eager: true, import: 'catalogue' });

/** By language, such as `de`. */
export const catalogues: ReadonlyMap<string, Catalogue> = new Map(Object.entries(files).map(([file, catalogue]) => [file.slice('./'.length, -'.ts'.length), catalogue]));

/** The texts in the language that was chosen. Read it when something is shown, not when a module is loaded. */
export let strings: Catalogue = english;

/** For numbers and times: the language, with the region if one was wanted (`de-AT`). */
export let locale = 'en';

/** Takes the first of the wanted languages (as in `navigator.languages`) that there is a catalogue for, else English; answers `locale`. */
export function chooseLanguage(wanted: readonly string[]): string {
  const found = wanted.find((tag) => catalogues.has(languageOf(tag)) && isTag(tag)) ?? 'en';
  strings = catalogues.get(languageOf(found)) ?? english;
  locale = found;
  return locale;
}

function languageOf(tag: string): string {
  return tag.toLowerCase().split('-')[0] ?? '';
}

function isTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
