/** How many problems a run has, with the way to them, in the panel of details. */

import type { Run } from '../api/types.ts';
import { addInspectorPart } from '../inspector/inspector.tsx';
import { problems } from '../state/catalogue.ts';
import { fileSize } from '../units/bytes.ts';
import { counted } from '../units/numbers.ts';
import { lossesByRun } from './losses.ts';
import { showProblemsOf } from './problems_view.ts';

function RunProblems({ run }: { run: Run }) {
  const mine = problems.value.filter((problem) => problem.run === run.id);
  if (mine.length === 0) return null;
  const serious = mine.filter(({ severity }) => severity !== 'note').length;
  const lost = lossesByRun(mine)[0];
  return (
    <p class="run-problems">
      <button type="button" onClick={() => showProblemsOf(run.name)}>
        {serious > 0 ? counted(serious, 'problem') : counted(mine.length, 'note')}
      </button>
      {lost && <span class="faint"> {fileSize(lost.bytes)} could not be read</span>}
    </p>
  );
}

addInspectorPart({ id: 'problems', Run: RunProblems });
