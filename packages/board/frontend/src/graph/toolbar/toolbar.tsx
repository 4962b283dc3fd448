/** The toolbar of the Graph page: graph, search, colours, opened and hidden nodes, comparison, files. */

import { useRef } from 'preact/hooks';
import { ToolSheet } from '../../controls/tool_sheet.tsx';
import { isSmall } from '../../state/small_screen.ts';
import { safeText } from '../../strings/safe_text.ts';
import { count } from '../../units/numbers.ts';
import type { Stage } from '../canvas/stage.ts';
import { saveDot, savePng, saveSvg } from '../export/export_graph.ts';
import { chooseGraph, current, graphNamed, graphs, upload } from '../session/graph_list.ts';
import type { Session } from '../session/session.ts';
import { allCollapsed, allExpanded } from '../session/view_edits.ts';
import { detailsOpen } from '../view/details_drawer.ts';
import { ColourChoice, CompareChoice } from './colour_choice.tsx';
import { HideOps } from './hide_ops.tsx';
import { Popover } from './popover.tsx';
import { SearchBox } from './search_box.tsx';

interface ToolbarProps {
  session: Session | null;
  stage: { current: Stage | null };
  searchBox: { current: HTMLInputElement | null };
}

export function Toolbar({ session, stage, searchBox }: ToolbarProps) {
  const all = graphs.value ?? [];
  return (
    <div class="graph-bar" role="toolbar" aria-label="Graph">
      <label>
        <span class="g-bar-label">Graph</span>
        <select
          class="graph-choice"
          value={current.value?.key ?? ''}
          onChange={(event) => {
            const entry = graphNamed(all, event.currentTarget.value);
            if (entry) chooseGraph(entry);
          }}
        >
          {!current.value && <option value="">choose a graph</option>}
          {all.map((g) => (
            <option key={g.key} value={g.key}>
              {safeText(g.title)}
              {g.nodes === null ? '' : ` · ${count(g.nodes)} ops`}
            </option>
          ))}
        </select>
      </label>
      {session && <SearchBox key={session.entry.key} session={session} input={searchBox} />}
      <ToolSheet label="Tools of the graph">
        {session && <ColourChoice session={session} />}
        {session && (
          <span class="g-button-pair">
            <button
              type="button"
              onClick={() => session.apply(allCollapsed(session.model, session.view.peek()))}
            >
              Collapse all
            </button>
            <button
              type="button"
              onClick={() => session.apply(allExpanded(session.model, session.view.peek()))}
              disabled={session.view.value.allOpen}
            >
              Expand all
            </button>
          </span>
        )}
        {session && <HideOps session={session} />}
        {session && all.length > 1 && <CompareChoice session={session} />}
        <span class="grow" />
        <OpenFile />
        {session && (
          <Popover label="Export">
            <button
              type="button"
              class="quiet"
              onClick={() => stage.current && void saveSvg(session, stage.current)}
            >
              SVG
            </button>
            <button
              type="button"
              class="quiet"
              onClick={() => stage.current && void savePng(session, stage.current)}
            >
              PNG
            </button>
            <button
              type="button"
              class="quiet"
              onClick={() => stage.current && saveDot(session, stage.current)}
            >
              DOT
            </button>
          </Popover>
        )}
      </ToolSheet>
      {isSmall.value && session && (
        <button
          type="button"
          class="tool"
          aria-expanded={detailsOpen.value}
          onClick={() => (detailsOpen.value = true)}
        >
          Details
        </button>
      )}
    </div>
  );
}

function OpenFile() {
  const file = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        onClick={() => file.current?.click()}
        title=".pb, .pbtxt, SavedModel, .meta; or drop it here"
      >
        Open file…
      </button>
      <input
        ref={file}
        type="file"
        hidden
        accept=".pb,.pbtxt,.meta,.txt"
        aria-label="Graph file"
        onChange={(event) => {
          const chosen = event.currentTarget.files?.[0];
          if (chosen) void upload(chosen);
          event.currentTarget.value = '';
        }}
      />
    </>
  );
}
