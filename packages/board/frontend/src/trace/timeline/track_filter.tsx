/** Counts of slices and tracks, and a filter for tracks. */
import { count, counted } from '../../units/numbers.ts';
import { hiddenTracks, trackFilter } from '../address/address_fields.ts';
import { leftOut, mainTrace } from '../state/trace_state.ts';

export function TrackFilter() {
  const header = mainTrace.value?.header.value;
  if (!header) return <div class="trace-corner" />;
  const tracks = header.lane_count ?? header.lanes.length;
  const { byHand, seen, all } = leftOut.value;
  const some = seen < all && (byHand > 0 || trackFilter.value !== '');
  return (
    <div class="trace-corner">
      <span>{count(header.slices)} slices</span>
      <span class="faint" role="status">
        {some ? `${seen} of ` : ''}
        {counted(tracks, 'track')}
        {all < tracks && `, ${count(all)} listed`}
        {byHand > 0 && (
          <button
            type="button"
            class="trace-inline"
            onClick={() => {
              hiddenTracks.value = [];
            }}
          >
            Show {byHand} hidden
          </button>
        )}
      </span>
      {(all > 1 || trackFilter.value !== '') && (
        <input
          type="search"
          class="trace-track-filter"
          placeholder="Filter tracks"
          aria-label="Show only tracks whose title has this text"
          value={trackFilter.value}
          onInput={(event) => {
            trackFilter.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape') trackFilter.value = '';
          }}
        />
      )}
    </div>
  );
}
