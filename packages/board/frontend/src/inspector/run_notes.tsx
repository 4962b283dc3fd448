/** A run's note and tags, to read and to change, in the panel of details. */

import { useState } from 'preact/hooks';
import type { Run } from '../api/types.ts';
import { useTyped } from '../controls/typed_field.tsx';
import { addTag, everyTag, noteOf, removeTag, setText } from '../runs/notes.ts';
import { meta } from '../state/catalogue.ts';
import { runTitle } from '../state/run_title.ts';
import { safeText } from '../strings/safe_text.ts';
import { addInspectorPart } from './inspector.tsx';

export function RunNotes({ run }: { run: Run }) {
  // What is half typed belongs to its run.
  return <NotesOf key={run.name} run={run} />;
}

function NotesOf({ run }: { run: Run }) {
  const note = noteOf(run.name);
  const [tag, setTag] = useState('');
  const commit = () => {
    addTag(run.name, tag);
    setTag('');
  };
  const text = useTyped({ value: note.text, onCommit: (typed) => setText(run.name, typed) });
  const place = meta.value?.read_only === false ? 'in the state file' : 'in this browser';
  return (
    <section class="run-notes">
      <h4>Tags</h4>
      <div class="run-tags">
        {note.tags.map((one) => (
          <span class="run-tag" key={one}>
            {safeText(one, 60)}
            <button
              type="button"
              aria-label={`Remove the tag ${safeText(one, 60)}`}
              onClick={() => removeTag(run.name, one)}
            >
              ×
            </button>
          </span>
        ))}
        <input
          type="text"
          aria-label="Add a tag"
          placeholder="add a tag"
          list="every-run-tag"
          value={tag}
          onInput={(event) => setTag(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') commit();
          }}
          onBlur={commit}
        />
        <datalist id="every-run-tag">
          {everyTag.value.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      </div>
      <h4>Note</h4>
      <textarea
        aria-label={`Note on ${safeText(runTitle(run.name), 120)}`}
        placeholder={`What was this run for? Saved ${place}, never in the logs.`}
        value={text.text}
        onInput={(event) => text.type(event.currentTarget.value)}
        onBlur={text.commit}
      />
    </section>
  );
}

addInspectorPart({ id: 'notes', Run: RunNotes });
