/** The frame of every page: header with tabs, then the page. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { connection } from '../api/live.ts';
import { failure, loaded, problems } from '../state/catalogue.ts';
import { goTo, page } from '../state/url_state.ts';
import { nextTheme, theme } from '../style/theme.ts';
import { pages } from './pages.ts';

export function Shell() {
  const shown = pages.find((p) => p.id === page.value) ?? pages[0]!;
  return (
    <div class="shell">
      <header class="header">
        <strong class="logo">Headrace</strong>
        <nav class="tabs" aria-label="Pages">
          {pages.map((p) => (
            <a
              key={p.id}
              href={`#/${p.id}`}
              aria-current={p === shown ? 'page' : undefined}
              onClick={(event) => {
                event.preventDefault();
                goTo(p.id);
              }}
            >
              {p.title}
              {p.id === 'problems' && problems.value.length > 0 && (
                <span class="count">{problems.value.length}</span>
              )}
            </a>
          ))}
        </nav>
        <span class="grow" />
        <span class={`connection ${connection.value}`} role="status">
          {connection.value}
        </span>
        <button type="button" class="quiet" onClick={nextTheme} title="Theme: light, dark, high contrast">
          {theme.value}
        </button>
      </header>
      {failure.value && !loaded.value ? (
        <main class="page">
          <p class="empty" role="alert">
            The server does not answer: {failure.value}
          </p>
        </main>
      ) : (
        <Lazy key={shown.id} load={shown.load} />
      )}
    </div>
  );
}

function Lazy({ load }: { load: () => Promise<{ default: ComponentType }> }) {
  const [Loaded, set] = useState<ComponentType | null>(null);
  useEffect(() => {
    let here = true;
    void load().then((module) => here && set(() => module.default));
    return () => {
      here = false;
    };
  }, [load]);
  return <main class="page">{Loaded ? <Loaded /> : null}</main>;
}
