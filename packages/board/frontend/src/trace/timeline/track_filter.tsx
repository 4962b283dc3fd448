/** How many slices and lanes there are, and which lanes are shown. */
import { count, counted } from '../../units/numbers.ts';
import { hiddenLanes, laneFilter } from '../address/address_fields.ts';
import { leftOut, mainTrace } from '../state/trace_state.ts';

export function Corner() {
  const header = mainTrace.value?.header.value;
  if (!header) return <div class="trace-corner" />;
  const lanes = header.lane_count ?? header.lanes.length;
  const { byHand, seen, all } = leftOut.value;
  const some = seen < all && (byHand > 0 || laneFilter.value !== '');
  return (
    <div class="trace-corner">
      <span>{count(header.slices)} slices</span>
      <span class="faint" role="status">
        {some ? `${seen} of ` : ''}
        {counted(lanes, 'lane')}
        {all < lanes && `, ${count(all)} listed`}
        {byHand > 0 && (
          <button
            type="button"
            class="trace-inline"
            onClick={() => {
              hiddenLanes.value = [];
            }}
          >
            Show {byHand} hidden
          </button>
        )}
      </span>
      {(all > 1 || laneFilter.value !== '') && (
        <input
          type="search"
          class="trace-lane-filter"
          placeholder="Filter lanes"
          aria-label="Show only lanes whose title has this text"
          value={laneFilter.value}
          onInput={(event) => {
            laneFilter.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') laneFilter.value = '';
          }}
        />
      )}
    </div>
  );
}
