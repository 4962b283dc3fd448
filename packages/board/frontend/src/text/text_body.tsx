/** The texts of one event: as markdown, plain, or raw with every hidden character shown. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { safeText } from '../strings/safe_text.ts';
import { safeLines } from './safe_lines.ts';
import { cutAtHits } from './text_search.ts';
import type { TextMode } from './text_view.ts';

type MarkdownView = ComponentType<{ text: string }>;
let markdown: MarkdownView | null = null;

export function TextBody(props: { values: string[]; shape: number[]; mode: TextMode; search: string }) {
  const { values, shape } = props;
  if (values.length === 0) return <p class="faint">no text</p>;
  if (shape.length === 2 && shape[1]! > 0) {
    const columns = shape[1]!;
    const rows = Array.from({ length: Math.ceil(values.length / columns) }, (_, row) => row);
    return (
      <div class="text-scroll">
        <table class="text-table">
          <tbody>
            {rows.map((row) => (
              <tr key={row}>
                {values.slice(row * columns, (row + 1) * columns).map((value, i) => (
                  <td key={String(i)}>
                    <One {...props} text={value} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    );
  }
  if (values.length === 1) return <One {...props} text={values[0]!} />;
  return (
    <ol start={0}>
      {values.map((value, i) => (
        <li key={String(i)}>
          <One {...props} text={value} />
        </li>
      ))}
    </ol>
  );
}

function One({ text, mode, search }: { text: string; mode: TextMode; search: string }) {
  const [View, set] = useState<MarkdownView | null>(() => markdown);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (mode !== 'markdown' || markdown) return;
    let here = true;
    import('./markdown.tsx').then(
      (module) => {
        markdown = module.default;
        if (here) set(() => module.default);
      },
      () => here && setFailed(true), // the text is there all the same
    );
    return () => {
      here = false;
    };
  }, [mode]);
  if (mode === 'markdown' && !search && !failed) return View ? <View text={text} /> : <p class="faint">…</p>;
  const shown = mode === 'raw' ? rawText(text) : safeLines(text);
  return (
    <pre class={mode === 'raw' ? 'text-raw' : 'text-plain'}>
      {cutAtHits(shown, search).map((part, i) =>
        part.hit ? <mark key={String(i)}>{part.text}</mark> : part.text,
      )}
    </pre>
  );
}

/** Every hidden character escaped; line ends stay visible as such. */
function rawText(text: string): string {
  return text
    .replace(/\\/g, '\\\\')
    .split('\n')
    .map((line) => safeText(line.replace(/\t/g, '\\t').replace(/\r/g, '\\r'), 1e6))
    .join('\\n\n');
}
