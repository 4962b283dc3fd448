/** How the address encodes which tags share a card's chart: `CARD=TAG`, or `CARD==TAG` on the right axis. */

export interface Overlay {
  card: string;
  tag: string;
  right: boolean;
}

const escaped = (text: string): string => text.replace(/[\\=]/g, '\\$&');

/** Names may hold any character: "=" and "\" have a "\" before them. */
export const overlayItem = ({ card, tag, right }: Overlay): string =>
  `${escaped(card)}=${right ? '=' : ''}${escaped(tag)}`;

export function parseOverlay(item: string): Overlay | null {
  const parts = [''];
  for (let i = 0; i < item.length; i++) {
    if (item[i] === '\\' && i + 1 < item.length) parts[parts.length - 1] += item[++i];
    else if (item[i] === '=') parts.push('');
    else parts[parts.length - 1] += item[i];
  }
  if (parts.length === 2) return { card: parts[0]!, tag: parts[1]!, right: false };
  if (parts.length === 3 && parts[1] === '') return { card: parts[0]!, tag: parts[2]!, right: true };
  return null;
}
