/** The attributes of an op, as the server formats them; long ones in full on request. */
import { useEffect, useState } from 'preact/hooks';
import { getJson } from '../../api/client.ts';
import { messageOf } from '../../api/error_message.ts';
import { safeText } from '../../strings/safe_text.ts';
import type { Session } from '../session/session.ts';

interface Attribute {
  name: string;
  value: unknown;
  cut?: boolean;
}

const MOST_SHOWN = 1 << 20;

export function Attributes({ session, op }: { session: Session; op: number }) {
  const [full, setFull] = useState(-1);
  const [attrs, setAttrs] = useState<Attribute[] | null>(null);
  const [wrong, setWrong] = useState('');
  const whole = full === op;
  useEffect(() => {
    const controller = new AbortController();
    // The cut text stays until the whole text is fetched.
    if (!whole) setAttrs(null);
    setWrong('');
    const parameters = { index: op, full: whole ? 1 : null };
    getJson<{ attrs?: Attribute[] }>(`graph/${session.entry.id}/node`, parameters, controller.signal).then(
      (node) => setAttrs(node.attrs ?? []),
      (error) => {
        if (!controller.signal.aborted) setWrong(messageOf(error));
      },
    );
    return () => controller.abort();
  }, [session, op, whole]);
  return (
    <section>
      <h3>Attributes</h3>
      {wrong && <p class="g-quiet-text">{wrong}</p>}
      {!attrs && !wrong && <p class="g-quiet-text">…</p>}
      {attrs?.length === 0 && <p class="g-quiet-text">none</p>}
      <dl class="g-facts g-attributes">
        {(attrs ?? []).map((attr) => (
          <div key={attr.name}>
            <dt>{safeText(attr.name)}</dt>
            <dd class={whole ? 'g-whole' : undefined}>
              {safeText(typeof attr.value === 'string' ? attr.value : JSON.stringify(attr.value), MOST_SHOWN)}
              {attr.cut && '…'}
              {attr.cut && !whole && (
                <button type="button" class="quiet" onClick={() => setFull(op)}>
                  show all
                </button>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
