/** The menu items of a card of precision-recall curves: its points and its picture. */
import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import { useCardFrame } from '../cards/card_frame.tsx';
import { csvCell, download, downloadCanvas } from '../picture/download.ts';
import { paletteNow } from '../picture/palette.ts';
import { SvgSurface } from '../picture/surface.ts';
import { drawCurves } from './pr_curve_draw.ts';
import { curveKind, type RunCurve, threshold } from './pr_view.ts';

export function usePrMenu(
  tag: string,
  curves: RunCurve[],
  width: number,
  height: number,
  root: RefObject<HTMLElement | null>,
): void {
  const frame = useCardFrame();
  const palette = paletteNow();
  const look = { kind: curveKind.value, width, height, threshold: threshold.value };
  useEffect(() => {
    frame.setMenu([
      { text: 'Save points as CSV', run: () => download(`${tag}.csv`, curvesCsv(curves), 'text/csv') },
      {
        text: 'Save picture as SVG',
        run: () => {
          const svg = new SvgSurface(width, height);
          drawCurves(svg, curves, look, palette);
          download(`${tag}.svg`, String(svg), 'image/svg+xml');
        },
      },
      {
        text: 'Save picture as PNG',
        run: () => downloadCanvas(`${tag}.png`, root.current!.querySelector('canvas')!),
      },
    ]);
  }, [curves, look.kind, width, height, palette.surface, look.threshold]);
}

function curvesCsv(curves: RunCurve[]): string {
  const lines = ['run,step,threshold,tp,fp,tn,fn,precision,recall'];
  for (const { run, table, points } of curves) {
    for (const p of points) {
      const cells = [p.threshold, p.tp, p.fp, p.tn, p.fn, p.precision, p.recall];
      lines.push([csvCell(run.name), table.step, ...cells].join(','));
    }
  }
  return `${lines.join('\n')}\n`;
}
