/** Colours of items: by structure, device, kind of op, time, memory, or difference. */

import { oklch } from '../../picture/oklch.ts';
import type { Costs } from '../model/cost_sums.ts';
import { joinedKind } from '../model/difference_kinds.ts';
import type { Family, GraphModel } from '../model/graph_model.ts';
import { verticesOf } from '../model/view_state.ts';

export type Theme = 'light' | 'dark' | 'contrast';
export type ColourMode = 'structure' | 'device' | 'op' | 'time' | 'memory' | 'diff';

export interface ItemStyle {
  fill: string;
  border: string;
  /** A cut corner: similar, not equal, structure to others of this colour. */
  notch: boolean;
  /** Parts of a bar at the foot: colour and share. */
  bar: [string, number][] | null;
}

export interface Difference {
  /** By vertex (model/difference_kinds.ts). */
  kind: Uint8Array;
}

const TONES = {
  light: {
    fill: [0.905, 0.062],
    border: [0.66, 0.1],
    open: [0.968, 0.016],
    plain: '#ffffff',
    plainBorder: '#a9b0bb',
    group: '#eceef2',
    groupBorder: '#a9b0bb',
    heat: [0.97, 0.72],
    flat: '#f1f2f5',
  },
  dark: {
    fill: [0.385, 0.062],
    border: [0.6, 0.09],
    open: [0.252, 0.018],
    plain: '#262a31',
    plainBorder: '#5b6370',
    group: '#323740',
    groupBorder: '#666f7d',
    heat: [0.3, 0.56],
    flat: '#24282e',
  },
  contrast: {
    fill: [0.3, 0.09],
    border: [0.85, 0.13],
    open: [0.15, 0.02],
    plain: '#000000',
    plainBorder: '#ffffff',
    group: '#1c1c1c',
    groupBorder: '#ffffff',
    heat: [0.2, 0.75],
    flat: '#000000',
  },
} as const;

// Hues that colour-blind readers can distinguish; devices and op kinds use them in order.
const HUES = [255, 55, 150, 330, 95, 200, 25, 290, 125, 230, 75, 350];

export function hueOfNumber(i: number): number {
  return HUES[i % HUES.length]! + 12 * Math.floor(i / HUES.length);
}

/** Families that share a hue differ in the strength of their fill. */
export function toneFill(theme: Theme, hue: number, tone = 0): string {
  const [l, c] = TONES[theme].fill;
  const step = (theme === 'light' ? -0.045 : 0.055) * (tone % 3);
  return oklch(l + step, c + 0.012 * (tone % 3), hue);
}

export function toneBorder(theme: Theme, hue: number): string {
  const [l, c] = TONES[theme].border;
  return oklch(l, c, hue);
}

/** A colour ramp for 0..1 with even steps in lightness, so that it is readable without hue. */
export function heatFill(theme: Theme, share: number): string {
  const [from, to] = TONES[theme].heat;
  const t = Math.sqrt(Math.min(1, Math.max(0, share)));
  return oklch(from + (to - from) * t, 0.02 + 0.13 * t, 90 - 52 * t);
}

/** By kind of difference: added, changed, moved, removed below, several. */
export const DIFF_HUES = [0, 150, 75, 235, 25, 290];

export class Paint {
  readonly model: GraphModel;
  readonly theme: Theme;
  readonly mode: ColourMode;
  private readonly costs: Costs | null;
  private readonly difference: Difference | null;
  /** Members that no series stands for now. */
  private readonly pulled: ReadonlySet<number>;
  private readonly styles = new Map<number, ItemStyle>();
  private readonly opens = new Map<number, string>();
  private readonly colours = new Map<string, string>();

  constructor(
    model: GraphModel,
    theme: Theme,
    mode: ColourMode,
    costs: Costs | null = null,
    difference: Difference | null = null,
    pulled: ReadonlySet<number> = new Set(),
  ) {
    this.pulled = pulled;
    this.model = model;
    this.theme = theme;
    this.mode = mode;
    this.costs = costs;
    this.difference = difference;
  }

  private vertices(item: number): readonly number[] {
    return verticesOf(this.model, this.pulled, item);
  }

  /** The family of an item; of a series the one that most of its members are of. */
  private familyOf(item: number): Family | undefined {
    const { model } = this;
    const counts = new Map<number, number>();
    for (const v of this.vertices(item)) {
      const family = model.isGroup(v) ? model.family[v]! : -1;
      counts.set(family, (counts.get(family) ?? 0) + 1);
    }
    const [most] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
    return model.header.families[most];
  }

  style(item: number): ItemStyle {
    let style = this.styles.get(item);
    if (!style) {
      style = this.make(item);
      this.styles.set(item, style);
    }
    return style;
  }

