/** What a histogram canvas shows, as a table for screen readers. */
import { prefixedNumber } from '../units/numbers.ts';
import type { Layer } from './histogram_scene.ts';

const MOST = 50;

export function TextAlternative({ name, layers }: { name: string; layers: Layer[] }) {
  return (
    <div class="hidden-for-the-eye">
      {layers.map(({ run, name: runName, table }) => {
        const every = Math.max(1, Math.ceil(table.rows / MOST));
        const rows = Array.from({ length: table.rows }, (_, row) => row).filter(
          (row) => row % every === 0 || row === table.rows - 1,
        );
        return (
          <table key={run}>
            <caption>
              {name}, run {runName}: {table.rows} of {table.total} steps
            </caption>
            <thead>
              <tr>
                <th scope="col">step</th>
                <th scope="col">values</th>
                <th scope="col">min</th>
                <th scope="col">median</th>
                <th scope="col">max</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row}>
                  <th scope="row">{table.steps[row]}</th>
                  <td>{prefixedNumber(table.sums[row]!)}</td>
                  <td>{prefixedNumber(table.percentiles[row * 9]!)}</td>
                  <td>{prefixedNumber(table.percentiles[row * 9 + 4]!)}</td>
                  <td>{prefixedNumber(table.percentiles[row * 9 + 8]!)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        );
      })}
    </div>
  );
}
