/** How the Metrics page shows things; all of it is in the address. */
import { choice, flag, list, number, text } from '../state/url_codec.ts';
import { urlSignal } from '../state/url_state.ts';

export type XMode = 'step' | 'relative' | 'wall' | 'tag';
export type Scale = 'linear' | 'log' | 'symlog';

/** Regular expression, or letters in order; "" shows every tag. */
export const tagFilter = urlSignal('q', text, '');
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
/** "" no groups; "re:PATTERN" by its first group (or match); "hp:NAME" by a hyperparameter. */
export const groupBy = urlSignal('g', text, '');
/** "each": every run is drawn, in the colour of its group. */
export const groupCenter = urlSignal<'mean' | 'median' | 'each'>(
  'gc',
  choice('mean', 'median', 'each'),
  'mean',
);
export const groupBand = urlSignal<'std' | 'se' | 'minmax' | 'iqr' | 'none'>(
  'gb',
  choice('std', 'se', 'minmax', 'iqr', 'none'),
  'std',
);
/** How far the cards are scrolled. */
export const scrolled = urlSignal('top', number, 0);
/** Least width of a card. */
export const cardWidth = urlSignal('w', number, 380);
/** Ids of cards. */
export const pinnedCards = urlSignal<string[]>('pin', list, []);
export const largeCards = urlSignal<string[]>('big', list, []);
/** Paths of folders that are shut. */
export const shutFolders = urlSignal<string[]>('shut', list, []);
/** Tags that were dropped on a card's chart: overlay_items.ts. */
export const overlays = urlSignal<string[]>('over', list, []);
/** Charts of several tags or of an expression, as they were written: chart_formula.ts. */
export const madeCharts = urlSignal<string[]>('made', list, []);
/** What cards have of their own: card_style.ts. */
export const cardStyles = urlSignal<string[]>('card', list, []);
/** Ids of cards that show the values of the selected steps under their charts. */
export const tableCards = urlSignal<string[]>('tab', list, []);
/** Only cards of one kind; "" is all. */
export const kindFilter = urlSignal('kind', text, '');
/** `CARD=x0:x1` or `CARD=x0:x1:y0:y1`: charts that are zoomed. */
export const zooms = urlSignal<string[]>('z', list, []);

/** Points in the window of a running mean or median, by the position of the slider. */
export function windowWidth(weight: number): number {
  return Math.max(1, Math.round(1 / (1 - Math.min(weight, 0.999))) * 2 - 1);
}

export function toggled(items: string[], item: string): string[] {
  return items.includes(item) ? items.filter((one) => one !== item) : [...items, item];
}
