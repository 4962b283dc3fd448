/** Downloads of what is shown: SVG and PNG from the scene, DOT from the server. */
import { apiUrl } from '../api/client.ts';
import { type DrawJob, drawScene, type Inks } from './canvas/draw_scene.ts';
import { Paint } from './canvas/paint.ts';
import type { Stage } from './canvas/stage.ts';
import { SvgSurface } from './canvas/svg_surface.ts';
import type { Session } from './session.ts';

const MARGIN = 24;
const MOST_OPEN = 900; // groups named in an address
const MOST_PIXELS = 12_000;

function wholeScene(session: Session, stage: Stage, k: number, ratio: number): DrawJob | null {
  const indexed = session.scene.peek();
  if (!indexed || !stage.paint || !stage.inks) return null;
  const { width, height } = indexed.scene;
  return {
    model: session.model,
    indexed,
    paint: stage.paint,
    inks: stage.inks,
    camera: { x: -MARGIN, y: -MARGIN, k },
    width: (width + 2 * MARGIN) * k,
    height: (height + 2 * MARGIN) * k,
    ratio,
    emphasis: stage.emphasis,
    label: stage.label,
    textWidth: stage.textWidth,
  };
}

export function svgText(session: Session, stage: Stage): string {
  const job = wholeScene(session, stage, 1, 1);
  if (!job) return '';
  const surface = new SvgSurface();
  for (const _ of drawScene(surface, job));
  return surface.text(job.width, job.height);
}

export function saveSvg(session: Session, stage: Stage): void {
  save(new Blob([svgText(session, stage)], { type: 'image/svg+xml' }), `${fileName(session)}.svg`);
}

export function savePng(session: Session, stage: Stage): void {
  const indexed = session.scene.peek();
  if (!indexed) return;
  const longest = Math.max(indexed.scene.width, indexed.scene.height) + 2 * MARGIN;
  const k = Math.min(2, MOST_PIXELS / longest);
  const job = wholeScene(session, stage, k, 1);
  if (!job) return;
  const canvas = document.createElement('canvas');
  canvas.width = Math.ceil(job.width);
  canvas.height = Math.ceil(job.height);
  for (const _ of drawScene(canvas.getContext('2d')!, job));
  canvas.toBlob((blob) => blob && save(blob, `${fileName(session)}.png`));
}

export function dotUrl(session: Session): string {
  const view = session.view.peek();
  const { model } = session;
  const shown = [...view.open].filter((g) =>
    model.ancestors(g).every((a) => a === model.root || view.open.has(a)),
  );
  const all = Array.from({ length: model.total - model.root - 1 }, (_, i) => model.root + 1 + i);
  const open = (view.allOpen ? all : shown).slice(0, MOST_OPEN).join(',');
  return apiUrl(`graph/${session.entry.id}/export.dot`, { open });
}

export function fileName(session: Session): string {
  return session.entry.title.replace(/[^\w.-]+/g, '_').slice(0, 80) || 'graph';
}

function save(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export type { Inks };
export { Paint };
