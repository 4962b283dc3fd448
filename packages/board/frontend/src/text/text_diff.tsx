/** Two texts as one: what was taken away, what was added, what stayed. */
import { useMemo } from 'preact/hooks';
import { diffLines } from './line_diff.ts';
import { safeLines } from './safe_lines.ts';

const SIGN = { same: ' ', added: '+', removed: '−' } as const;

export function TextDiff({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => diffLines(safeLines(before), safeLines(after)), [before, after]);
  const changed = lines.filter((line) => line.kind !== 'same').length;
  return (
    <>
      {changed === 0 && <p class="faint">The texts are equal.</p>}
      <pre class="text-diff">
        {lines.map((line, i) => (
          <span key={String(i)} class={`diff-${line.kind}`}>
            <span class="diff-sign">{SIGN[line.kind]}</span>
            {line.pieces.map((piece, at) =>
              piece.kind === 'same' || line.pieces.length === 1 ? (
                piece.text
              ) : (
                <b key={String(at)}>{piece.text}</b>
              ),
            )}
            {'\n'}
          </span>
        ))}
      </pre>
    </>
  );
}
