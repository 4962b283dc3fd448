/** The colours that slices are drawn in. */

import { isLight, mix } from '../../picture/colour_mix.ts';
import { oklch } from '../../picture/oklch.ts';
import { colour } from '../../style/theme.ts';
import type { Colouring } from '../address/address_fields.ts';
import { familyOfNode } from '../data/node_families.ts';
import type { Track } from '../data/trace_api.ts';
import { LEVELS, type TraceItems } from '../data/trace_items.ts';
import { hueOfText, kindOf, OP_KINDS, scopeOf } from './op_kinds.ts';
import { pixelOf } from './pixel_rows.ts';

export interface Tone {
  title: string;
  /** By level. */
  fills: string[];
  /** The same for items that are not emphasised. */
  dimmed: string[];
  /** Both as ImageData pixels. */
  pixels: Uint32Array;
  dimmedPixels: Uint32Array;
  border: string;
  text: string;
}

export interface ThemeColours {
  surface: string;
  sunken: string;
  text: string;
  soft: string;
  faint: string;
  line: string;
  strong: string;
  grid: string;
  accent: string;
  error: string;
  dark: boolean;
  font: string;
}

export function themeColours(): ThemeColours {
  const surface = colour('surface');
  return {
    surface,
    sunken: colour('sunken'),
    text: colour('text'),
    soft: colour('text-soft'),
    faint: colour('text-faint'),
    line: colour('line'),
    strong: colour('line-strong'),
    grid: colour('grid'),
    accent: colour('accent'),
    error: colour('error'),
    dark: !isLight(surface),
    font: colour('font') || 'system-ui, sans-serif',
  };
}

/** Families that share a hue differ by a step in lightness. */
export function toneOfHue(title: string, hue: number | null, ink: ThemeColours, step = 0): Tone {
  const full = ink.dark
    ? oklch(0.52 + 0.06 * (step % 3), hue === null ? 0.006 : 0.095, hue ?? 260)
    : oklch(0.8 - 0.05 * (step % 3), hue === null ? 0.006 : 0.085, hue ?? 260);
  const border = ink.dark
    ? oklch(0.68, hue === null ? 0.008 : 0.11, hue ?? 260)
    : oklch(0.58, hue === null ? 0.01 : 0.12, hue ?? 260);
  const fills = Array.from({ length: LEVELS + 1 }, (_, i) =>
    mix(ink.surface, full, 0.18 + (0.82 * i) / LEVELS),
  );
  const dimmed = fills.map((fill) => mix(ink.surface, fill, 0.34));
  return {
    title,
    fills,
    dimmed,
    pixels: Uint32Array.from(fills, pixelOf),
    dimmedPixels: Uint32Array.from(dimmed, pixelOf),
    border,
    text: ink.dark ? '#ffffff' : ink.text,
  };
}

export interface Painted {
  tones: Tone[];
  /** The tone of each item. */
  tone: Uint16Array;
}

/** Chooses a tone for each item. */
export function paint(
  items: TraceItems,
  ops: string[],
  lanes: Track[],
  by: Colouring,
  ink: ThemeColours,
): Painted {
  const { op, name, lane } = items.columns;
  const tone = new Uint16Array(op.length);
  const tones: Tone[] = [];
  const ids = new Map<string, number>();
  const id = (key: string, title: string, hue: number | null, step = 0): number => {
    let at = ids.get(key);
    if (at === undefined) {
      at = tones.length;
      ids.set(key, at);
      tones.push(toneOfHue(title, hue, ink, step));
    }
    return at;
  };
  if (by === 'device') {
    const devices = [...new Set(lanes.map((l) => `${l.task}|${l.device}`))];
    const of = lanes.map((l) => {
      const at = devices.indexOf(`${l.task}|${l.device}`);
      return id(devices[at]!, `${l.task_title} ${l.device_title}`, (255 + 137.5 * at) % 360);
    });
    for (let i = 0; i < tone.length; i++) tone[i] = of[lane[i]!] ?? 0;
  } else if (by === 'family') {
    const families = familyOfNode.peek();
    const of = items.names.map((n) => {
      const family = families?.get(n);
      if (!family) return id('', 'no family', null);
      return id(String(family.id), family.title, family.hue, family.tone);
    });
    for (let i = 0; i < tone.length; i++) tone[i] = of[name[i]!]!;
  } else if (by === 'scope') {
    const of = items.names.map((n) => {
      const scope = scopeOf(n);
      return id(scope, scope || 'no scope', scope ? hueOfText(scope) : null);
    });
    for (let i = 0; i < tone.length; i++) tone[i] = of[name[i]!]!;
  } else {
    const of = ops.map((o) => {
      const kind = kindOf(o);
      return by === 'kind' ? id(kind.id, kind.title, kind.hue) : id(o, o, hueOfText(o));
    });
    for (let i = 0; i < tone.length; i++) tone[i] = of[op[i]!]!;
  }
  return { tones, tone };
}

/** The legend: the kinds of ops that occur, in a fixed order. */
export function legendOf(ops: string[], ink: ThemeColours): Tone[] {
  const there = new Set(ops.map((op) => kindOf(op).id));
  return OP_KINDS.filter((kind) => there.has(kind.id)).map((kind) => toneOfHue(kind.title, kind.hue, ink));
}
