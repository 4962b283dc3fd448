/** The settings of all charts of the page. */

import { ToolSheet } from '../../controls/tool_sheet.tsx';
import { groupBy } from '../../runs/grouping.ts';
import { XAxis, YAxis } from './axis_controls.tsx';
import { KindFilter, TagFilter } from './card_filters.tsx';
import { GroupBy, GroupLegend } from './group_controls.tsx';
import { NewChart } from './new_chart.tsx';
import { ExportMenu, ViewMenu } from './page_menu.tsx';
import { ViewsMenu } from './saved_views.tsx';
import { SmoothingControl } from './smoothing_control.tsx';

export function Toolbar() {
  return (
    <>
      <Controls />
      {groupBy.value !== '' && <GroupLegend />}
    </>
  );
}

function Controls() {
  return (
    <div class="toolbar-room">
      <div class="toolbar" role="toolbar" aria-label="All charts">
        <TagFilter />
        <ToolSheet label="Tools of all charts">
          <KindFilter />
          <XAxis />
          <YAxis />
          <SmoothingControl />
          <GroupBy />
          <span class="toolbar-end">
            <NewChart />
            <ViewMenu />
            <ViewsMenu />
            <ExportMenu />
          </span>
        </ToolSheet>
      </div>
    </div>
  );
}
