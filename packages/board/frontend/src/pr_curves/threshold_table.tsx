/** What each run reaches at the threshold that is read out, and over all thresholds. */
import { RunName } from '../runs/run_name.tsx';
import { prefixedNumber } from '../units/numbers.ts';
import { areaUnderRoc, averagePrecision, bestF1 } from './pr_curve.ts';
import { type RunCurve, threshold } from './pr_view.ts';

interface Props {
  curves: RunCurve[];
  /** A run whose nearest step is another one shows it. */
  step: number | null;
  height: number;
}

export function ThresholdTable({ curves, step, height }: Props) {
  const ratio = (value: number) => (Number.isNaN(value) ? '–' : value.toFixed(3));
  return (
    <div class="pr-table" style={{ height: `${height}px` }}>
      <table>
        <thead>
          <tr>
            <th scope="col">run</th>
            <th scope="col" title="Precision at the threshold">
              prec.
            </th>
            <th scope="col" title="Recall at the threshold">
              recall
            </th>
            <th scope="col" title="F1 at the threshold; point at a value for the best">
              F1
            </th>
            <th scope="col" title="Average precision">
              AP
            </th>
            <th scope="col" title="Area under the ROC curve">
              AUC
            </th>
          </tr>
        </thead>
        <tbody>
          {curves.map(({ run, points, table }) => {
            const at = points[Math.round(threshold.value * (points.length - 1))];
            const best = bestF1(points);
            if (!at) return null;
            return (
              <tr
                key={run.id}
                title={`tp ${prefixedNumber(at.tp)}, fp ${prefixedNumber(at.fp)}, tn ${prefixedNumber(at.tn)}, fn ${prefixedNumber(at.fn)}`}
              >
                <th scope="row">
                  <RunName run={run} />
                  {table.step !== step && <span class="faint"> {table.step}</span>}
                </th>
                <td>{ratio(at.precision)}</td>
                <td>{ratio(at.recall)}</td>
                <td title={best ? `best ${best.f1.toFixed(3)} at ${best.threshold.toFixed(3)}` : ''}>
                  {ratio(at.f1)}
                </td>
                <td>{ratio(averagePrecision(points))}</td>
                <td>{ratio(areaUnderRoc(points))}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
