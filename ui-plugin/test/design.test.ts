// One file has the design: nothing else names a colour, a size of type or a space.
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

const SPACING = /^(?:scroll-)?(?:margin|padding|inset)(?:-[a-z-]+)?$|^(?:(?:row|column|grid)-)?gap$|^(?:top|right|bottom|left|border-spacing|text-indent)$/;
const LENGTH = /(?<![\w.-])-?(?:\d*\.)?\d+(?:px|r?em|ex|ch|pt|pc|in|cm|mm|q)\b/gi;

/** Declarations of spaces that are no custom properties. One pixel is the width of a border; widths and heights are no spaces. */
function ownSpaces(text: string): string[] {
  const declarations = stylesOf(text).join('\n').split(/[;{}"`]/).map((part) => /^\s*([a-z-]+)\s*:([^:]*)$/.exec(part));
  return declarations.flatMap((found) => (found !== null && SPACING.test(found[1] ?? '') && hasLength(found[2] ?? '') ? [found[0].trim()] : []));
}

function hasLength(value: string): boolean {
  return [...value.matchAll(LENGTH)].some(([length]) => Math.abs(parseFloat(length)) !== 0 && !/^-?1px$/i.test(length));
}

describe('the design', () => {
  it.each(Object.entries(sources))('%s names no colour and no size of type of its own', (_, text) => {
    const own = stylesOf(text).filter((line) => COLOUR.test(line) || /font-size: (?!var\(|inherit)/.test(line));
    expect(own).toEqual([]);
  });

  it.each(Object.entries(sources))('%s names no space of its own', (_, text) => {
    expect(ownSpaces(text)).toEqual([]);
  });

  it.each(['margin: 3px', 'padding-left: var(--space-1) 2px', 'gap: 0.5rem', 'top: calc(100% + 4px)', 'inset: 0 -8px', 'row-gap: 1em', 'margin-inline-start: 1.5px', 'left:10px'])('%s is seen to be a space', (declaration) => {
    expect(ownSpaces(`css\`a { color: red; ${declaration}; }\``)).toEqual([declaration]);
    expect(ownSpaces(`html\`<p style="width: 4px; ${declaration}">\``)).toEqual([declaration]);
    expect(ownSpaces(`css\`\n  a {\n    ${declaration}\n  }\``)).toEqual([declaration]);
  });

  it.each(['margin: 0 auto', 'margin: -1px', 'padding: 0 var(--space-1)', 'top: calc(100% + var(--space-1))', 'width: 96px', 'min-height: 28px', 'border: 2px solid', 'outline-offset: 2px', 'inset: 50%', 'gap: 0px'])(
    '%s is none of its own', (declaration) => {
      expect(ownSpaces(`css\`a { ${declaration}; }\``)).toEqual([]);
    });

  it('has every property that is used', () => {
    const used = new Set(Object.values(sources).flatMap((text) => [...text.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name ?? '')));
    const had = new Set([...design.matchAll(/^\s*(--[\w-]+):/gm)].map(([, name]) => name ?? ''));
    expect([...used].filter((name) => !had.has(name))).toEqual([]);
    expect([...had].filter((name) => !used.has(name) && !design.includes(`var(${name})`))).toEqual([]);
  });
});
