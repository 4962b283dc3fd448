/** The colours of a report: those of the light and the dark theme, whichever the reader's system asks for. */
import { chartColours } from '../../charts/chart_colours.ts';
import type { ChartColours } from '../../charts/draw_chart.ts';
import { colour } from '../../style/theme.ts';

const TOKENS = [
  ...['ground', 'surface', 'sunken', 'line', 'line-strong', 'text', 'text-soft', 'text-faint'],
  ...['accent', 'error', 'grid', 'font', 'mono'],
];
const RUN_COLOURS = 20;
const runTokens = Array.from({ length: RUN_COLOURS }, (_, i) => `run-${i}`);

export interface ReportColours {
  /** CSS that declares the colours of both themes. */
  css: string;
  chart: ChartColours;
  /** A colour of the present theme as the one that follows the reader's theme; others stay as they are. */
  inBothThemes(shown: string): string;
}

export function reportColours(): ReportColours {
  const tokenOf = new Map(runTokens.map((token) => [colour(token), token]));
  const own = (token: string) => `var(--${token})`;
  return {
    css: `:root{color-scheme:light dark;${declared('light')}}
@media(prefers-color-scheme:dark){:root{${declared('dark')}}}`,
    chart: {
      ...chartColours(), // the font, which is measured
      text: own('text'),
      soft: own('text-faint'),
      grid: own('grid'),
      axis: own('line-strong'),
      ground: own('surface'),
      warning: own('error'),
    },
    inBothThemes: (shown) => {
      const token = tokenOf.get(shown);
      return token ? own(token) : shown;
    },
  };
}

function declared(theme: 'light' | 'dark'): string {
  const probe = document.createElement('i');
  probe.dataset.theme = theme;
  document.body.append(probe);
  const style = getComputedStyle(probe);
  const text = [...TOKENS, ...runTokens]
    .map((token) => `--${token}:${style.getPropertyValue(`--${token}`).trim()}`)
    .join(';');
  probe.remove();
  return text;
}
