// The texts about jobs, loaded with what shows them: a catalogue for each language, as in the folder above.
// SPDX-License-Identifier: GPL-3.0-or-later
import { locale } from '../index.js';
import { catalogue as english, type JobCatalogue } from './en.js';

export type { JobCatalogue } from './en.js';

const files = import.meta.glob<JobCatalogue>('./??.ts', { eager: true, import: 'catalogue' });

/** By language, such as `de`. */
export const jobCatalogues: ReadonlyMap<string, JobCatalogue> = new Map(Object.entries(files).map(([file, catalogue]) => [file.slice('./'.length, -'.ts'.length), catalogue]));

/** In the language of the page. */
export function jobStrings(): JobCatalogue {
  return jobCatalogues.get(locale.slice(0, 2).toLowerCase()) ?? english;
}
