"""How a report looks in a browser; every rule is under `.tracestream`, so a notebook keeps its own.

Colours derive from the text's, so they follow whatever theme is around.
"""

FRAGMENT_STYLE = """
.tracestream{--line:color-mix(in srgb,currentColor 16%,transparent);
--faint:color-mix(in srgb,currentColor 6%,transparent);
--soft:color-mix(in srgb,currentColor 62%,transparent);
--pass:#1f9d61;--fail:#dc4a44;--ungradable:#c58a12;--bar:#5b8def;
font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;
max-width:1280px;margin:0 auto;text-align:left;font-variant-numeric:tabular-nums}
.tracestream h1{font-size:22px;font-weight:650;letter-spacing:-.01em;margin:0}
.tracestream h2{font-size:16px;font-weight:650;margin:36px 0 8px}
.tracestream p{margin:4px 0;color:var(--soft)}
.tracestream .split{display:flex;height:10px;border-radius:5px;overflow:hidden;margin:18px 0 14px;
background:var(--line)}
.tracestream .split i{min-width:3px}
.tracestream .split .pass{background:var(--pass)}
.tracestream .split .fail{background:var(--fail)}
.tracestream .split .ungradable{background:var(--ungradable)}
.tracestream dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(138px,1fr));gap:10px;
margin:0 0 8px}
.tracestream dl div{border:1px solid var(--line);border-radius:8px;padding:9px 12px;
background:var(--faint)}
.tracestream dt{font-size:12px;font-weight:400;color:var(--soft)}
.tracestream dd{font-size:19px;font-weight:600;margin:0}
.tracestream dd.pass{color:var(--pass)}
.tracestream dd.fail{color:var(--fail)}
.tracestream dd.ungradable{color:var(--ungradable)}
.tracestream .scroll{overflow-x:auto;border:1px solid var(--line);border-radius:8px}
.tracestream table{border-collapse:collapse;border:0;margin:0;width:100%;font-size:13px;
color:inherit}
.tracestream tr{background:none}
.tracestream th,.tracestream td{padding:6px 10px;border:0;border-bottom:1px solid var(--line);
text-align:left;vertical-align:top;white-space:nowrap;width:1%}
.tracestream th{font-size:12px;font-weight:550;color:var(--soft);background:var(--faint)}
.tracestream tbody tr:last-child td{border-bottom:0}
.tracestream tbody tr:hover{background:var(--faint)}
.tracestream .number{text-align:right}
.tracestream .wide{white-space:normal;overflow-wrap:anywhere;width:auto;min-width:190px}
.tracestream .wide p{margin:0;color:inherit}
.tracestream .name{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;
font-size:12.5px}
.tracestream .none{color:var(--soft)}
.tracestream .badge{display:inline-block;border-radius:9px;padding:0 8px;font-size:12px;
line-height:18px;font-weight:600;border:1px solid currentColor}
.tracestream .badge.pass,.tracestream .badge.note{color:var(--pass)}
.tracestream .badge.fail,.tracestream .badge.loss{color:var(--fail)}
.tracestream .badge.ungradable,.tracestream .badge.doubt{color:var(--ungradable)}
.tracestream .meter{display:inline-block;width:44px;height:6px;border-radius:3px;margin-left:8px;
vertical-align:middle;background:var(--line);overflow:hidden}
.tracestream .meter i{display:block;height:100%;background:var(--bar)}
.tracestream details{margin:0}
.tracestream summary{cursor:pointer}
.tracestream code{font-size:12px;overflow-wrap:anywhere;background:none;color:inherit}
"""

PAGE_STYLE = """
:root{color-scheme:light dark}
body{margin:0;padding:32px 20px 64px;background:#fff;color:#1b1f24}
@media (prefers-color-scheme:dark){body{background:#14171c;color:#e4e7eb}
.tracestream{--pass:#46c98b;--fail:#f2716b;--ungradable:#e2b04a;--bar:#6f9df5}}
@media print{.tracestream .scroll{overflow:visible}body{padding:0}}
"""
