import { colour } from '../style/theme.ts';
import type { ChartColours } from './draw_chart.ts';

/** The colours of the present theme. */
export function chartColours(): ChartColours {
  return {
    text: colour('text'),
    soft: colour('text-faint'),
    grid: colour('grid'),
    axis: colour('line-strong'),
    ground: colour('surface'),
    warning: colour('error'),
    font: colour('font'),
  };
}
