/** A browser without a screen: cookies, redirects, and forms that are submitted as they stand. */
export interface Browser {
  /** Follows redirects; the last page. */
  open(url: string): Promise<Page>;
  submit(page: Page, fields?: Record<string, string>): Promise<Page>;
  /** Opens our link, agrees, logs in wherever that leads, and comes back; or stops where the path is this one. */
  logIn(link: string, credentials?: Credentials, visited?: string[], stopBefore?: string): Promise<Page>;
}

export type Credentials = { login: string; password: string };

export interface Page {
  url: string;
  status: number;
  text: string;
}

const maxHops = 20;

export function openBrowser(): Browser {
  const jars = new Map<string, Map<string, string>>();
  let visited: string[] = [];
  let stopBefore: string | undefined;

  async function go(url: string, init: RequestInit = {}): Promise<Page> {
    let target = new URL(url);
    let next = init;
    for (let hop = 0; hop < maxHops; hop += 1) {
      visited.push(target.href);
      if (target.pathname === stopBefore) return { url: target.href, status: 0, text: '' };
      const jar = jars.get(target.host) ?? new Map<string, string>();
      jars.set(target.host, jar);
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
      const headers = { ...next.headers, ...(cookie === '' ? {} : { cookie }) };
      const response = await fetch(target, { ...next, headers, redirect: 'manual' });
      for (const line of response.headers.getSetCookie()) {
        const [pair = ''] = line.split(';');
        const name = pair.slice(0, pair.indexOf('='));
        if (/expires=Thu, 01 Jan 1970/i.test(line)) jar.delete(name);
        else jar.set(name, pair.slice(pair.indexOf('=') + 1));
      }
      const location = response.headers.get('location');
      const text = await response.text();
      if (location === null) return { url: target.href, status: response.status, text };
      target = new URL(location, target);
      next = {};
    }
    throw new Error(`Too many redirects from ${url}`);
  }

  function submit(page: Page, fields: Record<string, string> = {}): Promise<Page> {
    const action = /<form[^>]*\saction="([^"]*)"/.exec(page.text)?.[1] ?? '';
    const target = new URL(decode(action), page.url);
    const form = new URLSearchParams();
    for (const [tag] of page.text.matchAll(/<input[^>]*>/g)) {
      const name = /\sname="([^"]*)"/.exec(tag)?.[1];
      if (name !== undefined) form.set(name, decode(/\svalue="([^"]*)"/.exec(tag)?.[1] ?? ''));
    }
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(page.url).origin };
    return go(target.href, { method: 'POST', headers, body: form.toString() });
  }

  return {
    open: (url) => go(url),
    submit,
    async logIn(link, credentials = { login: 'somebody', password: 'secret' }, addresses = [], until = undefined) {
      visited = addresses;
      stopBefore = until;
      let page = await go(link);
      for (let step = 0; step < 5 && page.status < 400 && page.text.includes('<form'); step += 1) {
        page = await submit(page, page.text.includes('name="login"') ? credentials : {});
      }
      stopBefore = undefined;
      return page;
    },
  };
}

function decode(text: string): string {
  return text
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replace(/&amp;/g, '&')
    .replace(/&quot;/g, '"');
}
