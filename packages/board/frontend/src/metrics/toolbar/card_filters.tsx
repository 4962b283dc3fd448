/** The filters of the cards: by the names of their tags, and by kind. */
import { useRef } from 'preact/hooks';
import { beginStep } from '../../address/url_state.ts';
import { Icon } from '../../controls/icons.tsx';
import { safeText } from '../../strings/safe_text.ts';
import { cardCount, filterError, matchedCount, shownKinds } from '../grid/card_list.ts';
import { kindFilter, tagFilter } from '../grid/grid_address.ts';
import { KIND_NAMES } from '../grid/kind_names.ts';

export function TagFilter() {
  const wrong = filterError.value;
  const begun = useRef(false);
  return (
    <div
      class={`search field-room${wrong ? ' wrong' : ''}`}
      title="Letters in order, or a regular expression"
    >
      <Icon name="search" />
      <input
        type="search"
        id="tag-filter"
        aria-label="Filter tags"
        aria-invalid={wrong !== null}
        placeholder="Filter tags"
        spellcheck={false}
        value={tagFilter.value}
        aria-describedby={wrong === null ? undefined : 'tag-filter-error'}
        onFocus={() => {
          begun.current = false;
        }}
        onInput={(event) => {
          if (!begun.current) beginStep();
          begun.current = true;
          tagFilter.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === 'Escape') tagFilter.value = '';
        }}
      />
      <span class="search-count">
        {tagFilter.value || kindFilter.value
          ? `${matchedCount.value} of ${cardCount.value}`
          : cardCount.value || ''}
      </span>
      {wrong !== null && (
        <p class="field-error" id="tag-filter-error" role="alert">
          {safeText(wrong, 300)}
        </p>
      )}
    </div>
  );
}

/** Cards of one kind only, where there are several. */
export function KindFilter() {
  const chosen = kindFilter.value;
  if (shownKinds.value.length < 2 && chosen === '') return null;
  return (
    <select
      aria-label="Kind of cards"
      value={chosen}
      onChange={(event) => {
        kindFilter.value = event.currentTarget.value;
      }}
    >
      <option value="">all kinds</option>
      {shownKinds.value.map((kind) => (
        <option key={kind} value={kind}>
          {KIND_NAMES[kind] ?? kind}
        </option>
      ))}
    </select>
  );
}
