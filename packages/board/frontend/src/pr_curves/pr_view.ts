/** The curve of each run at a step, and the threshold that all cards of precision-recall curves share. */
import { useMemo } from 'preact/hooks';
import { choice, number } from '../address/url_codec.ts';
import { urlSignal } from '../address/url_state.ts';
import type { Run } from '../api/types.ts';
import { nearestIndex } from '../cards/card_choice.ts';
import { runColour } from '../runs/colours.ts';
import { type Point, type PrTable, pointsOf } from './pr_curve.ts';
import type { CurveKind } from './pr_curve_draw.ts';

export const curveKind = urlSignal<CurveKind>('pr', choice<CurveKind>('pr', 'roc'), 'pr');
/** The threshold that is read out, on all cards. */
export const threshold = urlSignal('threshold', number, 0.5);

export interface RunCurve {
  run: Run;
  table: PrTable;
  points: Point[];
  colour: string;
}

/** The curve of each run at its step nearest to one. */
export function useRunCurves(
  runs: Run[],
  tables: ReadonlyMap<number, PrTable[]>,
  step: number | null,
): RunCurve[] {
  return useMemo(() => {
    if (step === null) return [];
    return runs.flatMap((run) => {
      const list = tables.get(run.id) ?? [];
      const steps = list.map((table) => table.step);
      const table = list[nearestIndex(steps, step)];
      return table ? [{ run, table, points: pointsOf(table), colour: runColour(run) }] : [];
    });
  }, [tables, step, runs.map((run) => `${run.id} ${runColour(run)}`).join()]);
}
