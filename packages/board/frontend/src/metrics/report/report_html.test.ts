import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Budget } from './limits.ts';
import type { Report } from './report.ts';
import { reportHtml } from './report_html.ts';

const EVIL = `"><img src=x onerror=alert(1)></style><script>alert(2)</script>\u202e`;

function report(): Report {
  const line = { name: EVIL, colour: EVIL, dash: [4, 2] };
  return {
    title: EVIL,
    folder: EVIL,
    made: EVIL,
    settings: [['tags', EVIL]],
    panels: [`# ${EVIL}`],
    sections: [
      {
        title: EVIL,
        panels: [EVIL],
        cards: [
          {
            title: EVIL,
            notes: [EVIL],
            content: {
              kind: 'chart',
              svg: '<svg id="drawing"></svg>',
              legend: [line],
              values: [{ name: EVIL, line, last: 0.25, at: 1000, min: -1e-9, max: Number.POSITIVE_INFINITY }],
              steps: EVIL,
            },
          },
          {
            title: EVIL,
            notes: [],
            content: {
              kind: 'images',
              images: [{ run: EVIL, place: EVIL, source: 'data:image/png;base64,AA', width: 2, height: 3 }],
            },
          },
          {
            title: EVIL,
            notes: [],
            content: { kind: 'texts', texts: [{ run: EVIL, place: EVIL, text: EVIL }] },
          },
        ],
      },
    ],
    leftOut: [{ what: EVIL, why: EVIL }],
  };
}

test('no name, text or colour of a report becomes markup', () => {
  const text = reportHtml(report(), ':root{--text:#000}');
  const tags = [...text.matchAll(/<(\w+)/g)].map((found) => found[1]);
  assert.deepEqual(tags.filter((tag) => tag === 'script' || tag === 'iframe').length, 0);
  assert.equal(tags.filter((tag) => tag === 'img').length, 1);
  assert.equal(tags.filter((tag) => tag === 'style').length, 1);
  assert.ok(text.includes('<svg id="drawing"></svg>'));
  assert.ok(!text.includes('"><img'));
});

test('a report forbids itself everything but its own style and images', () => {
  const text = reportHtml(report(), '');
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(text)?.[1];
  assert.equal(
    policy?.replaceAll('&#39;', "'"),
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'",
  );
  assert.ok(text.indexOf('Content-Security-Policy') < text.indexOf('<style>'));
});

test('a table has short numbers, and the whole ones as titles', () => {
  const text = reportHtml(report(), '');
  assert.ok(text.includes('<td title="0.25">0.25</td><td>1,000</td>'));
  assert.ok(text.includes('<td title="-1e-9">\u22121e\u22129</td><td title="Infinity">+Inf</td>'));
});

test('a budget takes what fits, and says why it does not take more', () => {
  const budget = new Budget(10, 'no room');
  assert.deepEqual([budget.take(6), budget.take(5), budget.take(4)], [null, 'no room', null]);
});
