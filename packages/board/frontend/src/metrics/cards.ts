/**
 * The kinds of cards of the Metrics page. A card's code is fetched when one comes into view.
 * Title, pin, enlarge and menu are the frame's (card_frame.tsx); a body adds to them with `useCardFrame`.
 */
import type { ComponentType } from 'preact';
import type { Kind, Run, Tag } from '../api/types.ts';
import { meshTag } from '../mesh/mesh_tags.ts';

export interface CardSpec {
  /** Lasts over reloads: kind, tag name and, for cards of one run, the run's name. */
  id: string;
  kind: Kind;
  tag: Tag;
  /** Further tags drawn on the same (scalar) chart. */
  overlays: Tag[];
  /** The run of a card of one run; null where the card shows all visible runs. */
  run: Run | null;
  /** A chart that the user made (made_charts.ts): as it was written, its tags, and how many a pattern matches. */
  made?: { text: string; kind: 'pattern' | 'expression'; tags: Tag[]; count: number };
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

/** In the order in which kinds stand within a folder of tags. */
export const cardKinds: CardKind[] = [
  { kind: 'scalar', per: 'tag', height: 236, tall: 480, load: () => import('./scalar_card.tsx') },
  {
    kind: 'histogram',
    per: 'tag',
    height: 236,
    tall: 480,
    load: () => import('../histograms/histogram_card.tsx'),
  },
  { kind: 'image', per: 'tag', height: 300, tall: 620, load: () => import('../media/image_card.tsx') },
  { kind: 'audio', per: 'tag', height: 160, tall: 160, load: () => import('../media/audio_card.tsx') },
  { kind: 'text', per: 'tag', height: 240, tall: 480, load: () => import('../text/text_card.tsx') },
  {
    kind: 'pr_curve',
    per: 'tag',
    height: 300,
    tall: 520,
    load: () => import('../pr_curves/pr_curve_card.tsx'),
  },
  {
    kind: 'custom_scalars',
    per: 'tag',
    height: 280,
    tall: 280,
    load: () => import('../custom/custom_card.tsx'),
  },
  {
    kind: 'mesh',
    per: 'run',
    height: 320,
    tall: 620,
    tagOf: meshTag,
    load: () => import('../mesh/mesh_card.tsx'),
  },
  { kind: 'tensor', per: 'tag', height: 160, tall: 320, load: () => import('../tensors/tensor_card.tsx') },
];

export const kindOf = (kind: Kind): CardKind | undefined => cardKinds.find((k) => k.kind === kind);

/** Height of the title bar and borders of a card. */
export const FRAME_HEIGHT = 34;
/** Width of its borders. */
export const FRAME_WIDTH = 2;
