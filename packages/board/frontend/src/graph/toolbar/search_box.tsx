/** The search box: finds ops and groups by a pattern and goes to them. */

import { useRef, useState } from 'preact/hooks';
import { safeText } from '../../strings/safe_text.ts';
import { count } from '../../units/numbers.ts';
import type { Session } from '../session/session.ts';

export function SearchBox({
  session,
  input,
}: {
  session: Session;
  input: { current: HTMLInputElement | null };
}) {
  const [outcome, setOutcome] = useState<{
    found: number[];
    count: number;
    text: string;
    wrong?: boolean;
  } | null>(null);
  const [at, setAt] = useState(0);
  const [open, setOpen] = useState(false);
  const turn = useRef(0);
  const run = async (pattern: string) => {
    const mine = ++turn.current;
    if (pattern === '') {
      setOutcome(null);
      return;
    }
    const result = await session.search.find(pattern);
    if (!result || mine !== turn.current) return;
    setAt(0);
    setOpen(true);
    setOutcome(
      result.kind === 'found'
        ? { found: result.found, count: result.count, text: result.count === 0 ? 'No name matches.' : '' }
        : { found: [], count: 0, text: result.text, wrong: true },
    );
  };
  const go = (i: number) => {
    const v = outcome?.found[i];
    if (v === undefined) return;
    setAt(i);
    session.goTo(v);
  };
  return (
    <div
      class="g-search"
      onFocusOut={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node)) setOpen(false);
      }}
    >
      <input
        type="search"
        ref={input}
        class="g-search-box"
        placeholder="Find ops and groups: regular expression  ( / )"
        aria-label="Find ops and groups by a regular expression"
        spellcheck={false}
        aria-invalid={outcome?.wrong === true}
        onFocus={() => session.search.warm()}
        onInput={(event) => void run(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') {
            go(event.shiftKey ? Math.max(0, at - 1) : open && outcome ? at : at + 1);
            setOpen(false);
          } else if (event.key === 'ArrowDown' && outcome) {
            setOpen(true);
            setAt(Math.min(outcome.found.length - 1, at + 1));
          } else if (event.key === 'ArrowUp') setAt(Math.max(0, at - 1));
          else if (event.key === 'Escape') {
            setOpen(false);
            event.currentTarget.blur();
          } else return;
          event.preventDefault();
        }}
      />
      {open && outcome && (
        <div class="g-search-found">
          {outcome.text !== '' && (
            <p
              class={outcome.wrong ? 'g-quiet-text g-wrong' : 'g-quiet-text'}
              role={outcome.wrong ? 'alert' : undefined}
            >
              {outcome.text}
            </p>
          )}
          {outcome.count > 0 && (
            <p class="g-quiet-text">
              {count(outcome.count)} found
              {outcome.count > outcome.found.length ? `, the first ${outcome.found.length} here` : ''}
            </p>
          )}
          <ul class="g-node-links">
            {outcome.found.slice(Math.max(0, at - 6), Math.max(0, at - 6) + 14).map((v) => {
              const i = outcome.found.indexOf(v);
              return (
                <li key={v}>
                  <button
                    type="button"
                    class="g-node-link"
                    aria-current={i === at ? 'true' : undefined}
                    onClick={() => {
                      go(i);
                      setOpen(false);
                    }}
                  >
                    <span class="g-node-link-name">
                      <bdi>{safeText(session.model.path(v))}</bdi>
                    </span>
                    <span class="g-node-link-more">
                      {session.model.isGroup(v)
                        ? session.model.opsText(session.model.size[v]!)
                        : session.model.opName(v)}
                    </span>
                  </button>
                </li>
              );
            })}
          </ul>
        </div>
      )}
    </div>
  );
}
