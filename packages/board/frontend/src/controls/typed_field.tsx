/** A field whose half-typed text stays while its value changes: the text is committed with Enter or on leaving. */
import type { TargetedInputEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface TypedText {
  /** What the field holds while the user does not type. */
  value: string;
  onCommit: (text: string) => void;
}

/** The state of a field or text area: Escape cancels; leaving the field, or the page, commits. */
export function useTyped({ value, onCommit }: TypedText) {
  const [typed, setTyped] = useState<string | null>(null);
  const pending = useRef<(() => void) | null>(null);
  const commit = () => {
    if (typed !== null && typed !== value) onCommit(typed);
    setTyped(null);
  };
  pending.current = typed === null || typed === value ? null : () => onCommit(typed);
  useEffect(() => () => pending.current?.(), []);
  return {
    text: typed ?? value,
    type: setTyped,
    commit,
    cancel: () => setTyped(null),
  };
}

interface FieldProps extends TypedText {
  type: 'text' | 'search' | 'number';
  'aria-label'?: string;
  class?: string;
  title?: string;
  placeholder?: string;
  inputMode?: 'numeric';
  list?: string;
  min?: number;
  max?: number;
}

/** A field of one line; Enter commits too. */
export function TypedField({ value, onCommit, type: kind, ...rest }: FieldProps) {
  const { text, type, commit, cancel } = useTyped({ value, onCommit });
  const events = {
    onInput: (event: TargetedInputEvent<HTMLInputElement>) => type(event.currentTarget.value),
    onBlur: commit,
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === 'Enter') commit();
      else if (event.key === 'Escape') cancel();
      else return;
      event.stopPropagation();
    },
  };
  // The type is spelled out: what a field may have depends on it.
  if (kind === 'number') return <input {...rest} {...events} type="number" value={text} />;
  if (kind === 'search') return <input {...rest} {...events} type="search" value={text} />;
  return <input {...rest} {...events} type="text" value={text} />;
}
