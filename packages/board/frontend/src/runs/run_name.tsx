/** A run's colour and name, its escaped text cut in the middle by the style sheet. */
import type { Run } from '../api/types.ts';
import { Swatch } from '../controls/swatch.tsx';
import { runTitle } from '../state/run_title.ts';
import { safeText } from '../strings/safe_text.ts';
import { runColour } from './colours.ts';

export function RunName({ run }: { run: Run }) {
  return (
    <span class="run-name" title={safeText(runTitle(run.name), 500)}>
      <Swatch colour={runColour(run)} />
      {safeText(runTitle(run.name), 200)}
    </span>
  );
}
