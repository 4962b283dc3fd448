/** Layouts of charts that a program wrote into its log, or a reader made in the page. */

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

const MOST_PATTERN = 300;
const MOST_TAG = 500;
const MOST_OPEN = 4;

/**
 * Whether a pattern of a log cannot hold up the page: no quantifier over a group that holds a quantifier or
 * an alternative, no reference back, few open quantifiers.
 */
export function isTame(pattern: string): boolean {
  if (pattern.length > MOST_PATTERN || /\\[1-9k]/.test(pattern)) return false;
  const groups: { free: boolean }[] = [{ free: false }];
  let open = 0;
  let inClass = false;
  let closed: { free: boolean } | null = null;
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i]!;
    const before = closed;
    closed = null;
    if (c === '\\') i++;
    else if (inClass) inClass = c !== ']';
    else if (c === '[') inClass = true;
    else if (c === '(') groups.push({ free: false });
    else if (c === ')') {
      if (groups.length === 1) return false;
      closed = groups.pop()!;
      if (closed.free) groups[groups.length - 1]!.free = true;
    } else if (c === '|') groups[groups.length - 1]!.free = true;
    else if (c === '*' || c === '+' || c === '{') {
      if (before?.free || ++open > MOST_OPEN) return false;
      groups[groups.length - 1]!.free = true;
    }
  }
  return true;
}

/** The tags that a chart's patterns match at their beginning, each once, in order of the patterns. */
export function matchedTags<T extends { name: string }>(tags: T[], patterns: string[]): T[] {
  const found = new Set<T>();
  for (const pattern of patterns) {
    if (!isTame(pattern)) continue;
    let matcher: RegExp;
    try {
      matcher = new RegExp(`^(?:${pattern})`);
    } catch {
      continue;
    }
    for (const tag of tags) if (tag.name.length <= MOST_TAG && matcher.test(tag.name)) found.add(tag);
  }
  return [...found];
}

/** y at each of `wanted`, between the points of a curve on straight lines; NaN beyond its ends. */
export function valuesAt(
  x: ArrayLike<number>,
  y: ArrayLike<number>,
  wanted: ArrayLike<number>,
): Float64Array<ArrayBuffer> {
  const out = new Float64Array(wanted.length);
  let at = 0;
  for (let i = 0; i < wanted.length; i++) {
    const place = wanted[i]!;
    while (at < x.length - 1 && x[at + 1]! <= place) at++;
    if (x.length === 0 || place < x[0]! || place > x[x.length - 1]!) out[i] = Number.NaN;
    else if (x[at] === place || at === x.length - 1) out[i] = y[at]!;
    else out[i] = y[at]! + ((y[at + 1]! - y[at]!) * (place - x[at]!)) / (x[at + 1]! - x[at]!);
  }
  return out;
}

/** A layout out of any JSON: what is no layout becomes an empty one, what is no text becomes ''. */
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

export function chartFromText(title: string, margin: boolean, said: string): LayoutChart {
  const lines = said
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
