/** A run's colour and name, its escaped text cut in the middle by the style sheet. */
import type { Run } from '../api/types.ts';
import { runColour } from '../runs/colours.ts';
import { safeText } from '../shell/safe_text.ts';

export function RunName({ run }: { run: Run }) {
  return (
    <span class="run-name" title={safeText(run.name, 500)}>
      <span class="swatch" style={{ background: runColour(run) }} aria-hidden="true" />
      {safeText(run.name, 200)}
    </span>
  );
}
