/** The search box: finds nodes by a pattern and goes from one to the next. */
import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { safeText } from '../../strings/safe_text.ts';
import { count } from '../../units/numbers.ts';
import { pattern } from '../address/address_fields.ts';
import { type Found, findRequests, found, goToFound, warm } from '../state/trace_search.ts';
import { mainTrace } from '../state/trace_state.ts';

export function FindBox() {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    let handled = findRequests.peek();
    // A plain effect runs at once; useSignalEffect would lose what is typed before the next frame.
    return effect(() => {
      if (findRequests.value === handled) return;
      handled = findRequests.peek();
      box.current?.focus();
      box.current?.select();
    });
  }, []);
  const now = found.value;
  const walked =
    now && now.places.length < now.total ? ` Enter goes through the first ${now.places.length} of them.` : '';
  return (
    <span class={`trace-find${now?.wrong ? ' wrong' : ''}`} title={walked || undefined}>
      <input
        ref={box}
        type="search"
        placeholder="Find node  /"
        aria-label="Find nodes by a pattern"
        aria-invalid={now?.wrong ? true : undefined}
        aria-describedby={now?.wrong ? 'trace-find-error' : undefined}
        value={pattern.value}
        onFocus={() => {
          const model = mainTrace.peek();
          if (model) void warm(model.id).catch(() => undefined); // a search reports the failure
        }}
        onInput={(event) => {
          pattern.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter') void goToFound(event.shiftKey ? -1 : 1);
          if (event.key === 'Escape') {
            pattern.value = '';
            event.currentTarget.blur();
          }
        }}
      />
      <span class="trace-count" role="status">
        {statusOf(now)}
      </span>
      {now?.wrong && now.message !== '' && (
        <p class="field-error" id="trace-find-error" role="alert">
          {safeText(now.message, 300)}
        </p>
      )}
    </span>
  );
}

const WRONG = { pattern: 'not a pattern', time: 'takes too long', server: 'no reply' };

function statusOf(now: Found | null): string {
  if (!now) return '';
  if (now.wrong) return WRONG[now.wrong];
  if (now.total === 0) return 'none';
  return `${now.at >= 0 ? `${count(now.at + 1)} of ` : ''}${count(now.total)}`;
}
