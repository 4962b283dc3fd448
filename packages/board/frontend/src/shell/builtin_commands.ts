/** The commands of the frame: pages, themes, runs, tags. */

import { goTo } from '../address/url_state.ts';
import type { Kind, Tag } from '../api/types.ts';
import { tagFilter } from '../metrics/grid/grid_address.ts';
import { listedRuns, showEveryRun, showOnly } from '../runs/visible_runs.ts';
import { tags } from '../state/catalogue.ts';
import { runTitle } from '../state/run_title.ts';
import { inspectedRun, inspectedTag, stepCursor, stepFrom, stepTo } from '../state/selection.ts';
import { theme } from '../style/theme.ts';
import { addCommands } from './command_palette.tsx';
import { keysOpen } from './keyboard_shortcuts.ts';
import { pages } from './pages.ts';
import { toggleRuns } from './panel_widths.ts';

addCommands(() =>
  pages.map((p, i) => ({ kind: 'page', text: p.title, hint: `Alt ${i + 1}`, run: () => goTo(p.id) })),
);
addCommands(() => [
  {
    kind: 'action',
    text: 'Show all keys',
    hint: '?',
    run: () => {
      keysOpen.value = true;
    },
  },
  ...(['auto', 'light', 'dark', 'contrast'] as const).map((name) => ({
    kind: 'action',
    text: `Theme: ${name === 'auto' ? 'as the system' : name === 'contrast' ? 'high contrast' : name}`,
    run: () => {
      theme.value = name;
    },
  })),
  {
    kind: 'action',
    text: 'Show or hide the runs',
    hint: 'Ctrl B',
    run: toggleRuns,
  },
  { kind: 'action', text: 'Show every run', run: showEveryRun },
  {
    kind: 'action',
    text: 'Clear the step cursor and selected steps',
    run: () => {
      stepCursor.value = null;
      stepFrom.value = null;
      stepTo.value = null;
    },
  },
  {
    kind: 'action',
    text: 'Clear the filter of tags',
    run: () => {
      tagFilter.value = '';
    },
  },
]);
addCommands(() =>
  tags.value.map((tag) => ({
    kind: tag.kind === 'scalar' ? 'tag' : tag.kind.replace('_', ' '),
    text: tag.name,
    run: () => showTag(tag),
  })),
);

/** Graphs, traces and hyperparameters have pages of their own; all else is a card. */
const PAGE_OF: Partial<Record<Kind, string>> = { graph: 'graph', run_metadata: 'trace', hparams: 'hparams' };

function showTag(tag: Tag): void {
  const own = PAGE_OF[tag.kind];
  goTo(own ?? 'metrics');
  if (own) return;
  tagFilter.value = `^${tag.name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}$`;
  inspectedTag.value = tag.id;
  inspectedRun.value = null;
}

addCommands(() =>
  listedRuns.value.map((run) => ({
    kind: 'run',
    text: runTitle(run.name),
    run: () => {
      inspectedRun.value = run.id;
      inspectedTag.value = null;
    },
  })),
);
addCommands(() =>
  listedRuns.value.map((run) => ({
    kind: 'only',
    text: `Only ${runTitle(run.name)}`,
    run: () => showOnly([run.name]),
  })),
);
