/** What a user reads when a server does not start: from what real programs print. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { causeIn } from '../../src/upstream/start-failure.ts';

const cases: [what: string, output: string, cause: string | undefined][] = [
  [
    'a package that does not exist (npm 11)',
    `npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/@acme%2fno-such-server - Not found
npm error 404
npm error 404  '@acme/no-such-server@*' is not in this registry.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git folder.
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-18T12_00_00_000Z-debug-0.log`,
    'npm E404: the package @acme/no-such-server is not in the registry; check its name',
  ],
  [
    'the same (npm 11.19)',
    `npm http fetch GET 404 https://registry.npmjs.org/@acme%2fno-such-server 146ms (cache skip)
npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/@acme%2fno-such-server
npm error 404
npm error 404  The requested resource '@acme/no-such-server@*' could not be found or you do not have permission to access it.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-18T12_00_00_000Z-debug-0.log`,
    'npm E404: the package @acme/no-such-server is not in the registry; check its name',
  ],
  [
    'the same, where only the address has the name',
    `npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/no-such-server
npm error 404`,
    'npm E404: the package no-such-server is not in the registry; check its name',
  ],
  [
    'a package for another Node, about which npm only warns',
    `npm warn EBADENGINE Unsupported engine {
npm warn EBADENGINE   package: 'notes-server@2.0.0',
npm warn EBADENGINE   required: { node: '>=99' },
npm warn EBADENGINE   current: { node: 'v24.21.0', npm: '11.19.1' }
npm warn EBADENGINE }
TypeError: sqlite.open is not a function`,
    'TypeError: sqlite.open is not a function (notes-server@2.0.0 needs Node >=99, and this is Node 24.21.0)',
  ],
  [
    'the same (npm 9)',
    `npm ERR! code E404
npm ERR! 404 Not Found - GET https://registry.npmjs.org/no-such-server - Not found
npm ERR! A complete log of this run can be found in: /x`,
    'npm E404: the package no-such-server is not in the registry; check its name',
  ],
  [
    'a registry behind a proxy with a certificate that npm does not know, while npm still tries',
    `npm http fetch GET https://registry.npmjs.org/notes-server attempt 1 failed with SELF_SIGNED_CERT_IN_CHAIN
npm http fetch GET https://registry.npmjs.org/notes-server attempt 2 failed with SELF_SIGNED_CERT_IN_CHAIN`,
    'npm SELF_SIGNED_CERT_IN_CHAIN: the registry cannot be reached; check the certificate of the proxy (npm config set cafile <path>)',
  ],
  [
    'no network, while npm still tries',
    'npm http fetch GET https://registry.npmjs.org/notes-server attempt 1 failed with ENOTFOUND',
    'npm ENOTFOUND: the registry cannot be reached; check the network and the proxy',
  ],
  [
    'a download that failed once',
    `npm http fetch GET https://registry.npmjs.org/notes-server attempt 1 failed with ECONNRESET
npm http fetch GET 200 https://registry.npmjs.org/notes-server 176ms (cache miss)
Hello!`,
    'Hello!',
  ],
  [
    'a version that does not exist',
    `npm error code ETARGET
npm error notarget No matching version found for left-pad@99.0.0.
npm error notarget In most cases you or one of your dependencies are requesting`,
    'npm ETARGET: there is no such version: left-pad@99.0.0',
  ],
  [
    'no network',
    'npm error code ENOTFOUND\nnpm error syscall getaddrinfo\nnpm error errno ENOTFOUND\nnpm error network request to https://registry.npmjs.org/x failed',
    'npm ENOTFOUND: the registry cannot be reached; check the network and the proxy',
  ],
  [
    'another Node is needed',
    'npm error code EBADENGINE\nnpm error engine Unsupported engine\nnpm error notsup Required: {"node":">=30"}\nnpm error notsup Actual:   {"node":"v24.0.0"}',
    'npm EBADENGINE: the package needs another Node: {"node":">=30"}',
  ],
  [
    'a package without a program',
    'npm error could not determine executable to run\nnpm error A complete log of this run',
    'npm: the package has no program to run; check its name',
  ],
  [
    'a file that is missing',
    `node:internal/modules/cjs/loader:1228
  throw err;
  ^

Error: Cannot find module '/srv/server.js'
    at Function._resolveFilename (node:internal/modules/cjs/loader:1225:15)
    at node:internal/main/run_main_module:36:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v24.21.0`,
    "Error: Cannot find module '/srv/server.js'",
  ],
  [
    'a syntax error',
    `file:///srv/server.js:3
const = 1
      ^

SyntaxError: Unexpected token '='
    at compileSourceTextModule (node:internal/modules/esm/utils:346:16)

Node.js v24.21.0`,
    "SyntaxError: Unexpected token '=' in /srv/server.js:3",
  ],
  [
    'a port that is in use',
    `node:events:485
      throw er; // Unhandled 'error' event
      ^

Error: listen EADDRINUSE: address already in use 127.0.0.1:3000
    at Server.setupListenHandle [as _listen2] (node:net:1937:16)`,
    'port 3000 is in use by another program',
  ],
  [
    'a variable that is missing',
    'Starting…\nError: GITHUB_PERSONAL_ACCESS_TOKEN environment variable is required\n',
    'Error: GITHUB_PERSONAL_ACCESS_TOKEN environment variable is required',
  ],
  [
    'a module of Python',
    'Traceback (most recent call last):\n  File "/srv/server.py", line 1, in <module>\n    import nothing\nModuleNotFoundError: No module named \'nothing\'',
    "ModuleNotFoundError: No module named 'nothing'",
  ],
  [
    'an image of Docker',
    "Unable to find image 'mcp/nothing:latest' locally\ndocker: Error response from daemon: pull access denied for mcp/nothing\nRun 'docker run --help' for more information",
    'docker: Error response from daemon: pull access denied for mcp/nothing',
  ],
  ['progress of npm alone', 'npm http fetch GET 200 https://registry.npmjs.org/x 120ms', undefined],
  ['something of its own', 'Loading\nconfig.json is missing', 'config.json is missing'],
  ['nothing', '', undefined],
];

suite('why a server did not start', () => {
  for (const [what, output, cause] of cases)
    test(`CLI-004: ${what}`, () => assert.equal(causeIn(output.split('\n')), cause));
});
