/** What a report contains, apart from how it is written. */

export interface Report {
  title: string;
  folder: string;
  /** When it was made, in words. */
  made: string;
  /** Settings of the view: their names and values. */
  settings: [name: string, value: string][];
  /** Markdown above the sections. */
  panels: string[];
  sections: ReportSection[];
  leftOut: LeftOut[];
}

export interface ReportSection {
  title: string;
  /** Markdown. */
  panels: string[];
  cards: ReportCard[];
}

export interface ReportCard {
  title: string;
  /** What is said below the title. */
  notes: string[];
  content: ChartContent | ImageContent | TextContent;
}

export interface ChartContent {
  kind: 'chart';
  /** An SVG element; null: there is nothing to draw. */
  svg: string | null;
  /** The names of the curves, where the table does not name them. */
  legend: Line[];
  values: ValueRow[];
  /** Of which steps, in words. */
  steps: string;
}

/** A line of a legend. */
export interface Line {
  name: string;
  colour: string;
  dash: number[];
}

/** The unsmoothed values of a run. */
export interface ValueRow {
  name: string;
  /** Of its curve; null: averages are drawn and not the runs. */
  line: Line | null;
  last: number;
  /** The step of the last value. */
  at: number;
  min: number;
  max: number;
}

export interface ImageContent {
  kind: 'images';
  images: ReportImage[];
}

export interface ReportImage {
  run: string;
  /** Its step and, of several images, its number. */
  place: string;
  /** A data URI. */
  source: string;
  width: number;
  height: number;
}

export interface TextContent {
  kind: 'texts';
  texts: { run: string; place: string; text: string }[];
}

export interface LeftOut {
  what: string;
  why: string;
}
