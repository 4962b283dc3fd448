/** How runs are grouped: by what, whether a middle or every run is drawn, and which colour is which group. */

import { DashSwatch } from '../../controls/dash_swatch.tsx';
import { chosenGroups, groupColour } from '../../runs/group_colours.ts';
import { groupBy, groupCenter } from '../../runs/grouping.ts';
import { groupError } from '../../runs/run_groups.ts';
import { visibleRuns } from '../../runs/visible_runs.ts';
import { groupBand } from '../../scalars/settings/chart_settings.ts';
import { hparams } from '../../state/hparams.ts';
import { safeText } from '../../strings/safe_text.ts';

const MOST_NAMED = 24;

/** Which colour is which group. */
export function GroupLegend() {
  const groups = chosenGroups(visibleRuns.value) ?? [];
  const wrong = groupError(groupBy.value);
  if (wrong !== null)
    return (
      <p class="group-legend wrong" role="alert">
        The pattern of the groups is not valid: {wrong}
      </p>
    );
  return (
    <ul class="group-legend" aria-label="Groups">
      {groups.slice(0, MOST_NAMED).map((group) => (
        <li key={group.title}>
          <DashSwatch colour={groupColour(group.title)} dash={[]} />
          {safeText(group.title, 60)} <span class="faint">{group.runs.length}</span>
        </li>
      ))}
      {groups.length > MOST_NAMED && <li class="faint">and {groups.length - MOST_NAMED} more</li>}
    </ul>
  );
}

export function GroupBy() {
  const by = groupBy.value;
  const kind = by === '' || by === 'folder' || by === 'all' || by.startsWith('hp:') ? by : 're';
  return (
    <span class="field">
      <label>
        <span>group</span>
        <select
          aria-label="Group runs"
          class="narrow"
          value={kind}
          onChange={(event) => {
            const chosen = event.currentTarget.value;
            groupBy.value = chosen === 're' ? 're:^(.*?)[_-]?\\d*$' : chosen;
          }}
        >
          <option value="">none</option>
          <option value="folder">folder</option>
          <option value="all">all runs</option>
          <option value="re">pattern…</option>
          {hparams.value.params.map((parameter) => (
            <option key={parameter.name} value={`hp:${parameter.name}`}>
              {safeText(parameter.display || parameter.name, 80)}
            </option>
          ))}
        </select>
      </label>
      {kind === 're' && (
        <input
          class="pattern"
          aria-label="Pattern of the groups"
          aria-invalid={groupError(by) !== null}
          spellcheck={false}
          value={by.slice(3)}
          onInput={(event) => {
            groupBy.value = `re:${event.currentTarget.value}`;
          }}
        />
      )}
      {by !== '' && (
        <select
          aria-label="Average of a group"
          title="One line per group, or every run in the colour of its group"
          value={groupCenter.value}
          onChange={(event) => {
            groupCenter.value = event.currentTarget.value as typeof groupCenter.value;
          }}
        >
          <option value="mean">mean</option>
          <option value="median">median</option>
          <option value="each">each run</option>
        </select>
      )}
      {by !== '' && groupCenter.value !== 'each' && (
        <select
          aria-label="Band of a group"
          value={groupBand.value}
          onChange={(event) => {
            groupBand.value = event.currentTarget.value as typeof groupBand.value;
          }}
        >
          <option value="std">± std</option>
          <option value="se">± s.e.</option>
          <option value="minmax">min–max</option>
          <option value="iqr">quartiles</option>
          <option value="none">no band</option>
        </select>
      )}
    </span>
  );
}
