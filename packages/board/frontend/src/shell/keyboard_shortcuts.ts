/** The keys of every page, in one place: "?" shows them. */
import { signal } from '@preact/signals';

export interface KeyTable {
  title: string;
  /** The page on which they hold; everywhere without. */
  page?: string;
  /** Keys, joined by spaces, and what they do. */
  keys: [string, string][];
}

export const keysOpen = signal(false);

export const keyTables: KeyTable[] = [
  {
    title: 'Everywhere',
    keys: [
      ['Ctrl K', 'go to a page, tag, run or action'],
      ['Alt 1…6', 'the pages, in order'],
      ['Ctrl B', 'show or hide the runs'],
      ['?', 'this list'],
      ['Esc', 'close what is open'],
      ['← →', 'on a line between panels: move it'],
    ],
  },
  {
    title: 'Table of runs',
    keys: [
      ['↑ ↓ Home End', 'go through the rows'],
      ['Space', 'show or hide the run or the folder'],
      ['Enter', 'show only this'],
      ['← →', 'close, open a folder'],
      ['I', 'details of the run'],
    ],
  },
  {
    title: 'Metrics',
    page: 'metrics',
    keys: [
      ['/', 'filter the tags'],
      ['PageUp PageDown', 'scroll the cards'],
    ],
  },
  {
    title: 'A chart',
    page: 'metrics',
    keys: [
      ['← →', 'the point before, after'],
      ['↑ ↓', 'another run'],
      ['Space', 'keep the table of values'],
      ['Enter', 'put the step cursor here'],
      ['+ − 0', 'zoom in, out, all'],
      ['Esc', 'release'],
    ],
  },
  {
    title: 'Images',
    page: 'metrics',
    keys: [
      ['← →', 'the step before, after'],
      ['Home End', 'the first, the last step'],
      ['[ ]', 'the sample before, after'],
      ['+ − 0 1', 'zoom in, out, fit, pixel by pixel'],
    ],
  },
  {
    title: 'Graph',
    page: 'graph',
    keys: [
      ['← → ↑ ↓', 'to the neighbours'],
      ['Enter Space', 'open or close the group'],
      ['F', 'fit, or centre what is selected'],
      ['+ −', 'zoom'],
      ['/', 'search for a node'],
      ['Esc', 'clear the selection'],
    ],
  },
  {
    title: 'Trace',
    page: 'trace',
    keys: [
      ['W S', 'zoom'],
      ['A D', 'pan'],
      ['F', 'fit'],
      ['M', 'mark'],
      ['← → ↑ ↓', 'the slices around'],
      ['Shift arrows', 'select an area'],
      ['C', 'critical path'],
      ['[ ]', 'the step before, after'],
      ['/', 'search; Enter goes to the next'],
      ['Esc', 'release'],
    ],
  },
  {
    title: 'Projector and meshes',
    page: 'projector',
    keys: [
      ['← → ↑ ↓', 'turn; with Shift move'],
      ['+ − 0', 'zoom in, out, all'],
      ['[ ]', 'the point before, after'],
      ['B', 'draw boxes that select'],
      ['Esc', 'clear the selection'],
    ],
  },
];
