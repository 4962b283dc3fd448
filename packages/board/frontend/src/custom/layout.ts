/** Layouts of charts that a program wrote into its log, or a reader made in the page. */
import { patternOf } from '../strings/pattern.ts';

export interface MarginSeries {
  value: string;
  lower: string;
  upper: string;
}

export interface LayoutChart {
  title: string;
  multiline?: { regexes: string[] };
  margin?: { series: MarginSeries[] };
}

export interface LayoutCategory {
  title: string;
  closed: boolean;
  charts: LayoutChart[];
}

export interface Layout {
  categories: LayoutCategory[];
}

/** The tags that a chart's patterns match at their beginning, each once, in order of the patterns. */
export function matchedTags<T extends { name: string }>(tags: T[], patterns: string[]): T[] {
  const found = new Set<T>();
  for (const source of patterns) {
    const pattern = patternOf(source, { fromStart: true });
    for (const tag of tags) if (pattern.test(tag.name)) found.add(tag);
  }
  return [...found];
}

/** What is wrong with a chart's patterns; null: nothing. */
export function patternError({ multiline }: LayoutChart): string | null {
  for (const source of multiline?.regexes ?? []) {
    const { error } = patternOf(source, { fromStart: true });
    if (error !== null) return `${source} matches nothing: ${error}`;
  }
  return null;
}

/** y at each of `xs`, between the points of a curve on straight lines; NaN beyond its ends. */
export function valuesAt(
  x: ArrayLike<number>,
  y: ArrayLike<number>,
  xs: ArrayLike<number>,
): Float64Array<ArrayBuffer> {
  const out = new Float64Array(xs.length);
  let at = 0;
  for (let i = 0; i < xs.length; i++) {
    const place = xs[i]!;
    while (at < x.length - 1 && x[at + 1]! <= place) at++;
    if (x.length === 0 || place < x[0]! || place > x[x.length - 1]!) out[i] = Number.NaN;
    else if (x[at] === place || at === x.length - 1) out[i] = y[at]!;
    else out[i] = y[at]! + ((y[at + 1]! - y[at]!) * (place - x[at]!)) / (x[at + 1]! - x[at]!);
  }
  return out;
}

/** A layout out of any JSON: what is not a layout becomes an empty one, what is not text becomes ''. */
export function asLayout(document: unknown): Layout {
  const list = (value: unknown): Record<string, unknown>[] =>
    Array.isArray(value) ? value.filter((item) => item !== null && typeof item === 'object') : [];
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const root = document as { categories?: unknown } | null;
  return {
    categories: list(root?.categories).map((category) => ({
      title: text(category.title),
      closed: category.closed === true,
      charts: list(category.charts).map((chart): LayoutChart => {
        const margin = chart.margin as { series?: unknown } | undefined;
        if (margin) {
          const series = list(margin.series).map((one) => ({
            value: text(one.value),
            lower: text(one.lower),
            upper: text(one.upper),
          }));
          return { title: text(chart.title), margin: { series } };
        }
        const multiline = chart.multiline as { regexes?: unknown } | undefined;
        const regexes = Array.isArray(multiline?.regexes) ? multiline.regexes.map(text).filter(Boolean) : [];
        return { title: text(chart.title), multiline: { regexes } };
      }),
    })),
  };
}

/** A chart as lines of a text field: patterns, or `value, lower, upper`. */
export function chartToText(chart: LayoutChart): string {
  if (chart.margin) return chart.margin.series.map((s) => `${s.value}, ${s.lower}, ${s.upper}`).join('\n');
  return (chart.multiline?.regexes ?? []).join('\n');
}

export function chartFromText(title: string, margin: boolean, text: string): LayoutChart {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
  if (!margin) return { title, multiline: { regexes: lines } };
  const series = lines.map((line) => {
    const [value = '', lower = '', upper = ''] = line.split(',').map((part) => part.trim());
    return { value, lower, upper };
  });
  return { title, margin: { series } };
}
