// One file has the design: nothing else names a colour or a size of type.
// SPDX-License-Identifier: GPL-3.0-or-later
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const sources = import.meta.glob<string>('../src/**/*.ts', { eager: true, query: '?raw', import: 'default' });
const design = readFileSync(new URL('../src/styles/design.css', import.meta.url), 'utf8');
const COLOUR = /#[0-9a-f]{3,8}\b(?![-\w])|\brgba?\(|\bhsla?\(/i;

/** Lines of styles and drawings; addresses such as `#/clusters` and private members are no colours. */
function stylesOf(text: string): string[] {
  const parts = [...text.matchAll(/(?:css|svg|html)`[\s\S]*?`/g)].map(([part]) => part);
  return parts.join('\n').split('\n');
}

describe('the design', () => {
  it.each(Object.entries(sources))('%s names no colour and no size of type of its own', (_, text) => {
    const own = stylesOf(text).filter((line) => COLOUR.test(line) || /font-size: (?!var\(|inherit)/.test(line));
    expect(own).toEqual([]);
  });

  it('has every property that is used', () => {
    const used = new Set(Object.values(sources).flatMap((text) => [...text.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name ?? '')));
    const had = new Set([...design.matchAll(/^\s*(--[\w-]+):/gm)].map(([, name]) => name ?? ''));
    expect([...used].filter((name) => !had.has(name))).toEqual([]);
    expect([...had].filter((name) => !used.has(name) && !design.includes(`var(${name})`))).toEqual([]);
  });
});
