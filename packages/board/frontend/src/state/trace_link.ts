/** The way from other pages to the Trace page: the address field that they set before they go there. */
import { batch, signal } from '@preact/signals';
import { text } from '../address/url_codec.ts';
import { goTo, urlSignal } from '../address/url_state.ts';
import { selectedNode } from './selection.ts';

/** The name of the run whose steps the Trace page shows; "" is the first run with a trace. */
export const traceRun = urlSignal<string>('trun', text, '');

/** Grows when another page has requested the slices of a node. */
export const sliceRequests = signal(0);

/** Goes to the slices of a node in the steps of a run; null keeps the run that the Trace page shows. */
export function showSlicesOfNode(run: string | null, node: string): void {
  goTo('trace');
  batch(() => {
    if (run !== null) traceRun.value = run;
    selectedNode.value = node;
    sliceRequests.value++;
  });
}
