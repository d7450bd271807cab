/**
 * The style sheet of pages: light and dark, from 320 pixels of width on.
 *
 * @private
 * @since 0.1.0
 */

const colors = `
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #fff; --line: #d9dde3; --text: #1b2027; --faint: #59626e; --link: #0b57b0;
  --good: #146c3b; --warn: #8a5200; --bad: #b3231a; --plain: #4a5563;
  --good-soft: #e3f4ea; --warn-soft: #fcefd9; --bad-soft: #fce6e4; --plain-soft: #eceff3;
  --model: #5b3fb5; --tool: #0a6a72; --agent: #0b57b0; --person: #8f3577;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #12151a; --card: #1a1f26; --line: #333b46; --text: #e6e9ee; --faint: #a3adba; --link: #82b6ff;
    --good: #6fd39a; --warn: #f0b45c; --bad: #ff958c; --plain: #a9b4c2;
    --good-soft: #17352435; --warn-soft: #4a350f55; --bad-soft: #5a1f1b55; --plain-soft: #262d36;
    --model: #b9a3ff; --tool: #5fd0d8; --agent: #82b6ff; --person: #ef9ad6;
  }
}`

const base = `
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main, header, footer, nav { max-width: 1200px; margin-inline: auto; padding-inline: clamp(12px, 3vw, 32px); }
h1, h2, h3 { line-height: 1.25; overflow-wrap: anywhere; margin: 0; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; } h3 { font-size: 1rem; }
p { margin: 0; overflow-wrap: anywhere; }
a { color: var(--link); text-underline-offset: 2px; }
a:focus-visible, summary:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 4px; }
ol, ul { margin: 0; padding: 0; list-style: none; }
bdi { overflow-wrap: anywhere; }
code, pre, .mono { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
pre {
  margin: 6px 0 0; padding: 10px 12px; background: var(--plain-soft); border-radius: 6px; font-size: 0.85rem;
  white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 2;
}
summary { cursor: pointer; width: fit-content; max-width: 100%; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 8px; top: 8px; background: var(--card); padding: 6px 10px; z-index: 1; }
.card {
  background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: clamp(12px, 2.2vw, 20px); margin-block: 16px;
}
.faint { color: var(--faint); }
.row { display: flex; flex-wrap: wrap; gap: 4px 10px; align-items: baseline; }
.badge {
  display: inline-block; padding: 0 8px; border-radius: 999px; font-size: 0.78rem; font-weight: 600; line-height: 1.6;
  background: var(--plain-soft); color: var(--plain); white-space: nowrap;
}
.badge.good { background: var(--good-soft); color: var(--good); }
.badge.warn { background: var(--warn-soft); color: var(--warn); }
.badge.bad { background: var(--bad-soft); color: var(--bad); }
.notice { border-inline-start: 4px solid var(--warn); }
.notice ul { margin-top: 6px; }
.notice li { overflow-wrap: anywhere; }
header { padding-block: 24px 8px; }
header .row { margin-top: 8px; }
footer { padding-block: 8px 32px; color: var(--faint); font-size: 0.85rem; }
.totals {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(118px, 1fr)); gap: 8px; margin: 12px 0 0;
}
.totals div { background: var(--plain-soft); border-radius: 8px; padding: 8px 10px; }
.totals dt { color: var(--faint); font-size: 0.78rem; }
.totals dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
.totals dd small { display: block; font-weight: 400; color: var(--faint); }`

const bars = `
.bars { margin-top: 12px; }
.bars li {
  display: grid; grid-template-columns: minmax(0, 15rem) minmax(0, 1fr) 5.5rem; gap: 2px 12px; align-items: center;
  padding-block: 2px; border-top: 1px solid var(--line);
}
.bars li:first-child { border-top: 0; }
.bars a { color: inherit; text-decoration: none; overflow-wrap: anywhere; font-size: 0.88rem; }
.bars a:hover { text-decoration: underline; }
.bars svg { width: 100%; height: 14px; display: block; }
.bars .took { text-align: end; color: var(--faint); font-size: 0.82rem; font-variant-numeric: tabular-nums; }
.bars .d1 { padding-inline-start: 12px; } .bars .d2 { padding-inline-start: 24px; }
.bars .d3 { padding-inline-start: 36px; } .bars .d4 { padding-inline-start: 48px; }
.track { fill: var(--plain-soft); }
.bar { fill: var(--plain); }
.k-model .bar { fill: var(--model); } .k-tool .bar { fill: var(--tool); }
.k-agent .bar, .k-handoff .bar, .k-run .bar { fill: var(--agent); }
.k-approval .bar, .k-question .bar { fill: var(--person); }
.t-bad .bar { fill: var(--bad); }
@media (max-width: 640px) {
  .bars li { grid-template-columns: minmax(0, 1fr) auto; padding-block: 6px; }
  .bars svg { grid-column: 1 / -1; grid-row: 2; }
}`

const items = `
.run > summary { list-style-position: outside; }
.run > summary h2 { display: inline; }
.run > .row, .about { margin-top: 8px; }
.step { margin-top: 18px; padding-bottom: 4px; border-bottom: 1px solid var(--line); }
.items > li { padding: 8px 0 8px 12px; border-inline-start: 3px solid transparent; border-bottom: 1px solid var(--line); }
.items > li:last-child { border-bottom: 0; }
.items > .t-bad { border-inline-start-color: var(--bad); }
.items > .t-warn { border-inline-start-color: var(--warn); }
.items > li:target, .run:has(> summary > h2:target) { background: var(--plain-soft); }
.at, .took { color: var(--faint); font-size: 0.82rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.items .at { min-width: 4.5rem; }
.kind { min-width: 5.6rem; text-align: center; }
.k-model .kind { color: var(--model); } .k-tool .kind { color: var(--tool); }
.k-agent .kind, .k-handoff .kind { color: var(--agent); }
.k-approval .kind, .k-question .kind { color: var(--person); }
.title { font-weight: 600; overflow-wrap: anywhere; min-width: 0; }
.facts { color: var(--faint); font-size: 0.9rem; overflow-wrap: anywhere; min-width: 0; }
.content { margin-top: 4px; font-size: 0.9rem; }
.failure { margin-top: 6px; padding: 8px 10px; background: var(--bad-soft); border-radius: 6px; font-size: 0.9rem; }
.t-warn > .failure { background: var(--warn-soft); }
.tree li { padding-block: 3px; border-inline-start: 2px solid var(--line); padding-inline-start: 8px; margin-block: 2px; }
.tree .d1 { margin-inline-start: 16px; } .tree .d2 { margin-inline-start: 32px; }
.tree .d3 { margin-inline-start: 48px; } .tree .d4 { margin-inline-start: 64px; }
.tree .d5 { margin-inline-start: 80px; } .tree .d6 { margin-inline-start: 96px; }
.part { margin-top: 14px; }
.part > h3 { margin-bottom: 4px; }
@media (max-width: 640px) {
  .items .at { min-width: 0; } .kind { min-width: 0; }
  .tree .d2 { margin-inline-start: 24px; } .tree .d3 { margin-inline-start: 32px; }
  .tree .d4 { margin-inline-start: 40px; } .tree .d5 { margin-inline-start: 48px; }
  .tree .d6 { margin-inline-start: 56px; }
}
@media print {
  body { background: none; } .card { break-inside: avoid-page; border-color: #bbb; } .skip { display: none; }
}`

/** All of it. */
export const css: string = `${colors}${base}${bars}${items}\n`
