/** Panels of Markdown that users put above the cards or below the heading of a folder. */
import { fileSize } from '../../units/bytes.ts';

export interface Panel {
  text: string;
  /** ABOVE, or the path of a folder. */
  place: string;
  /** Among the panels of its place. */
  order: number;
}

export type Panels = Record<string, Panel>;

/** The place above all cards. */
export const ABOVE = '*above';

export const MOST_BYTES = 64_000;
/** Of all panels: they are saved in one request. */
export const MOST_BYTES_OF_ALL = 900_000;

export interface NamedPanel extends Panel {
  id: string;
}

/** The panels of a saved document by place, in their order; what is not a panel is left out. */
export function panelsByPlace(document: Record<string, unknown>): Map<string, NamedPanel[]> {
  const found = new Map<string, NamedPanel[]>();
  for (const [id, value] of Object.entries(document)) {
    const { text, place, order } = (value ?? {}) as Partial<Record<keyof Panel, unknown>>;
    if (typeof text !== 'string' || typeof place !== 'string') continue;
    const panel = { id, text, place, order: typeof order === 'number' ? order : 0 };
    found.set(place, [...(found.get(place) ?? []), panel]);
  }
  for (const panels of found.values()) panels.sort((a, b) => a.order - b.order || (a.id < b.id ? -1 : 1));
  return found;
}

/** What is wrong with a panel's text; null: nothing. */
export function textError(document: Panels, id: string, text: string): string | null {
  const bytes = bytesOf(text);
  if (bytes > MOST_BYTES) {
    return `The text has ${bytes.toLocaleString('en')} bytes, more than the ${fileSize(MOST_BYTES)} of a panel.`;
  }
  let all = bytes;
  for (const [other, panel] of Object.entries(document)) if (other !== id) all += bytesOf(panel.text);
  if (all <= MOST_BYTES_OF_ALL) return null;
  return `All panels together have ${fileSize(all)}, more than ${fileSize(MOST_BYTES_OF_ALL)}.`;
}

export const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

/** The document with a panel's text changed; a new panel is the last of its place. */
export function withText(document: Panels, id: string, place: string, text: string): Panels {
  const old = Object.hasOwn(document, id) ? document[id] : undefined;
  if (old) return { ...document, [id]: { ...old, text } };
  const last = panelsByPlace(document).get(place)?.at(-1);
  return { ...document, [id]: { text, place, order: last ? last.order + 1 : 0 } };
}

export function without(document: Panels, id: string): Panels {
  const { [id]: _, ...rest } = document;
  return rest;
}

/** The document with a panel one place further up (-1) or down (1) among those of its place. */
export function moved(document: Panels, id: string, by: -1 | 1): Panels {
  const panels = panelsByPlace(document).get(document[id]?.place ?? '') ?? [];
  const from = panels.findIndex((panel) => panel.id === id);
  const to = from + by;
  if (from < 0 || to < 0 || to >= panels.length) return document;
  const order = panels.map((panel) => panel.id);
  [order[from], order[to]] = [order[to]!, order[from]!];
  const places = order.map((one, i) => [one, { ...document[one]!, order: i }]);
  return { ...document, ...Object.fromEntries(places) };
}
