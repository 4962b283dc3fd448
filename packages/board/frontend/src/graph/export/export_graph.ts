/** Exports the shown graph: SVG and PNG by the drawing code of the screen, DOT from the same boxes. */
import { signal } from '@preact/signals';
import { download } from '../../picture/download.ts';
import type { Stage } from '../canvas/stage.ts';
import { drawScene } from '../drawing/draw_scene.ts';
import type { DrawJob, Surface } from '../drawing/surface.ts';
import { SvgSurface } from '../drawing/svg_surface.ts';
import { verticesOf } from '../model/view_state.ts';
import type { Session } from '../session/session.ts';
import { dotText } from './dot_text.ts';

const MARGIN = 24;
// Limits of canvases: some browsers return no picture beyond these.
const LONGEST_PX = 12_000;
const MOST_PX = 36e6;
const SLICE_MS = 12;

/** A note about the last export; "" without one. */
export const exportNote = signal('');

function wholeScene(session: Session, stage: Stage, k: number): DrawJob | null {
  const indexed = session.scene.peek();
  if (!indexed) return null;
  const { width, height } = indexed.scene;
  return {
    ...stage.content,
    indexed,
    camera: { x: -MARGIN, y: -MARGIN, k },
    width: (width + 2 * MARGIN) * k,
    height: (height + 2 * MARGIN) * k,
    ratio: 1,
    emphasis: stage.emphasis,
  };
}

/** Draws in time slices, so that the page stays responsive. */
async function drawWhole(surface: Surface, job: DrawJob): Promise<void> {
  let since = performance.now();
  for (const _ of drawScene(surface, job)) {
    if (performance.now() - since < SLICE_MS) continue;
    await new Promise((resolve) => setTimeout(resolve));
    since = performance.now();
  }
}

export async function saveSvg(session: Session, stage: Stage): Promise<void> {
  const job = wholeScene(session, stage, 1);
  if (!job) return;
  const surface = new SvgSurface();
  await drawWhole(surface, job);
  exportNote.value = '';
  const text = surface.text(job.width, job.height);
  download(`${nameOf(session)}.svg`, text, 'image/svg+xml');
}

/** The scale at which a picture is saved: twice the size on the screen, or what a canvas can hold. */
export function pngScale(width: number, height: number): number {
  return Math.min(2, LONGEST_PX / Math.max(width, height), Math.sqrt(MOST_PX / (width * height)));
}

export async function savePng(session: Session, stage: Stage): Promise<void> {
  const indexed = session.scene.peek();
  if (!indexed) return;
  const k = pngScale(indexed.scene.width + 2 * MARGIN, indexed.scene.height + 2 * MARGIN);
  const job = wholeScene(session, stage, k);
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d');
  if (!job || !context) return;
  canvas.width = Math.ceil(job.width);
  canvas.height = Math.ceil(job.height);
  await drawWhole(context, job);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve));
  if (!blob) {
    exportNote.value = `The browser cannot make a PNG of ${canvas.width} × ${canvas.height} pixels. SVG has no such limit.`;
    return;
  }
  exportNote.value =
    k < 1
      ? `The PNG is at ${Number((100 * k).toPrecision(2))} % of full size. SVG keeps every word readable.`
      : '';
  download(`${nameOf(session)}.png`, blob);
}

export function saveDot(session: Session, stage: Stage): void {
  const indexed = session.scene.peek();
  const { paint } = stage.content;
  if (!indexed) return;
  const text = dotText({
    model: session.model,
    view: session.shownView,
    scene: indexed.scene,
    title: session.entry.title,
    label: (item) => session.label(item),
    style: (item) => paint.style(item),
    members: (item) => verticesOf(session.model, indexed.pulled, item).length,
  });
  exportNote.value = '';
  download(`${nameOf(session)}.dot`, text, 'text/vnd.graphviz');
}

const nameOf = (session: Session) => session.entry.title || 'graph';
