/**
 * The contract between the Metrics page and the kinds of cards: what a card is given, and what a kind declares.
 * The frame (card_frame.tsx) draws title, pin, enlarge and menu; a body adds to them with `useCardFrame`.
 */
import type { ComponentType } from 'preact';
import type { Kind, Run, Tag } from '../api/types.ts';

export interface CardSpec {
  /** Lasts over reloads: kind, tag name and, for cards of one run, the run's name. */
  id: string;
  kind: Kind;
  tag: Tag;
  /** Further tags drawn on the same (scalar) chart. */
  overlays: Tag[];
  /** The run of a card of one run; null where the card shows all visible runs. */
  run: Run | null;
  /** A chart that the user defined (custom_charts.ts): its text, its tags, and how many a pattern matches. */
  custom?: { text: string; kind: 'pattern' | 'expression'; tags: Tag[]; count: number };
}

export interface CardProps {
  card: CardSpec;
  tag: Tag;
  /** Those that are shown and have the tag, in the order of the run table; one for a card of one run. */
  runs: Run[];
  /** The card is as wide as the page. */
  large: boolean;
  /** Of the card's body in CSS pixels; a body may be higher: its row grows with it. */
  width: number;
  height: number;
}

export interface CardKind {
  kind: Kind;
  /** One card for a tag, with all visible runs in it, or one card for each of them. */
  per: 'tag' | 'run';
  /** Height of the body in CSS pixels at normal size and as wide as the page. */
  height: number;
  tall: number;
  /** The tag as its card shows it; null: this tag has no card, since that of another shows it. */
  tagOf?: (tag: Tag) => Tag | null;
  load: () => Promise<{ default: ComponentType<CardProps> }>;
}

/** Height of the title bar and borders of a card. */
export const FRAME_HEIGHT = 34;
/** Width of its borders. */
export const FRAME_WIDTH = 2;

/** The id of a tag that the page made and no log has. */
export const NO_TAG = -1;

/** Whether the card shows a tag of a log, and not a chart or layout that the user made. */
export const isLogged = (card: CardSpec): boolean => !card.custom && card.tag.id !== NO_TAG;

/** Whether the card's tags may be dropped on another chart: an expression has none. */
export const canBeDropped = (card: CardSpec): boolean =>
  card.kind === 'scalar' && card.custom?.kind !== 'expression';
