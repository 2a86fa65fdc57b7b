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

// -- the fills of states, as they are seen -------------------------------------------------------------------------------------

type Triple = readonly [number, number, number];

/** Linear light of an sRGB colour (IEC 61966-2-1). */
function linear(hex: string): Triple {
  const part = (at: number): number => {
    const value = parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [part(1), part(3), part(5)];
}

function times(matrix: readonly Triple[], [r, g, b]: Triple): Triple {
  const [x, y, z] = matrix.map((row) => Math.min(1, Math.max(0, row[0] * r + row[1] * g + row[2] * b)));
  return [x ?? 0, y ?? 0, z ?? 0];
}

/** How who has this kind of colour blindness sees (Machado, Oliveira, Fernandes 2009, severity 1). */
const EYES: Record<string, readonly Triple[]> = {
  all: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  deuteranopia: [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
  protanopia: [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
};

const TO_XYZ: readonly Triple[] = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
const WHITE: Triple = [0.9505, 1, 1.089];

function lab(light: Triple): Triple {
  const [x, y, z] = TO_XYZ.map((row, n) => Math.cbrt((row[0] * light[0] + row[1] * light[1] + row[2] * light[2]) / (WHITE[n] ?? 1)));
  return [116 * (y ?? 0) - 16, 500 * ((x ?? 0) - (y ?? 0)), 200 * ((y ?? 0) - (z ?? 0))];
}

const distance = (a: Triple, b: Triple): number => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
const luminance = (light: Triple): number => 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2];

function pairOf(token: string, theme: number): string {
  const found = new RegExp(`--${token}: light-dark\\((#[0-9a-f]{6}), (#[0-9a-f]{6})\\)`).exec(design);
  return found?.[theme + 1] ?? '';
}

describe.each(['light', 'dark'])('the fills of states in the %s theme', (theme) => {
  const at = theme === 'light' ? 0 : 1;
  const names = [...design.matchAll(/--fill-(\w+):/g)].map(([, name]) => name ?? '');
  const pairs = names.flatMap((a, n) => names.slice(n + 1).map((b) => [a, b] as const));

  it.each(Object.keys(EYES))('are told apart by who sees like %s', (eye) => {
    const seen = (name: string): Triple => lab(times(EYES[eye] ?? [], linear(pairOf(`fill-${name}`, at))));
    expect(pairs.length).toBe(15);
    expect(pairs.filter(([a, b]) => distance(seen(a), seen(b)) < 13)).toEqual([]);
  });

  it('stand out from the card', () => {
    const card = luminance(linear(pairOf('card', at)));
    const contrast = (name: string): number => {
      const own = luminance(linear(pairOf(`fill-${name}`, at)));
      return (Math.max(own, card) + 0.05) / (Math.min(own, card) + 0.05);
    };
    expect(names.filter((name) => name !== 'unknown' && contrast(name) < 3)).toEqual([]);
  });
});
