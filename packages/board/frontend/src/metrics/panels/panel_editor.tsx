/** Writes the text of a panel, with a preview beside it. */
import { useEffect, useRef } from 'preact/hooks';
import { TextBody } from '../../text/text_body.tsx';
import { fileSize } from '../../units/bytes.ts';
import { draft, saveDraft, savedPanels } from './panel_store.ts';
import { bytesOf, MOST_BYTES, textError } from './panels.ts';

export function PanelEditor() {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  const written = draft.value;
  if (!written) return null;
  const wrong = textError(savedPanels(), written.id, written.text);
  return (
    <form
      class="panel-editor"
      onSubmit={(event) => {
        event.preventDefault();
        if (wrong === null) saveDraft();
      }}
    >
      <div class="panel-columns">
        <textarea
          ref={field}
          aria-label="Text of the panel, Markdown"
          aria-invalid={wrong !== null}
          aria-describedby={wrong === null ? undefined : 'panel-error'}
          placeholder="Markdown: # heading, **bold**, - list, [link](https://…), | table |"
          value={written.text}
          onInput={(event) => {
            draft.value = { ...written, text: event.currentTarget.value };
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && wrong === null) saveDraft();
          }}
        />
        <section
          class="panel-preview"
          aria-label="Preview of the panel"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: long texts are scrolled by keys
          tabIndex={0}
        >
          {written.text.trim() === '' ? (
            <p class="faint">The preview of the panel is here.</p>
          ) : (
            <TextBody values={[written.text]} shape={[]} mode="markdown" search="" />
          )}
        </section>
      </div>
      {wrong !== null && (
        <p class="field-error" id="panel-error" role="alert">
          {wrong}
        </p>
      )}
      <div class="panel-buttons">
        <span class="faint">
          {fileSize(bytesOf(written.text))} of {fileSize(MOST_BYTES)}, saved in the state file
        </span>
        <button
          type="button"
          onClick={() => {
            draft.value = null;
          }}
        >
          Cancel
        </button>
        <button type="submit" class="primary" disabled={wrong !== null}>
          Save
        </button>
      </div>
    </form>
  );
}
