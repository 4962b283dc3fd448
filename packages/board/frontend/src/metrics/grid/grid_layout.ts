/** The place of each heading and card of the Metrics page; only items in sight are in the document. */

export interface GridCard {
  id: string;
  large: boolean;
  height: number;
  tall: number;
  /** Cards of different kinds share a row only where their section has no other. */
  row: string;
}

/** A panel of text, as wide as the page. */
export interface GridPanel {
  id: string;
  height: number;
}

export interface GridSection {
  path: string;
  shut: boolean;
  /** Between the heading and the cards. */
  panels?: GridPanel[];
  cards: GridCard[];
}

export interface Placed {
  kind: 'heading' | 'card' | 'panel';
  id: string;
  /** Of the section that it belongs to; -1: above all sections. */
  section: number;
  /** Of a card or panel: its place in the section. */
  index: number;
  x: number;
  y: number;
  width: number;
  height: number;
  /** Of a heading: there are others beside it. */
  shared: boolean;
}

export const HEADING_HEIGHT = 34;
export const GAP = 10;

export interface GridLayout {
  items: Placed[];
  height: number;
  columns: number;
}

/** Short sections that follow each other, side by side. */
interface Band {
  sections: { section: GridSection; index: number; column: number }[];
  used: number;
}

/** A section that leaves room beside it: its cards are alike, and fewer than the columns. */
function isShort({ shut, panels = [], cards }: GridSection, columns: number): boolean {
  return (
    !shut &&
    panels.length === 0 &&
    cards.length > 0 &&
    cards.length < columns &&
    cards.every((card) => !card.large && card.row === cards[0]!.row)
  );
}

/** Lays out panels above all, and sections of cards in as many equal columns as fit; short sections share a row. */
export function layOut(
  sections: GridSection[],
  width: number,
  leastWidth: number,
  above: GridPanel[] = [],
): GridLayout {
  const columns = Math.max(1, Math.floor((width + GAP) / (leastWidth + GAP)));
  const cardWidth = Math.floor((width - GAP * (columns - 1)) / columns);
  const items: Placed[] = [];
  let y = placePanels(items, above, -1, above.length > 0 ? GAP : 0, width);
  let band: Band = { sections: [], used: 0 };
  const endBand = () => {
    const shared = band.sections.length > 1;
    for (const { section, index, column } of band.sections) {
      const x = column * (cardWidth + GAP);
      const across = shared ? section.cards.length * (cardWidth + GAP) - GAP : width;
      items.push(placedHeading(section.path, index, x, y, across, shared));
    }
    let tallest = 0;
    for (const { section, index, column } of band.sections) {
      section.cards.forEach(({ id, height }, i) => {
        const x = (column + i) * (cardWidth + GAP);
        items.push({
          kind: 'card',
          id,
          section: index,
          index: i,
          x,
          y: y + HEADING_HEIGHT,
          width: cardWidth,
          height,
          shared: false,
        });
        tallest = Math.max(tallest, height);
      });
    }
    if (band.sections.length > 0) y += HEADING_HEIGHT + tallest + GAP + 4;
    band = { sections: [], used: 0 };
  };
  sections.forEach((section, index) => {
    if (isShort(section, columns)) {
      if (band.used + section.cards.length > columns) endBand();
      band.sections.push({ section, index, column: band.used });
      band.used += section.cards.length;
      return;
    }
    endBand();
    y = placeSection(items, section, index, y, { columns, cardWidth, width });
  });
  endBand();
  return { items, height: y, columns };
}

function placedHeading(
  id: string,
  section: number,
  x: number,
  y: number,
  width: number,
  shared: boolean,
): Placed {
  return { kind: 'heading', id, section, index: -1, x, y, width, height: HEADING_HEIGHT, shared };
}

/** Places panels below each other. Returns: where what follows begins. */
function placePanels(
  items: Placed[],
  panels: GridPanel[],
  section: number,
  top: number,
  width: number,
): number {
  let y = top;
  panels.forEach(({ id, height }, index) => {
    items.push({ kind: 'panel', id, section, index, x: 0, y, width, height, shared: false });
    y += height + GAP;
  });
  return y;
}

/** Places a section in rows of its own. Returns: where the next one begins. */
function placeSection(
  items: Placed[],
  section: GridSection,
  index: number,
  top: number,
  { columns, cardWidth, width }: { columns: number; cardWidth: number; width: number },
): number {
  let y = top;
  items.push(placedHeading(section.path, index, 0, y, width, false));
  y += HEADING_HEIGHT;
  if (section.shut) return y;
  y = placePanels(items, section.panels ?? [], index, y, width);
  const isOneRow = section.cards.length <= columns;
  let column = 0;
  let rowHeight = 0;
  let row = '';
  const endRow = () => {
    if (column > 0) y += rowHeight + GAP;
    column = 0;
    rowHeight = 0;
  };
  section.cards.forEach((card, i) => {
    if ((card.row !== row && !isOneRow) || card.large) endRow();
    row = card.row;
    const height = card.large ? card.tall : card.height;
    items.push({
      kind: 'card',
      id: card.id,
      section: index,
      index: i,
      x: card.large ? 0 : column * (cardWidth + GAP),
      y,
      width: card.large ? width : cardWidth,
      height,
      shared: false,
    });
    rowHeight = Math.max(rowHeight, height);
    column += card.large ? columns : 1;
    if (column >= columns) endRow();
  });
  endRow();
  return section.cards.length > 0 ? y + 4 : y;
}

/** The items that touch the stretch from top to bottom; items are in order of y. */
export function inSight({ items }: GridLayout, top: number, bottom: number): Placed[] {
  let low = 0;
  let high = items.length;
  // Rows differ in height, so an item may reach further down than a later one: go back a little.
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items[middle]!.y < top) low = middle + 1;
    else high = middle;
  }
  const found: Placed[] = [];
  for (let i = Math.max(0, low - 60); i < items.length && items[i]!.y < bottom; i++) {
    if (items[i]!.y + items[i]!.height > top) found.push(items[i]!);
  }
  return found;
}
