/** The worker that lays out views. */
import { decodeColumns } from '../../api/columns.ts';
import { type GraphHeader, GraphModel } from '../model/graph_model.ts';
import type { ViewState } from '../model/view_state.ts';
import { guessWidth, LABEL_FONT_PX } from './box_sizes.ts';
import { buildIndex, type SceneMessage } from './indexed_scene.ts';
import { buffersOf } from './scene.ts';
import { ViewLayout } from './view_layout.ts';

export type LayoutRequest =
  | { kind: 'load'; bundle: ArrayBuffer; font: string }
  | { kind: 'layout'; serial: number; view: ViewState };

let layout: ViewLayout | null = null;

self.addEventListener('message', ({ data }: MessageEvent<LayoutRequest>) => {
  if (data.kind === 'load') {
    layout = new ViewLayout(new GraphModel(decodeColumns<GraphHeader>(data.bundle)), measure(data.font));
    return;
  }
  if (!layout) return;
  const before = performance.now();
  const scene = layout.layout(data.view);
  const message: SceneMessage = {
    serial: data.serial,
    scene,
    itemIndex: buildIndex(scene.box, false),
    edgeIndex: buildIndex(scene.edgeBox, true),
    milliseconds: performance.now() - before,
  };
  const buffers = buffersOf(scene);
  for (const index of [message.itemIndex, message.edgeIndex]) if (index) buffers.push(index);
  (postMessage as (message: unknown, transfer: Transferable[]) => void)(message, buffers);
});

/** Returns: a function for widths of labels, as sums of character widths. Kerning changes less than a pixel. */
function measure(font: string): (text: string) => number {
  if (typeof OffscreenCanvas === 'undefined') return guessWidth;
  const context = new OffscreenCanvas(8, 8).getContext('2d');
  if (!context) return guessWidth;
  context.font = `${LABEL_FONT_PX}px ${font}`;
  const widths = new Map<string, number>();
  return (text) => {
    let sum = 0;
    for (const c of text) {
      let width = widths.get(c);
      if (width === undefined) {
        width = context.measureText(c).width;
        widths.set(c, width);
      }
      sum += width;
    }
    return sum;
  };
}
