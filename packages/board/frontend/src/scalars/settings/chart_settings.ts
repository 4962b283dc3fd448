/** How the charts of scalars show their curves; part of the address. */
import { choice, flag, list, number, text } from '../../address/url_codec.ts';
import { urlSignal } from '../../address/url_state.ts';

export type XMode = 'step' | 'relative' | 'wall' | 'tag';

export type Scale = 'linear' | 'log' | 'symlog';
export const xMode = urlSignal<XMode>('x', choice('step', 'relative', 'wall', 'tag'), 'step');
/** The tag that is x in mode "tag". */
export const xTag = urlSignal('xt', text, '');
export const xLog = urlSignal('xlog', flag, false);
export const yScale = urlSignal<Scale>('y', choice('linear', 'log', 'symlog'), 'linear');
/** Whether the y axis leaves out the outermost values; what is clipped is marked. */
export const ignoreOutliers = urlSignal('out', flag, false);
export const smoothKind = urlSignal<'ema' | 'mean' | 'median'>('sk', choice('ema', 'mean', 'median'), 'ema');
/** 0 to 0.999: the weight of the EMA; for mean and median it chooses the width of the window. */
export const smoothing = urlSignal('s', number, 0);
/** Points in the window of a running mean or median, by the position of the slider. */
export function windowWidth(weight: number): number {
  return Math.max(1, Math.round(1 / (1 - Math.min(weight, 0.999))) * 2 - 1);
}

export const groupBand = urlSignal<'std' | 'se' | 'minmax' | 'iqr' | 'none'>(
  'gb',
  choice('std', 'se', 'minmax', 'iqr', 'none'),
  'std',
);
/** `CARD=x0:x1` or `CARD=x0:x1:y0:y1`: charts that are zoomed. */
export const zooms = urlSignal<string[]>('z', list, []);
/** Tags that were dropped on a card's chart: overlay_items.ts. */
export const overlays = urlSignal<string[]>('over', list, []);
/** Charts of several tags or of an expression, as they were written: chart_formula.ts. */
export const customCharts = urlSignal<string[]>('made', list, []);
/** What cards have of their own: card_style.ts. */
export const cardStyles = urlSignal<string[]>('card', list, []);
/** Ids of cards that show the values of the selected steps under their charts. */
export const tableCards = urlSignal<string[]>('tab', list, []);
