/** The few pages of a login. They have no script and cannot be framed or reused by another page. */
export const pageHeaders = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'x-frame-options': 'DENY',
  // Not no-referrer: a form would then be sent with the origin "null".
  'referrer-policy': 'same-origin',
};

/** A page about one server, which people may have to sign in for. */
export interface PageGoal {
  page: 'login' | 'keys';
  server: string;
}

export const pathOf = ({ page, server }: PageGoal) =>
  `${page === 'login' ? '/oauth/connect' : '/keys'}/${encodeURIComponent(server)}`;

const goalFields = ({ page, server }: PageGoal) =>
  `<input type="hidden" name="next" value="${escapeHtml(server)}"><input type="hidden" name="page" value="${page}">`;

interface Consent {
  server: string;
  serverUrl: string;
  principal: string;
  shared: boolean;
  issuer: string;
  page: string;
  scopes: readonly string[];
  redirectUri: string;
  digest: string;
  formKey: string;
}

export function consentPage(consent: Consent): string {
  const { server, serverUrl, principal, shared, issuer, scopes, redirectUri, digest, formKey } = consent;
  const { origin, pathname } = new URL(consent.page);
  const facts = [
    ['Server', `${server} (${serverUrl})`],
    ['Authorization server', issuer],
    ['Login page', `${origin}${pathname}`],
    ['Permissions', scopes.length === 0 ? 'the default of the server' : scopes.join(', ')],
    ['Returns to', redirectUri],
    ['Signed in as', principal],
    ['Login used by', shared ? 'all callers of this server' : 'only you'],
  ];
  return page(
    `Log in to ${server}`,
    `<p>MCP Aggregator requests access to <b>${escapeHtml(server)}</b> with your account.</p>
<dl>${facts.map(([term, value]) => `<dt>${escapeHtml(term ?? '')}</dt><dd>${escapeHtml(value ?? '')}</dd>`).join('')}</dl>
<form method="post"><input type="hidden" name="form_key" value="${escapeHtml(formKey)}">
<input type="hidden" name="agreed" value="${escapeHtml(digest)}"><button>Continue</button></form>`,
  );
}

export function signInPage(goal: PageGoal, problem?: string, single?: { issuer: string; href: string }): string {
  const note = problem === undefined ? '' : `<p class="problem">${escapeHtml(problem)}</p>`;
  const other =
    single === undefined
      ? ''
      : `<p><a href="${escapeHtml(single.href)}">Sign in with ${escapeHtml(single.issuer)}</a></p>`;
  return page(
    'Sign in',
    `${note}<p>Sign in with your token for this aggregator.</p>
<form method="post" action="/oauth/sign-in">${goalFields(goal)}
<label>Token <input type="password" name="token" autocomplete="off" required autofocus></label><button>Sign in</button></form>${other}`,
  );
}

interface ProgramConsent {
  program: string;
  principal: { name: string; role: string };
  formKey: string;
}

/** The code goes to a port of this computer, so any program there could have made the link. */
export function programPage({ program, principal, formKey }: ProgramConsent): string {
  return page(
    'Sign in the command line',
    `<p><b>${escapeHtml(program)}</b> asks to be signed in as <b>${escapeHtml(principal.name)}</b> (${escapeHtml(principal.role)}).</p>
<p>Continue only if you started this on this computer a moment ago.</p>
<form method="post"><input type="hidden" name="form_key" value="${escapeHtml(formKey)}"><button>Continue</button></form>`,
  );
}

/** A link must not change the identity of the person who opens it unnoticed. */
export function switchPage(goal: PageGoal, ticket: string, now: string, then: string): string {
  return page(
    `Continue as ${then}?`,
    `<p>You are signed in as <b>${escapeHtml(now)}</b>. This link signs you in as <b>${escapeHtml(then)}</b>.</p>
<form method="post" action="/oauth/sign-in">${goalFields(goal)}
<input type="hidden" name="ticket" value="${escapeHtml(ticket)}"><button>Continue as ${escapeHtml(then)}</button></form>
<p><a href="${escapeHtml(pathOf(goal))}">Stay signed in as ${escapeHtml(now)}</a></p>`,
  );
}

export function donePage(server: string): string {
  return page('Logged in', `<p>You are logged in to <b>${escapeHtml(server)}</b>. You can close this page.</p>`);
}

interface KeyForm {
  server: string;
  /** Where the keys are sent, or the command that gets them. */
  place: string;
  principal: string;
  names: readonly { name: string; isEntered: boolean }[];
  formKey: string;
  /** What just happened. */
  note?: string;
  problem?: string;
}

export function keyPage({ server, place, principal, names, formKey, note, problem }: KeyForm): string {
  const said = [
    ...(note === undefined ? [] : [`<p role="status">${escapeHtml(note)}</p>`]),
    ...(problem === undefined ? [] : [`<p class="problem" role="alert">${escapeHtml(problem)}</p>`]),
  ].join('');
  const fields = names.map(({ name, isEntered }) => {
    const state = isEntered ? 'entered; leave empty to keep it' : 'not entered yet';
    return `<p><label>${escapeHtml(name)} <small>(${state})</small>
<input type="password" name="key:${escapeHtml(name)}" autocomplete="off" spellcheck="false"></label></p>`;
  });
  return page(
    `Your keys for ${server}`,
    `${said}<dl><dt>Sent to</dt><dd>${escapeHtml(place)}</dd><dt>Signed in as</dt><dd>${escapeHtml(principal)}</dd></dl>
<p>Only your own calls use these keys. They are stored encrypted and never shown again.</p>
<form method="post"><input type="hidden" name="form_key" value="${escapeHtml(formKey)}">${fields.join('')}
<button>Save</button></form>`,
  );
}

export function problemPage(problem: string, back?: { href: string; text: string }, title = 'Login failed'): string {
  const link = back === undefined ? '' : `<p><a href="${escapeHtml(back.href)}">${escapeHtml(back.text)}</a></p>`;
  return page(title, `<p class="problem">${escapeHtml(problem)}</p>${link}`);
}

/** Shown by the command line, when the browser comes back to it. */
export function signedInPage(): string {
  return page('Signed in', '<p>The command line is signed in. You can close this page.</p>');
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)} · MCP Aggregator</title><style>${style}</style></head>
<body><main><h1>${escapeHtml(title)}</h1>${body}</main></body></html>`;
}

const style = `body{font:16px/1.5 system-ui,sans-serif;background:#f5f6f8;color:#1b1f24;margin:0}
main{max-width:34rem;margin:10vh auto;background:#fff;padding:2rem;border-radius:.75rem;box-shadow:0 1px 6px #0002}
h1{font-size:1.35rem;margin:0 0 1rem}dl{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1rem}
dt{color:#59636e}dd{margin:0;overflow-wrap:anywhere}button{font:inherit;padding:.5rem 1.2rem;border:0;border-radius:.4rem;
background:#1f6feb;color:#fff;cursor:pointer;margin-top:1rem}input{font:inherit;padding:.4rem;width:100%;box-sizing:border-box}
.problem{color:#b3261e}@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}main{background:#161b22}dt{color:#9198a1}}`;

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