  /** The background of an opened group: a tint, slightly stronger at each level. */
  openFill(item: number, depth: number): string {
    const key = item * 4 + (depth % 2);
    let fill = this.opens.get(key);
    if (fill === undefined) {
      const hue = this.hueOf(item);
      const [l, c] = TONES[this.theme].open;
      const step = this.theme === 'light' ? -0.012 : 0.02;
      fill = oklch(l + step * (depth % 2), hue === null ? 0.003 : c, hue ?? 255);
      this.opens.set(key, fill);
    }
    return fill;
  }

  border(item: number): string {
    return this.style(item).border;
  }

  private hueOf(item: number): number | null {
    const { model } = this;
    if (this.mode === 'structure') return this.familyOf(item)?.hue ?? null;
    if (this.mode === 'device') {
      const shares = this.shares(item, model.device);
      return shares.length > 0 && shares[0]![1] > 0.98 ? hueOfNumber(shares[0]![0]) : null;
    }
    if (this.mode === 'op') {
      const shares = this.isGroup(item) ? [] : this.shares(item, model.op);
      return shares.length === 1 ? hueOfNumber(shares[0]![0]) : null;
    }
    return null;
  }

  private isGroup(item: number): boolean {
    return this.model.isGroup(this.vertices(item)[0]!);
  }

  /** Whether the corner is cut: similar, not equal, to others of its colour or its series. */
  private varies(item: number): boolean {
    const { model } = this;
    if (item >= model.total) return model.header.series[item - model.total]!.varied;
    return model.isGroup(item) && model.near[item]! > 0;
  }

  private make(item: number): ItemStyle {
    const { model, theme } = this;
    const tones = TONES[theme];
    const isGroup = this.isGroup(item);
    const plain = {
      fill: isGroup ? tones.group : tones.plain,
      border: isGroup ? tones.groupBorder : tones.plainBorder,
      notch: false,
      bar: null,
    };
    if (this.mode === 'time' || this.mode === 'memory') {
      const costs = this.costs;
      const value = costs ? this.cost(item) : NaN;
      if (!costs || Number.isNaN(value) || value <= 0) return { ...plain, fill: tones.flat };
      return { ...plain, fill: heatFill(theme, value / costs.most) };
    }
    if (this.mode === 'diff') {
      const { difference } = this;
      const kind = difference ? joinedKind(this.vertices(item).map((v) => difference.kind[v] ?? 0)) : 0;
      if (kind === 0) return { ...plain, fill: tones.flat };
      const hue = DIFF_HUES[kind]!;
      return { ...plain, fill: this.tone('fill', hue), border: this.tone('border', hue) };
    }
    if (this.mode === 'structure') {
      const family = this.familyOf(item);
      const notch = this.varies(item);
      if (!family) return { ...plain, notch };
      return {
        fill: this.tone('fill', family.hue, family.tone),
        border: this.tone('border', family.hue),
        notch,
        bar: null,
      };
    }
    const hue = this.hueOf(item);
    const shares = this.shares(item, this.mode === 'device' ? model.device : model.op);
    const bar: [string, number][] | null =
      shares.length > 1
        ? shares.slice(0, 6).map(([i, share]) => [this.tone('border', hueOfNumber(i)), share])
        : null;
    if (hue === null) return { ...plain, bar };
    return { ...plain, fill: this.tone('fill', hue), border: this.tone('border', hue), bar };
  }

  cost(item: number): number {
    if (!this.costs) return NaN;
    let sum = NaN;
    for (const v of this.vertices(item)) {
      const cost = this.costs.total[v]!;
      if (!Number.isNaN(cost)) sum = Number.isNaN(sum) ? cost : sum + cost;
    }
    return sum;
  }

  private tone(part: 'fill' | 'border', hue: number, tone = 0): string {
    const key = `${part}${hue}/${tone}`;
    let colour = this.colours.get(key);
    if (colour === undefined) {
      colour = part === 'fill' ? toneFill(this.theme, hue, tone) : toneBorder(this.theme, hue);
      this.colours.set(key, colour);
    }
    return colour;
  }

  private readonly shareCache = new Map<number, [number, number][]>();

  /** Which devices or op kinds the ops of an item have, most first, with their shares. */
  private shares(item: number, column: Uint16Array): [number, number][] {
    let found = this.shareCache.get(item);
    if (!found) {
      const counts = new Map<number, number>();
      let sum = 0;
      for (const v of this.vertices(item)) {
        for (const op of this.model.opsBelow(v)) {
          counts.set(column[op]!, (counts.get(column[op]!) ?? 0) + 1);
          sum++;
        }
      }
      found = [...counts]
        .sort((a, b) => b[1] - a[1] || a[0] - b[0])
        .map(([i, count]) => [i, count / Math.max(1, sum)]);
      this.shareCache.set(item, found);
    }
    return found;
  }
}
