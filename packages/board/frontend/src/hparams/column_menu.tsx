/** Which columns are shown. */

import { PopUp } from '../controls/pop_up.tsx';
import { safeText } from '../strings/safe_text.ts';
import { hiddenColumns, table } from './hparams_view.ts';

export function ColumnMenu() {
  const hidden = hiddenColumns.value;
  const { columns } = table.value;
  return (
    <PopUp
      label={`columns ${columns.length - columns.filter((c) => hidden.includes(c.id)).length} of ${columns.length}`}
    >
      <fieldset class="column-menu">
        <legend class="hidden-for-the-eye">Columns</legend>
        {columns.map((column) => (
          <label key={column.id}>
            <input
              type="checkbox"
              checked={!hidden.includes(column.id)}
              onChange={(event) => {
                hiddenColumns.value = event.currentTarget.checked
                  ? hidden.filter((id) => id !== column.id)
                  : [...hidden, column.id].sort();
              }}
            />
            {safeText(column.title, 60)} <span class="faint">{column.role === 'metric' ? 'metric' : ''}</span>
          </label>
        ))}
      </fieldset>
    </PopUp>
  );
}
