/** What every page shares: the chosen runs, the step cursor, the selected node. */
import { signal } from '@preact/signals';
import { optionalNumber, text } from '../address/url_codec.ts';
import { urlSignal } from '../address/url_state.ts';
import { everyRun, type RunChoice, runChoiceCodec } from './run_choice.ts';

/** The runs that are chosen by their boxes; `visibleRuns` (runs/visible_runs.ts) also applies the query. */
export const runChoice = urlSignal<RunChoice>('runs', runChoiceCodec, everyRun);
/** The global step cursor: images, histograms, text and traces show what is nearest to it. */
export const stepCursor = urlSignal<number | null>('step', optionalNumber, null);
/** The range of steps that is selected on every chart. */
export const stepFrom = urlSignal<number | null>('from', optionalNumber, null);
export const stepTo = urlSignal<number | null>('to', optionalNumber, null);
/** The graph node that is selected on the Graph and the Trace page; "" is none. */
export const selectedNode = urlSignal<string>('node', text, '');
/** The run under the pointer, drawn above the others everywhere. */
export const hoveredRun = signal<number | null>(null);
/** The run and the tag that the inspector shows. */
export const inspectedRun = signal<number | null>(null);
export const inspectedTag = signal<number | null>(null);
