// The catalogues: each text in each of them, nothing left in English but what is the same; which one is chosen.
// SPDX-License-Identifier: GPL-3.0-or-later
import { afterEach, describe, expect, it } from 'vitest';
import { jobCatalogues, jobStrings, type JobCatalogue } from '../src/strings/jobs/index.js';
import { catalogues, chooseLanguage, locale, strings, type Catalogue } from '../src/strings/index.js';

/** Texts that are the same in another language, by language. */
const SAME: Record<string, readonly string[]> = {
  de: [
    'product', 'header.role.admin', 'header.name', 'newVersion.title', 'signIn.vcenterAddress', 'table.column.name', 'table.column.version', 'table.column.labels', 'table.csv.name',
    'table.csv.dashboard', 'table.csv.labels', 'table.dashboard', 'detail.labels', 'detail.source.asked', 'detail.node.cpu', 'detail.cpus', 'detail.nodeRole.worker',
    'table.vsphere', 'connect.step.tls', 'connect.step.version', 'empty.noneAdminCommand', 'overview.inState',
  ],
};

/** Every text by its path. Functions are called with numbers, then with words, so that what they say can be compared. */
function textsOf(value: unknown, path = ''): [path: string, text: string][] {
  if (value === null) return [[path, '']];
  if (typeof value === 'string') return [[path, value]];
  if (typeof value === 'function') return [[path, said(value as (...args: unknown[]) => unknown)]];
  return Object.entries(value as object).flatMap(([key, inner]) => textsOf(inner, path === '' ? key : `${path}.${key}`));
}

function said(text: (...args: unknown[]) => unknown): string {
  const all = [0, 1, 2, null, 'word', 'password', ['word'], ['a', 'b'], new Date(0)].flatMap((sample) => {
    try {
      return [JSON.stringify(text(sample, sample, sample, sample))];
    } catch {
      return []; // It takes something else.
    }
  });
  expect(all).not.toEqual([]);
  return all.join(' ');
}

const english = textsOf(catalogues.get('en'));
const others = [...catalogues].filter(([language]) => language !== 'en');

afterEach(() => chooseLanguage(['en']));

describe('states in numbers', () => {
  it('are a part of a sentence', () => {
    const told = (language: string, n: number, state: 'deleting' | 'degraded') => {
      const words = catalogues.get(language);
      return words?.overview.inState(n, words.state[state]);
    };
    expect(['en', 'de'].flatMap((language) => [told(language, 1, 'deleting'), told(language, 2, 'deleting'), told(language, 2, 'degraded')])).toEqual(
      ['1 deleting', '2 deleting', '2 degraded', '1 wird gelöscht', '2 werden gelöscht', '2 eingeschränkt']);
  });
});

describe('catalogues', () => {
  it('are there', () => {
    expect([...catalogues.keys()].sort()).toEqual(['de', 'en']);
    expect(english.length).toBeGreaterThan(100);
  });

  it.each(others)('%s has every text', (_, catalogue: Catalogue) => {
    expect(textsOf(catalogue).map(([path]) => path)).toEqual(english.map(([path]) => path));
    const empty = (texts: [string, string][]) => texts.filter(([, text]) => text === '').map(([path]) => path);
    expect(empty(textsOf(catalogue))).toEqual(empty(english));
  });

  it.each(others)('%s has no text in English, but for those that are the same', (language, catalogue: Catalogue) => {
    const own = new Map(textsOf(catalogue));
    const same = english.filter(([path, text]) => text !== '' && own.get(path) === text).map(([path]) => path);
    expect(same.sort()).toEqual([...(SAME[language] ?? [])].sort());
  });
});

describe('the catalogues of jobs', () => {
  const words = textsOf(jobCatalogues.get('en'));

  it('are there for the same languages', () => {
    expect([...jobCatalogues.keys()].sort()).toEqual([...catalogues.keys()].sort());
    chooseLanguage(['de-AT']);
    expect(jobStrings().retry).toBe('Wiederholen');
  });

  it.each([...jobCatalogues].filter(([language]) => language !== 'en'))('%s has every text, and none in English', (_, catalogue: JobCatalogue) => {
    const own = textsOf(catalogue);
    expect(own.map(([path]) => path)).toEqual(words.map(([path]) => path));
    const same = own.filter(([, text], n) => text === words[n]?.[1]).map(([path]) => path);
    expect(same).toEqual([]);
  });
});

describe('the language', () => {
  it.each([
    [['de-AT', 'en'], 'de-AT', 'Abmelden'],
    [['fr-FR', 'de'], 'de', 'Abmelden'],
    [['en-GB', 'de'], 'en-GB', 'Sign out'],
    [['fr'], 'en', 'Sign out'],
    [[], 'en', 'Sign out'],
    [['de_broken!', 'constructor', 'de-!'], 'en', 'Sign out'],
  ])('of %j is %s', (wanted, chosen, text) => {
    expect(chooseLanguage(wanted)).toBe(chosen);
    expect([locale, strings.header.signOut]).toEqual([chosen, text]);
  });
});
