/** A card's own settings in place of the page's: scale, range and outliers of y, smoothing. */
import { cardStyles, type Scale } from './chart_settings.ts';

export interface CardStyle {
  y?: Scale;
  /** Whether outliers are left out. */
  out?: boolean;
  /** As `smoothing` of the page. */
  smooth?: number;
  /** Ends of the y axis. */
  lo?: number;
  hi?: number;
}

const SCALES: Scale[] = ['linear', 'log', 'symlog'];

/** `CARD=y:log;out:1;s:0.6;lo:0;hi:1`: the text after the last "=" contains no "=". */
export function styleItem(card: string, { y, out, smooth, lo, hi }: CardStyle): string | null {
  const parts = [
    y === undefined ? '' : `y:${y}`,
    out === undefined ? '' : `out:${out ? 1 : 0}`,
    smooth === undefined ? '' : `s:${smooth}`,
    lo === undefined ? '' : `lo:${lo}`,
    hi === undefined ? '' : `hi:${hi}`,
  ].filter(Boolean);
  return parts.length > 0 ? `${card}=${parts.join(';')}` : null;
}

export function parseStyle(item: string): { card: string; style: CardStyle } {
  const at = item.lastIndexOf('=');
  const style: CardStyle = {};
  for (const part of item.slice(at + 1).split(';')) {
    const [name, value = ''] = part.split(/:(.*)/s);
    const number = value === '' ? Number.NaN : Number(value);
    if (name === 'y' && SCALES.includes(value as Scale)) style.y = value as Scale;
    else if (name === 'out' && (value === '0' || value === '1')) style.out = value === '1';
    else if (name === 's' && number >= 0 && number < 1) style.smooth = number;
    else if ((name === 'lo' || name === 'hi') && Number.isFinite(number)) style[name] = number;
  }
  return { card: item.slice(0, Math.max(0, at)), style };
}

export function styleOfCard(card: string): CardStyle {
  for (const item of cardStyles.value) {
    const found = parseStyle(item);
    if (found.card === card) return found.style;
  }
  return {};
}

export function setCardStyle(card: string, style: CardStyle): void {
  const rest = cardStyles.peek().filter((item) => parseStyle(item).card !== card);
  const item = styleItem(card, style);
  cardStyles.value = item ? [...rest, item] : rest;
}
