/** The queries for what each run's values did over a range of steps. */
import type { Run } from '../api/types.ts';
import type { CurveQuery } from './curves/curve_loader.ts';
import { queryOf } from './curves/scalar_query.ts';
import type { CurvePart } from './settings/curve_part.ts';

const BY_STEP = { x: 'step', axis: 'step', unit: 'step', name: 'step', log: false, smooth: null } as const;

/** For one column of pixels the server sends the first, last, least and greatest values: all that is needed. */
export const rangeQueries = (
  parts: CurvePart[],
  runs: Run[],
  steps: { lo: number | null; hi: number | null } | null,
): CurveQuery[] =>
  parts.map((part) => ({
    ...queryOf(part, runs, null, BY_STEP, null, 1),
    lo: steps?.lo ?? null,
    hi: steps?.hi ?? null,
    superseded: false,
  }));
