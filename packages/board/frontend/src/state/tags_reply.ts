/** Decodes the server's list of tags and series. A log may have a hundred thousand: rows are views of columns. */
import type { Column, Columns } from '../api/columns.ts';
import type { Kind, Series, Tag } from '../api/types.ts';

export interface TagsReply {
  tags: Tag[];
  /** By run and tag. */
  series: Series[];
  gone: { tag: number[]; run: number[] };
  mark: string;
  whole: boolean;
}

export interface TagsHeader {
  names: string[];
  texts: string[];
  gone: { tag: number[]; run: number[] };
  mark: string;
  whole: boolean;
}

type Figures = Record<
  | 'tag'
  | 'run'
  | 'n'
  | 'first_step'
  | 'last_step'
  | 'first_wall'
  | 'last_wall'
  | 'last'
  | 'min'
  | 'max'
  | 'nan',
  Column
>;

/** A row of the columns of one reply, which it keeps. */
class SeriesRow implements Series {
  readonly tag: number;
  readonly run: number;
  readonly #of: Figures;
  readonly #at: number;

  constructor(of: Figures, at: number) {
    this.tag = Number(of.tag[at]);
    this.run = Number(of.run[at]);
    this.#of = of;
    this.#at = at;
  }
  get n() {
    return Number(this.#of.n[this.#at]);
  }
  get firstStep() {
    return Number(this.#of.first_step[this.#at]);
  }
  get lastStep() {
    return Number(this.#of.last_step[this.#at]);
  }
  get firstWall() {
    return Number(this.#of.first_wall[this.#at]);
  }
  get lastWall() {
    return Number(this.#of.last_wall[this.#at]);
  }
  get last() {
    return Number(this.#of.last[this.#at]);
  }
  get min() {
    return Number(this.#of.min[this.#at]);
  }
  get max() {
    return Number(this.#of.max[this.#at]);
  }
  get nan() {
    return Number(this.#of.nan[this.#at]);
  }
}

export function tagsReplyOf({ header, columns }: Columns<TagsHeader>): TagsReply {
  const { names, texts, gone, mark, whole } = header;
  const text = (what: string, i: number) => texts[Number(columns[`tag_${what}`]![i])]!;
  const ids = columns.tag_id!;
  const tags = names.map((name, i) => ({
    id: Number(ids[i]),
    name,
    kind: text('kind', i) as Kind,
    plugin: text('plugin', i),
    display: text('display', i),
    description: text('description', i),
  }));
  const figures = columns as Figures;
  const series = Array.from({ length: figures.tag.length }, (_, i) => new SeriesRow(figures, i));
  return { tags, series, gone, mark, whole };
}
