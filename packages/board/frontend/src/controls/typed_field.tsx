/** A field whose half-typed text stays as it is while what it belongs to changes: it counts once it is done. */
import type { TargetedInputEvent } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

interface TypedText {
  /** What the field holds while nobody types. */
  value: string;
  onCommit: (text: string) => void;
}

/** What a field or text area is given; Escape gives up, leaving it counts, and so does going away. */
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
    giveUp: () => setTyped(null),
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

/** A field of one line; Enter counts too. */
export function TypedField({ value, onCommit, type: kind, ...rest }: FieldProps) {
  const { text, type, commit, giveUp } = useTyped({ value, onCommit });
  const events = {
    onInput: (event: TargetedInputEvent<HTMLInputElement>) => type(event.currentTarget.value),
    onBlur: commit,
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === 'Enter') commit();
      else if (event.key === 'Escape') giveUp();
      else return;
      event.stopPropagation();
    },
  };
  // The type is spelled out: what a field may have depends on it.
  if (kind === 'number') return <input {...rest} {...events} type="number" value={text} />;
  if (kind === 'search') return <input {...rest} {...events} type="search" value={text} />;
  return <input {...rest} {...events} type="text" value={text} />;
}
