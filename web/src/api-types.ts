/** Made by `npm run web-types` from the OpenAPI document: do not edit. */
export interface paths {
    "/.well-known/oauth-protected-resource": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Protected resource metadata of the REST API (RFC 9728) */
        get: operations["getWellKnownOauthProtectedResource"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-protected-resource/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Protected resource metadata of /mcp (RFC 9728) */
        get: operations["getWellKnownOauthProtectedResourceMcp"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-protected-resource/mcp/servers/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Protected resource metadata of /mcp/servers/{name} (RFC 9728) */
        get: operations["getWellKnownOauthProtectedResourceMcpServersName"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-protected-resource/mcp/profiles/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Protected resource metadata of /mcp/profiles/{name} (RFC 9728) */
        get: operations["getWellKnownOauthProtectedResourceMcpProfilesName"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-protected-resource/sse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Protected resource metadata of /sse (RFC 9728) */
        get: operations["getWellKnownOauthProtectedResourceSse"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/oauth-protected-resource/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Protected resource metadata of /messages (RFC 9728) */
        get: operations["getWellKnownOauthProtectedResourceMessages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the state of the login to a server */
        get: operations["getAggregatorServersIdLogin"];
        put?: never;
        /** Create a link to the login page of a server (OAuth) */
        post: operations["postAggregatorServersIdLogin"];
        /** Log out of a server; its tokens are revoked and deleted */
        delete: operations["deleteAggregatorServersIdLogin"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/logins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the logins to servers */
        get: operations["getAggregatorLogins"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/logins/{principal}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End a principal's login to a server; its tokens are revoked and deleted */
        delete: operations["deleteAggregatorServersIdLoginsPrincipal"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/client.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Client ID metadata document, for authorization servers */
        get: operations["getOauthClientJson"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/client/{issuer}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Client ID metadata document for one authorization server, with its own redirect URI */
        get: operations["getOauthClientIssuer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/connect/{server}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Consent page before the login to a server */
        get: operations["getOauthConnectServer"];
        put?: never;
        /** Confirm the consent page and continue to the authorization server */
        post: operations["postOauthConnectServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/keys/{server}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Page to enter your keys for a server */
        get: operations["getKeysServer"];
        put?: never;
        /** Save the keys of the page */
        post: operations["postKeysServer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/sign-in": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Sign in with the identity provider, to the dashboard or to the login page of a server */
        get: operations["getOauthSignIn"];
        put?: never;
        /** Sign in to the login pages with a token */
        post: operations["postOauthSignIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/sign-in/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Redirect URI for the identity provider */
        get: operations["getOauthSignInCallback"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Redirect URI for authorization servers */
        get: operations["getOauthCallback"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/callback/{issuer}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Redirect URI for authorization servers */
        get: operations["getOauthCallbackIssuer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List servers */
        get: operations["getAggregatorServers"];
        put?: never;
        /** Register a server */
        post: operations["postAggregatorServers"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a server */
        get: operations["getAggregatorServersId"];
        put?: never;
        post?: never;
        /** Remove a server with its tools and history */
        delete: operations["deleteAggregatorServersId"];
        options?: never;
        head?: never;
        /** Change a server; it reconnects if its connection changed */
        patch: operations["patchAggregatorServersId"];
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/connect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Connect a server */
        post: operations["postAggregatorServersIdConnect"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/disconnect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Disconnect a server, after its pending calls or immediately */
        post: operations["postAggregatorServersIdDisconnect"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tools of a server */
        get: operations["getAggregatorServersIdTools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/tools/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Discover the tools of a server again */
        post: operations["postAggregatorServersIdToolsRefresh"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the latest lines that a STDIO server wrote to stderr, as seen by this process */
        get: operations["getAggregatorServersIdOutput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/processes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the processes of a STDIO server with their memory, as seen by this process */
        get: operations["getAggregatorServersIdProcesses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the history of a server, newest first */
        get: operations["getAggregatorServersIdHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Register the servers of an MCP client: the JSON of Claude, Cursor, VS Code or Windsurf */
        post: operations["postAggregatorServersImport"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/import/found": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the servers of the MCP clients on the host of the aggregator, with a preview of their import */
        get: operations["getAggregatorServersImportFound"];
        put?: never;
        /** Register the servers of a file that was found */
        post: operations["postAggregatorServersImportFound"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/tools/{tool}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Enable, disable, rename or redescribe a tool, or fix or hide its arguments */
        patch: operations["patchAggregatorServersIdToolsTool"];
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tools of a server that changed after they were first seen, newest first */
        get: operations["getAggregatorServersIdChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/changes/{change_id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Accept the new definition of a tool and resume its calls */
        post: operations["postAggregatorServersIdChangesChangeIdApprove"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/changes/{change_id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reject the new definition of a tool; its calls remain held */
        post: operations["postAggregatorServersIdChangesChangeIdReject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tools/call": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Call a tool */
        post: operations["postToolsCall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/query": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Query several servers; returns one ranked, deduplicated list with sources */
        post: operations["postQuery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/servers/{id}/query-strategy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Explain how a query uses this server */
        get: operations["getAggregatorServersIdQueryStrategy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/query/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the rules that select the servers of a query */
        get: operations["getQueryRules"];
        /** Replace the rules, effective immediately */
        put: operations["putQueryRules"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Search for tools that fit a task */
        post: operations["postSearch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/search/quality": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List tools that search cannot distinguish or find by their own description */
        get: operations["getSearchQuality"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/skills": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List skills */
        get: operations["getSkills"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/skills/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a skill */
        get: operations["getSkillsId"];
        /** Add or change a skill; tools are classified again */
        put: operations["putSkillsId"];
        post?: never;
        /** Remove a skill; its tools are classified again */
        delete: operations["deleteSkillsId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get counts of servers and tools */
        get: operations["getAggregatorState"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the health of the aggregator; for probes, without a token */
        get: operations["getAggregatorHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Stream live events (server-sent events) */
        get: operations["getAggregatorEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/livez": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process works; without a token */
        get: operations["getLivez"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process takes calls; for load balancers, without a token */
        get: operations["getReadyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/identity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Prove that this process owns its data directory; the command line asks before it sends a token */
        post: operations["postAggregatorIdentity"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List tokens, without their secrets: all for admins, else your own */
        get: operations["getTokens"];
        put?: never;
        /** Create a token; its secret is shown only once. Everybody creates their own, admins also those of others */
        post: operations["postTokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke a token immediately, with the tokens that were created with it */
        delete: operations["deleteTokensId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/accounts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the users of the identity provider who signed in or stored something */
        get: operations["getAccounts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/accounts/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End a user's access: sessions close, and tokens, keys and logins are deleted. The user can sign in again */
        delete: operations["deleteAccountsId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the keys that servers ask you for, and which of them you entered */
        get: operations["getKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{server}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a link to the page where you enter your keys for a server */
        post: operations["postKeysServerLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{server}/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Enter one of your keys for a server; your sessions with it are opened again */
        put: operations["putKeysServerName"];
        post?: never;
        /** Remove one of your keys for a server; your sessions with it end */
        delete: operations["deleteKeysServerName"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List audit records, newest first */
        get: operations["getAggregatorAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/audit/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Verify the audit; finds the first record that was changed, removed or inserted */
        get: operations["getAggregatorAuditVerify"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/audit/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export the audit with its seals, one JSON record per line, oldest first */
        get: operations["getAggregatorAuditExport"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/program": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Sign in a program on this computer with the identity provider */
        get: operations["getOauthProgram"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/oauth/program/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Page that asks whether to sign in the program */
        get: operations["getOauthProgramConfirm"];
        put?: never;
        /** Confirm that page and return to the program */
        post: operations["postOauthProgramConfirm"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/program": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Exchange the code of a program that was signed in for a token */
        post: operations["postSessionProgram"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/device": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begin to sign in on a machine without a browser (device flow) */
        post: operations["postSessionDevice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/device/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask whether the user has confirmed the sign-in, and get the token */
        post: operations["postSessionDeviceToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the principal of this request */
        get: operations["getSession"];
        put?: never;
        /** Sign in a browser, with a token or the code of a one-time link */
        post: operations["postSession"];
        /** Sign out */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/ways": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the sign-in methods other than tokens */
        get: operations["getSessionWays"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a one-time sign-in link for the caller */
        post: operations["postSessionLinks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/activity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get calls and states of the last hours and the latest calls, as seen by this process */
        get: operations["getAggregatorActivity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/activity/calls/{call_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the arguments and the result of a recent call (only with MCP_AGGREGATOR_SHOW_PAYLOADS=true) */
        get: operations["getAggregatorActivityCallsCallId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List running calls and the latest calls, as seen by this process */
        get: operations["getAggregatorCalls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/calls/{call_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Cancel a running call; callers can cancel their own, admins all */
        delete: operations["deleteAggregatorCallsCallId"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get calls over time: rates, errors and latency, by server, tool or client, of all replicas */
        get: operations["getAggregatorStats"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/attention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List what needs attention: held tools, logins, missing variables, failing servers */
        get: operations["getAggregatorAttention"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tools of all servers in brief, or of the servers that changed since an earlier answer */
        get: operations["getAggregatorTools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/profiles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List profiles */
        get: operations["getProfiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/profiles/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a profile */
        get: operations["getProfilesName"];
        /** Create or replace a profile */
        put: operations["putProfilesName"];
        post?: never;
        /** Remove a profile */
        delete: operations["deleteProfilesName"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/profiles/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Preview what MCP clients of a profile would see and what that costs, without saving it */
        post: operations["postProfilesPreview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/backup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Export the configuration: servers with sealed credentials, token hashes, profiles, skills, rules */
        get: operations["getAggregatorBackup"];
        put?: never;
        /** Import a configuration; entries with the same ID are replaced, nothing is removed */
        post: operations["postAggregatorBackup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aggregator/credentials/reseal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Seal all credentials with the current key; when none are left, the previous key can be removed */
        post: operations["postAggregatorCredentialsReseal"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Metrics for Prometheus */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Error: {
            detail: string;
            error_code: string;
            context?: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        ValidationError: {
            detail: {
                loc: (string | number)[];
                msg: string;
                type: string;
            }[];
            /** @constant */
            error_code: "VALIDATION_ERROR";
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getWellKnownOauthProtectedResource: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getWellKnownOauthProtectedResourceMcp: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getWellKnownOauthProtectedResourceMcpServersName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getWellKnownOauthProtectedResourceMcpProfilesName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getWellKnownOauthProtectedResourceSse: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getWellKnownOauthProtectedResourceMessages: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The metadata */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getAggregatorServersIdLogin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its state */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        server_id: string;
                        server: string;
                        /** @description null: no login is known to be needed */
                        state: ("active" | "required" | "expired") | null;
                        changed_at: string | null;
                        /** @description URL of the login page */
                        login_url: string;
                    };
                };
            };
        };
    };
    postAggregatorServersIdLogin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        server_id: string;
                        server: string;
                        /** @description null: no login is known to be needed */
                        state: ("active" | "required" | "expired") | null;
                        changed_at: string | null;
                        /** @description URL of the login page */
                        login_url: string;
                    };
                };
            };
        };
    };
    deleteAggregatorServersIdLogin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Logged out */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getAggregatorLogins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The logins */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        logins: {
                            server_id: string;
                            server: string;
                            /** @description null for a shared login */
                            principal: string | null;
                            principal_name: string | null;
                            /** @enum {string} */
                            state: "active" | "required" | "expired";
                            issuer: string | null;
                            scope: string | null;
                            changed_at: string;
                        }[];
                    };
                };
            };
        };
    };
    deleteAggregatorServersIdLoginsPrincipal: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
                /** @description as in the list of logins */
                principal: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getOauthClientJson: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getOauthClientIssuer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description key that identifies the authorization server */
                issuer: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getOauthConnectServer: {
        parameters: {
            query?: {
                ticket?: string;
            };
            header?: never;
            path: {
                server: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    postOauthConnectServer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                server: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getKeysServer: {
        parameters: {
            query?: {
                ticket?: string;
            };
            header?: never;
            path: {
                server: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    postKeysServer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                server: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    getOauthSignIn: {
        parameters: {
            query?: {
                /** @description the server to log in to afterwards; without it, the dashboard */
                next?: string;
                /** @description the server to enter keys for afterwards */
                keys?: string;
                /** @description asks for access that the aggregator can check, which tokens of your own require */
                lasting?: "1";
                /** @description the page of the dashboard to open afterwards */
                place?: string;
                /** @description set by the aggregator */
                moved?: "1";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    postOauthSignIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getOauthSignInCallback: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getOauthCallback: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    getOauthCallbackIssuer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description key that identifies the authorization server */
                issuer: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    getAggregatorServers: {
        parameters: {
            query?: {
                status?: "DISCONNECTED" | "CONNECTING" | "CONNECTED" | "DEGRADED" | "ERROR" | "DISCONNECTING";
                include_tools?: string;
                limit?: number;
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The servers, sorted by name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        servers: {
                            id: string;
                            name: string;
                            description: string | null;
                            /** @enum {string} */
                            transport_type: "STDIO" | "SSE" | "HTTP";
                            /** @enum {string} */
                            status: "DISCONNECTED" | "CONNECTING" | "CONNECTED" | "DEGRADED" | "ERROR" | "DISCONNECTING";
                            /** @description the server is not running: the next call starts it */
                            parked: boolean;
                            health_check_url: string | null;
                            tool_count: number;
                            error_message: string | null;
                            /** @description keys that each user enters for the server; see /api/v1/keys */
                            user_keys: string[];
                            /** @description the server waits for a login (OAuth) */
                            login: ("required" | "expired") | null;
                            last_health_check: string | null;
                            /** @description ISO 8601 */
                            registered_at: string;
                            connected_at: string | null;
                            /** @description when its tools, prompts and resources were last read */
                            discovered_at: string | null;
                            tools?: {
                                id: string;
                                /** @description canonical: server.tool */
                                name: string;
                                original_name: string;
                                title: string | null;
                                description: string;
                                skill_ids: string[];
                                primary_skill_id: string | null;
                                /** @description also true if no skill fits */
                                is_classified: boolean;
                                classification_state: string;
                                input_schema: {
                                    [key: string]: unknown;
                                };
                                output_schema?: {
                                    [key: string]: unknown;
                                };
                                /** @description what the server says about the tool: readOnlyHint, destructiveHint, idempotentHint, openWorldHint */
                                annotations?: {
                                    [key: string]: unknown;
                                };
                                /** @description the name that MCP clients see */
                                wire_name: string;
                                /** @description false: an admin disabled the tool; it is neither listed nor found nor callable */
                                enabled: boolean;
                                /** @description what an admin decided about the tool */
                                override?: {
                                    /** @description false: the tool is neither listed nor found nor callable */
                                    enabled?: boolean;
                                    /** @description the name that clients see instead of the one that the server gave */
                                    rename?: string;
                                    description?: string;
                                    /** @description arguments that every call gets, whatever the caller sends; clients do not see them, but users of the aggregator do */
                                    fixed_arguments?: {
                                        [key: string]: unknown;
                                    };
                                    /** @description arguments that clients do not see and that are not passed on */
                                    hidden_arguments?: string[];
                                };
                                /** @description ISO 8601 */
                                discovered_at: string;
                                /** @description hidden text or instructions to a model in the definition */
                                warnings?: {
                                    kind: string;
                                    at: string;
                                    excerpt: string;
                                }[];
                                /** @description the server changed the tool: calls are held until an admin decides */
                                held_change?: {
                                    id: number;
                                    state: string;
                                    risk: string;
                                };
                            }[];
                        }[];
                        total: number;
                        limit: number;
                        offset: number;
                    };
                };
            };
        };
    };
    postAggregatorServers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    /** @constant */
                    transport_type: "STDIO";
                    connection_config: {
                        command: string;
                        args?: string[];
                        env?: {
                            [key: string]: string;
                        };
                        /** @description a file of NAME=value lines; relative to cwd */
                        env_file?: string;
                        cwd?: string;
                    };
                    description?: string | null;
                    health_check_url?: string | null;
                    auto_connect?: boolean;
                    options?: {
                        /**
                         * @description whose a session with the server is. shared: one for all. client: one for each MCP client. principal: one for each token or user. auto: client where the server sends requests to its client or its tools keep state, else shared. per_client: former name of client
                         * @enum {string}
                         */
                        sessions?: "auto" | "shared" | "client" | "principal" | "per_client";
                        /**
                         * @description on_demand: the server is started by the first call that needs it and ended when it is idle; the default for STDIO. always: it stays connected; the default for SSE and HTTP
                         * @enum {string}
                         */
                        start?: "always" | "on_demand";
                        /**
                         * @description protocol revisions to use with the server. legacy: up to 2025-11-25. modern: 2026-07-28. auto: what it supports
                         * @enum {string}
                         */
                        protocol?: "auto" | "legacy" | "modern";
                        /**
                         * @description per_principal: each user logs in to the server and calls it with their own credentials
                         * @enum {string}
                         */
                        credentials?: "shared" | "per_principal";
                        /** @description seconds */
                        request_timeout?: number;
                        max_concurrent_calls?: number;
                        max_queued_calls?: number;
                        /** @description calls that the aggregator query makes on this server instead of planning its own */
                        query_tools?: {
                            tool: string;
                            /**
                             * @description "{{query}}" and "{{keywords}}" are replaced inside strings; with "{{word}}" every keyword is a call
                             * @default {}
                             */
                            arguments?: {
                                [key: string]: unknown;
                            };
                            follow_up?: {
                                tool: string;
                                /** @description also "{{id}}" */
                                arguments: {
                                    [key: string]: unknown;
                                };
                                /**
                                 * @description keys that hold the id
                                 * @default [
                                 *       "id"
                                 *     ]
                                 */
                                ids?: string[];
                                /** @default 1 */
                                take?: number;
                            };
                        }[];
                        /** @description tools that the aggregator query may call although they are not marked as read-only; SQL is still limited to SELECT */
                        query_readers?: string[];
                    };
                    /** @description decisions about single tools, by their own names; "*" in a name matches any characters */
                    tool_overrides?: {
                        [key: string]: {
                            /** @description false: the tool is neither listed nor found nor callable */
                            enabled?: boolean;
                            /** @description the name that clients see instead of the one that the server gave */
                            rename?: string;
                            description?: string;
                            /** @description arguments that every call gets, whatever the caller sends; clients do not see them, but users of the aggregator do */
                            fixed_arguments?: {
                                [key: string]: unknown;
                            };
                            /** @description arguments that clients do not see and that are not passed on */
                            hidden_arguments?: string[];
                        };
                    };
                } | {
                    name: string;
                    /** @constant */
                    transport_type: "SSE";
                    connection_config: {
                        url: string;
                        headers?: {
                            [key: string]: string;
                        };
                        oauth?: {
                            /**
                             * @description authorization_code: a user logs in; client_credentials: the aggregator logs in without a user
                             * @enum {string}
                             */
                            grant?: "authorization_code" | "client_credentials";
                            /** @description ID of the client that is registered at the authorization server */
                            client_id?: string;
                            client_secret?: string;
                            /** @description PEM; signs assertions instead of a client_secret */
                            private_key?: string;
                            /** @enum {string} */
                            signing_algorithm?: "RS256" | "ES256" | "EdDSA";
                            /** @description issuer of the authorization server; set it if the server lists none or several */
                            issuer?: string;
                            /** @description scopes to request instead of the ones that the server lists */
                            scopes?: string[];
                        };
                    };
                    description?: string | null;
                    health_check_url?: string | null;
                    auto_connect?: boolean;
                    options?: {
                        /**
                         * @description whose a session with the server is. shared: one for all. client: one for each MCP client. principal: one for each token or user. auto: client where the server sends requests to its client or its tools keep state, else shared. per_client: former name of client
                         * @enum {string}
                         */
                        sessions?: "auto" | "shared" | "client" | "principal" | "per_client";
                        /**
                         * @description on_demand: the server is started by the first call that needs it and ended when it is idle; the default for STDIO. always: it stays connected; the default for SSE and HTTP
                         * @enum {string}
                         */
                        start?: "always" | "on_demand";
                        /**
                         * @description protocol revisions to use with the server. legacy: up to 2025-11-25. modern: 2026-07-28. auto: what it supports
                         * @enum {string}
                         */
                        protocol?: "auto" | "legacy" | "modern";
                        /**
                         * @description per_principal: each user logs in to the server and calls it with their own credentials
                         * @enum {string}
                         */
                        credentials?: "shared" | "per_principal";
                        /** @description seconds */
                        request_timeout?: number;
                        max_concurrent_calls?: number;
                        max_queued_calls?: number;
                        /** @description calls that the aggregator query makes on this server instead of planning its own */
                        query_tools?: {
                            tool: string;
                            /**
                             * @description "{{query}}" and "{{keywords}}" are replaced inside strings; with "{{word}}" every keyword is a call
                             * @default {}
                             */
                            arguments?: {
                                [key: string]: unknown;
                            };
                            follow_up?: {
                                tool: string;
                                /** @description also "{{id}}" */
                                arguments: {
                                    [key: string]: unknown;
                                };
                                /**
                                 * @description keys that hold the id
                                 * @default [
                                 *       "id"
                                 *     ]
                                 */
                                ids?: string[];
                                /** @default 1 */
                                take?: number;
                            };
                        }[];
                        /** @description tools that the aggregator query may call although they are not marked as read-only; SQL is still limited to SELECT */
                        query_readers?: string[];
                    };
                    /** @description decisions about single tools, by their own names; "*" in a name matches any characters */
                    tool_overrides?: {
                        [key: string]: {
                            /** @description false: the tool is neither listed nor found nor callable */
                            enabled?: boolean;
                            /** @description the name that clients see instead of the one that the server gave */
                            rename?: string;
                            description?: string;
                            /** @description arguments that every call gets, whatever the caller sends; clients do not see them, but users of the aggregator do */
                            fixed_arguments?: {
                                [key: string]: unknown;
                            };
                            /** @description arguments that clients do not see and that are not passed on */
                            hidden_arguments?: string[];
                        };
                    };
                } | {
                    name: string;
                    /** @constant */
                    transport_type: "HTTP";
                    connection_config: {
                        base_url: string;
                        headers?: {
                            [key: string]: string;
                        };
                        oauth?: {
                            /**
                             * @description authorization_code: a user logs in; client_credentials: the aggregator logs in without a user
                             * @enum {string}
                             */
                            grant?: "authorization_code" | "client_credentials";
                            /** @description ID of the client that is registered at the authorization server */
                            client_id?: string;
                            client_secret?: string;
                            /** @description PEM; signs assertions instead of a client_secret */
                            private_key?: string;
                            /** @enum {string} */
                            signing_algorithm?: "RS256" | "ES256" | "EdDSA";
                            /** @description issuer of the authorization server; set it if the server lists none or several */
                            issuer?: string;
                            /** @description scopes to request instead of the ones that the server lists */
                            scopes?: string[];
                        };
                    };
                    description?: string | null;
                    health_check_url?: string | null;
                    auto_connect?: boolean;
                    options?: {
                        /**
                         * @description whose a session with the server is. shared: one for all. client: one for each MCP client. principal: one for each token or user. auto: client where the server sends requests to its client or its tools keep state, else shared. per_client: former name of client
                         * @enum {string}
                         */
                        sessions?: "auto" | "shared" | "client" | "principal" | "per_client";
                        /**
                         * @description on_demand: the server is started by the first call that needs it and ended when it is idle; the default for STDIO. always: it stays connected; the default for SSE and HTTP
                         * @enum {string}
                         */
                        start?: "always" | "on_demand";
                        /**
                         * @description protocol revisions to use with the server. legacy: up to 2025-11-25. modern: 2026-07-28. auto: what it supports
                         * @enum {string}
                         */
                        protocol?: "auto" | "legacy" | "modern";
                        /**
                         * @description per_principal: each user logs in to the server and calls it with their own credentials
                         * @enum {string}
                         */
                        credentials?: "shared" | "per_principal";
                        /** @description seconds */
                        request_timeout?: number;
                        max_concurrent_calls?: number;
                        max_queued_calls?: number;
                        /** @description calls that the aggregator query makes on this server instead of planning its own */
                        query_tools?: {
                            tool: string;
                            /**
                             * @description "{{query}}" and "{{keywords}}" are replaced inside strings; with "{{word}}" every keyword is a call
                             * @default {}
                             */
                            arguments?: {
                                [key: string]: unknown;
                            };
                            follow_up?: {
                                tool: string;
                                /** @description also "{{id}}" */
                                arguments: {
                                    [key: string]: unknown;
                                };
                                /**
                                 * @description keys that hold the id
                                 * @default [
                                 *       "id"
                                 *     ]
                                 */
                                ids?: string[];
                                /** @default 1 */
                                take?: number;
                            };
                        }[];
                        /** @description tools that the aggregator query may call although they are not marked as read-only; SQL is still limited to SELECT */
                        query_readers?: string[];
                    };
                    /** @description decisions about single tools, by their own names; "*" in a name matches any characters */
                    tool_overrides?: {
                        [key: string]: {
                            /** @description false: the tool is neither listed nor found nor callable */
                            enabled?: boolean;
                            /** @description the name that clients see instead of the one that the server gave */
                            rename?: string;
                            description?: string;
                            /** @description arguments that every call gets, whatever the caller sends; clients do not see them, but users of the aggregator do */
                            fixed_arguments?: {
                                [key: string]: unknown;
                            };
                            /** @description arguments that clients do not see and that are not passed on */
                            hidden_arguments?: string[];
                        };
                    };
                };
            };
        };
        responses: {
            /** @description Registered; the connection is made in the background */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        name: string;
                        description: string | null;
                        /** @enum {string} */
                        transport_type: "STDIO" | "SSE" | "HTTP";
                        /** @enum {string} */
                        status: "DISCONNECTED" | "CONNECTING" | "CONNECTED" | "DEGRADED" | "ERROR" | "DISCONNECTING";
                        /** @description the server is not running: the next call starts it */
                        parked: boolean;
                        health_check_url: string | null;
                        tool_count: number;
                        error_message: string | null;
                        /** @description keys that each user enters for the server; see /api/v1/keys */
                        user_keys: string[];
                        /** @description the server waits for a login (OAuth) */
                        login: ("required" | "expired") | null;
                        last_health_check: string | null;
                        /** @description ISO 8601 */
                        registered_at: string;
                        connected_at: string | null;
                        /** @description when its tools, prompts and resources were last read */
                        discovered_at: string | null;
                        tools?: {
                            id: string;
                            /** @description canonical: server.tool */
                            name: string;
                            original_name: string;
                            title: string | null;
                            description: string;
                            skill_ids: string[];
                            primary_skill_id: string | null;
                            /** @description also true if no skill fits */
                            is_classified: boolean;
                            classification_state: string;
                            input_schema: {
                                [key: string]: unknown;
                            };
                            output_schema?: {
                                [key: string]: unknown;
                            };
                            /** @description what the server says about the tool: readOnlyHint, destructiveHint, idempotentHint, openWorldHint */
                            annotations?: {
                                [key: string]: unknown;
                            };
                            /** @description the name that MCP clients see */
                            wire_name: string;
                            /** @description false: an admin disabled the tool; it is neither listed nor found nor callable */
                            enabled: boolean;
                            /** @description what an admin decided about the tool */
                            override?: {
                                /** @description false: the tool is neither listed nor found nor callable */
                                enabled?: boolean;
                                /** @description the name that clients see instead of the one that the server gave */
                                rename?: string;
                                description?: string;
                                /** @description arguments that every call gets, whatever the caller sends; clients do not see them, but users of the aggregator do */
                                fixed_arguments?: {
                                    [key: string]: unknown;
                                };
                                /** @description arguments that clients do not see and that are not passed on */
                                hidden_arguments?: string[];
                            };
                            /** @description ISO 8601 */
                            discovered_at: string;
                            /** @description hidden text or instructions to a model in the definition */
                            warnings?: {
                                kind: string;
                                at: string;
                                excerpt: string;
                            }[];
                            /** @description the server changed the tool: calls are held until an admin decides */
                            held_change?: {
                                id: number;
                                state: string;
                                risk: string;
                            };
                        }[];
                    };
                };
            };
        };
    };
    getAggregatorServersId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The server; credentials are masked */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        name: string;
                        description: string | null;
                        /** @enum {string} */
                        transport_type: "STDIO" | "SSE" | "HTTP";
                        /** @enum {string} */
                        status: "DISCONNECTED" | "CONNECTING" | "CONNECTED" | "DEGRADED" | "ERROR" | "DISCONNECTING";
                        /** @description the server is not running: the next call starts it */
                        parked: boolean;
                        health_check_url: string | null;
                        tool_count: number;
                        error_message: string | null;
                        /** @description keys that each user enters for the server; see /api/v1/keys */
                        user_keys: string[];
                        /** @description the server waits for a login (OAuth) */
                        login: ("required" | "expired") | null;
                        last_health_check: string | null;
                        /** @description ISO 8601 */
                        registered_at: string;
                        connected_at: string | null;
                        /** @description when its tools, prompts and resources were last read */
                        discovered_at: string | null;
                        tools?: {
                            id: string;
                            /** @description canonical: server.tool */
                            name: string;
                            original_name: string;
                            title: string | null;
                            description: string;
                            skill_ids: string[];
                            primary_skill_id: string | null;
                            /** @description also true if no skill fits */
                            is_classified: boolean;
                            classification_state: string;
                            input_schema: {
                                [key: string]: unknown;
                            };
                            output_schema?: {
                                [key: string]: unknown;
                            };
                            /** @description what the server says about the tool: readOnlyHint, destructiveHint, idempotentHint, openWorldHint */
                            annotations?: {
                                [key: string]: unknown;
                            };
                            /** @description the name that MCP clients see */
                            wire_name: string;
                            /** @description false: an admin disabled the tool; it is neither listed nor found nor callable */
                            enabled: boolean;
                            /** @description what an admin decided about the tool */
                            override?: {
                                /** @description false: the tool is neither listed nor found nor callable */
                                enabled?: boolean;
                                /** @description the name that clients see instead of the one that the server gave */
                                rename?: string;
                                description?: string;
                                /** @description arguments that every call gets, whatever the caller sends; clients do not see them, but users of the aggregator do */
                                fixed_arguments?: {
                                    [key: string]: unknown;
                                };
                                /** @description arguments that clients do not see and that are not passed on */
                                hidden_arguments?: string[];
                            };
                            /** @description ISO 8601 */
                            discovered_at: string;
                            /** @description hidden text or instructions to a model in the definition */
                            warnings?: {
                                kind: string;
                                at: string;
                                excerpt: string;
                            }[];
                            /** @description the server changed the tool: calls are held until an admin decides */
                            held_change?: {
                                id: number;
                                state: string;
                                risk: string;
                            };
                        }[];
                        /** @description values of headers, env, URL parameters and secret arguments are masked */
                        connection_config: {
                            [key: string]: unknown;
                        };
                        options: {
                            [key: string]: unknown;
                        };
                        /** @description decisions about single tools, by their own names; "*" in a name matches any characters */
                        tool_overrides: {
                            [key: string]: {
                                /** @description false: the tool is neither listed nor found nor callable */
                                enabled?: boolean;
                                /** @description the name that clients see instead of the one that the server gave */
                                rename?: string;
                                description?: string;
                                /** @description arguments that every call gets, whatever the caller sends; clients do not see them, but users of the aggregator do */
                                fixed_arguments?: {
                                    [key: string]: unknown;
                                };
                                /** @description arguments that clients do not see and that are not passed on */
                                hidden_arguments?: string[];
                            };
                        };
                        auto_connect: boolean;
                        origin: string;
                        protocol_version: string | null;
                        era: ("modern" | "legacy") | null;
                        /** @description whose a session with the server is: one for all callers, one for each MCP client, one for each principal */
                        sessions: {
                            /** @enum {string} */
                            ownership: "shared" | "client" | "principal";
                            /** @enum {string} */
                            source: "setting" | "observed" | "inferred" | "default";
                            reason: string;
                        };
                        server_info: {
                            [key: string]: unknown;
                        } | null;
                        instructions: string | null;
                        stderr_tail: string | null;
                        consecutive_failures: number;
                        active_calls: number;
                        queued_calls: number;
                        client_sessions: number;
                        /** @description ISO 8601 */
                        updated_at: string;
                        /** @description status per running replica; status and error_message above are the best of them */
                        replicas: {
                            id: string;
                            /** @enum {string} */
                            status: "DISCONNECTED" | "CONNECTING" | "CONNECTED" | "DEGRADED" | "ERROR" | "DISCONNECTING";
                            error: string | null;
                        }[];
                    };
                };
            };
        };
    };
    deleteAggregatorServersId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    patchAggregatorServersId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description renames the server and with it all its tools */
                    name?: string;
                    /** @enum {string} */
                    transport_type?: "STDIO" | "SSE" | "HTTP";
                    connection_config?: {
                        [key: string]: unknown;
                    };
                    description?: string | null;
                    health_check_url?: string | null;
                    auto_connect?: boolean;
                    options?: {
                        /**
                         * @description whose a session with the server is. shared: one for all. client: one for each MCP client. principal: one for each token or user. auto: client where the server sends requests to its client or its tools keep state, else shared. per_client: former name of client
                         * @enum {string}
                         */
                        sessions?: "auto" | "shared" | "client" | "principal" | "per_client";
                        /**
                         * @description on_demand: the server is started by the first call that needs it and ended when it is idle; the default for STDIO. always: it stays connected; the default for SSE and HTTP
                         * @enum {string}
                         */
                        start?: "always" | "on_demand";
                        /**
                         * @description protocol revisions to use with the server. legacy: up to 2025-11-25. modern: 2026-07-28. auto: what it supports
                         * @enum {string}
                         */
                        protocol?: "auto" | "legacy" | "modern";
                        /**
                         * @description per_principal: each user logs in to the server and calls it with their own credentials
                         * @enum {string}
                         */
                        credentials?: "shared" | "per_principal";
                        /** @description seconds */
                        request_timeout?: number;
                        max_concurrent_calls?: number;
                        max_queued_calls?: number;
                        /** @description calls that the aggregator query makes on this server instead of planning its own */
                        query_tools?: {
                            tool: string;
                            /**
                             * @description "{{query}}" and "{{keywords}}" are replaced inside strings; with "{{word}}" every keyword is a call
                             * @default {}
                             */
                            arguments?: {
                                [key: string]: unknown;
                            };
                            follow_up?: {
                                tool: string;
                                /** @description also "{{id}}" */
                                arguments: {
                                    [key: string]: unknown;
                                };
                                /**
                                 * @description keys that hold the id
                                 * @default [
                                 *       "id"
                                 *     ]
                                 */
                                ids?: string[];
                                /** @default 1 */
                                take?: number;
                            };
                        }[];
                        /** @description tools that the aggregator query may call although they are not marked as read-only; SQL is still limited to SELECT */
                        query_readers?: string[];
                    };
                    /** @description decisions about single tools, by their own names; "*" in a name matches any characters */
                    tool_overrides?: {
                        [key: string]: {
                            /** @description false: the tool is neither listed nor found nor callable */
                            enabled?: boolean;
                            /** @description the name that clients see instead of the one that the server gave */
                            rename?: string;
                            description?: string;
                            /** @description arguments that every call gets, whatever the caller sends; clients do not see them, but users of the aggregator do */
                            fixed_arguments?: {
                                [key: string]: unknown;
                            };
                            /** @description arguments that clients do not see and that are not passed on */
                            hidden_arguments?: string[];
                        };
                    };
                };
            };
        };
        responses: {
            /** @description The changed server */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        name: string;
                        description: string | null;
                        /** @enum {string} */
                        transport_type: "STDIO" | "SSE" | "HTTP";
                        /** @enum {string} */
                        status: "DISCONNECTED" | "CONNECTING" | "CONNECTED" | "DEGRADED" | "ERROR" | "DISCONNECTING";
                        /** @description the server is not running: the next call starts it */
                        parked: boolean;
                        health_check_url: string | null;
                        tool_count: number;
                        error_message: string | null;
                        /** @description keys that each user enters for the server; see /api/v1/keys */
                        user_keys: string[];
                        /** @description the server waits for a login (OAuth) */
                        login: ("required" | "expired") | null;
                        last_health_check: string | null;
                        /** @description ISO 8601 */
                        registered_at: string;
                        connected_at: string | null;
                        /** @description when its tools, prompts and resources were last read */
                        discovered_at: string | null;
                        tools?: {
                            id: string;
                            /** @description canonical: server.tool */
                            name: string;
                            original_name: string;
                            title: string | null;
                            description: string;
                            skill_ids: string[];
                            primary_skill_id: string | null;
                            /** @description also true if no skill fits */
                            is_classified: boolean;
                            classification_state: string;
                            input_schema: {
                                [key: string]: unknown;
                            };
                            output_schema?: {
                                [key: string]: unknown;
                            };
                            /** @description what the server says about the tool: readOnlyHint, destructiveHint, idempotentHint, openWorldHint */
                            annotations?: {
                                [key: string]: unknown;
                            };
                            /** @description the name that MCP clients see */
                            wire_name: string;
                            /** @description false: an admin disabled the tool; it is neither listed nor found nor callable */
                            enabled: boolean;
                            /** @description what an admin decided about the tool */
                            override?: {
                                /** @description false: the tool is neither listed nor found nor callable */
                                enabled?: boolean;
                                /** @description the name that clients see instead of the one that the server gave */
                                rename?: string;
                                description?: string;
                                /** @description arguments that every call gets, whatever the caller sends; clients do not see them, but users of the aggregator do */
                                fixed_arguments?: {
                                    [key: string]: unknown;
                                };
                                /** @description arguments that clients do not see and that are not passed on */
                                hidden_arguments?: string[];
                            };
                            /** @description ISO 8601 */
                            discovered_at: string;
                            /** @description hidden text or instructions to a model in the definition */
                            warnings?: {
                                kind: string;
                                at: string;
                                excerpt: string;
                            }[];
                            /** @description the server changed the tool: calls are held until an admin decides */
                            held_change?: {
                                id: number;
                                state: string;
                                risk: string;
                            };
                        }[];
                        /** @description values of headers, env, URL parameters and secret arguments are masked */
                        connection_config: {
                            [key: string]: unknown;
                        };
                        options: {
                            [key: string]: unknown;
                        };
                        /** @description decisions about single tools, by their own names; "*" in a name matches any characters */
                        tool_overrides: {
                            [key: string]: {
                                /** @description false: the tool is neither listed nor found nor callable */
                                enabled?: boolean;
                                /** @description the name that clients see instead of the one that the server gave */
                                rename?: string;
                                description?: string;
                                /** @description arguments that every call gets, whatever the caller sends; clients do not see them, but users of the aggregator do */
                                fixed_arguments?: {
                                    [key: string]: unknown;
                                };
                                /** @description arguments that clients do not see and that are not passed on */
                                hidden_arguments?: string[];
                            };
                        };
                        auto_connect: boolean;
                        origin: string;
                        protocol_version: string | null;
                        era: ("modern" | "legacy") | null;
                        /** @description whose a session with the server is: one for all callers, one for each MCP client, one for each principal */
                        sessions: {
                            /** @enum {string} */
                            ownership: "shared" | "client" | "principal";
                            /** @enum {string} */
                            source: "setting" | "observed" | "inferred" | "default";
                            reason: string;
                        };
                        server_info: {
                            [key: string]: unknown;
                        } | null;
                        instructions: string | null;
                        stderr_tail: string | null;
                        consecutive_failures: number;
                        active_calls: number;
                        queued_calls: number;
                        client_sessions: number;
                        /** @description ISO 8601 */
                        updated_at: string;
                        /** @description status per running replica; status and error_message above are the best of them */
                        replicas: {
                            id: string;
                            /** @enum {string} */
                            status: "DISCONNECTED" | "CONNECTING" | "CONNECTED" | "DEGRADED" | "ERROR" | "DISCONNECTING";
                            error: string | null;
                        }[];
                    };
                };
            };
        };
    };
    postAggregatorServersIdConnect: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The server is connecting or already connected */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        server_id: string;
                        /** @enum {string} */
                        status: "DISCONNECTED" | "CONNECTING" | "CONNECTED" | "DEGRADED" | "ERROR" | "DISCONNECTING";
                        message: string;
                    };
                };
            };
        };
    };
    postAggregatorServersIdDisconnect: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @default false */
                    force?: boolean;
                };
            };
        };
        responses: {
            /** @description Disconnected, or waiting for pending calls */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        server_id: string;
                        /** @enum {string} */
                        status: "DISCONNECTED" | "CONNECTING" | "CONNECTED" | "DEGRADED" | "ERROR" | "DISCONNECTING";
                        pending_requests: number;
                        message: string;
                    };
                };
            };
        };
    };
    getAggregatorServersIdTools: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tools in the server's order, disabled ones included */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        tools: {
                            id: string;
                            /** @description canonical: server.tool */
                            name: string;
                            original_name: string;
                            title: string | null;
                            description: string;
                            skill_ids: string[];
                            primary_skill_id: string | null;
                            /** @description also true if no skill fits */
                            is_classified: boolean;
                            classification_state: string;
                            input_schema: {
                                [key: string]: unknown;
                            };
                            output_schema?: {
                                [key: string]: unknown;
                            };
                            /** @description what the server says about the tool: readOnlyHint, destructiveHint, idempotentHint, openWorldHint */
                            annotations?: {
                                [key: string]: unknown;
                            };
                            /** @description the name that MCP clients see */
                            wire_name: string;
                            /** @description false: an admin disabled the tool; it is neither listed nor found nor callable */
                            enabled: boolean;
                            /** @description what an admin decided about the tool */
                            override?: {
                                /** @description false: the tool is neither listed nor found nor callable */
                                enabled?: boolean;
                                /** @description the name that clients see instead of the one that the server gave */
                                rename?: string;
                                description?: string;
                                /** @description arguments that every call gets, whatever the caller sends; clients do not see them, but users of the aggregator do */
                                fixed_arguments?: {
                                    [key: string]: unknown;
                                };
                                /** @description arguments that clients do not see and that are not passed on */
                                hidden_arguments?: string[];
                            };
                            /** @description ISO 8601 */
                            discovered_at: string;
                            /** @description hidden text or instructions to a model in the definition */
                            warnings?: {
                                kind: string;
                                at: string;
                                excerpt: string;
                            }[];
                            /** @description the server changed the tool: calls are held until an admin decides */
                            held_change?: {
                                id: number;
                                state: string;
                                risk: string;
                            };
                        }[];
                        total: number;
                        /** @description also those that no skill fits */
                        classified: number;
                        /** @description classification failed or has not run yet */
                        unclassified: number;
                    };
                };
            };
        };
    };
    postAggregatorServersIdToolsRefresh: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Discovery has started */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        server_id: string;
                        /** @constant */
                        status: "REFRESHING";
                        message: string;
                    };
                };
            };
        };
    };
    getAggregatorServersIdOutput: {
        parameters: {
            query?: {
                /** @description only lines after this one */
                after?: number;
            };
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The lines, oldest first; secrets are masked */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        lines: {
                            seq: number;
                            at: string;
                            text: string;
                        }[];
                    };
                };
            };
        };
    };
    getAggregatorServersIdProcesses: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The processes that were started for the server */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        processes: {
                            pid: number;
                            /** @description resident, with its children; null where unknown */
                            memory_bytes: number | null;
                        }[];
                    };
                };
            };
        };
    };
    getAggregatorServersIdHistory: {
        parameters: {
            query?: {
                limit?: number;
                /** @description the ID of the last entry of the previous page */
                before?: number;
            };
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Status changes, discoveries, changed tools, errors */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        history: {
                            id: number;
                            event_type: string;
                            details: {
                                [key: string]: unknown;
                            } | null;
                            timestamp: string;
                        }[];
                    };
                };
            };
        };
    };
    postAggregatorServersImport: {
        parameters: {
            query?: {
                dry_run?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description The result for each server */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        dry_run: boolean;
                        results: {
                            /** @description the name in the file */
                            key: string;
                            /** @description the name that it is or would be registered under */
                            name: string | null;
                            /**
                             * @description already_exists: a server with the same connection is registered
                             * @enum {string}
                             */
                            outcome: "registered" | "would_register" | "already_exists" | "skipped" | "invalid";
                            transport_type: ("STDIO" | "SSE" | "HTTP") | null;
                            reason: string | null;
                            warnings: string[];
                            server_id: string | null;
                        }[];
                        registered: number;
                        already_exists: number;
                        invalid: number;
                    };
                };
            };
        };
    };
    getAggregatorServersImportFound: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One entry per client file */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        files: {
                            results: {
                                /** @description the name in the file */
                                key: string;
                                /** @description the name that it is or would be registered under */
                                name: string | null;
                                /**
                                 * @description already_exists: a server with the same connection is registered
                                 * @enum {string}
                                 */
                                outcome: "registered" | "would_register" | "already_exists" | "skipped" | "invalid";
                                transport_type: ("STDIO" | "SSE" | "HTTP") | null;
                                reason: string | null;
                                warnings: string[];
                                server_id: string | null;
                            }[];
                            client: string;
                            path: string;
                            problem: string | null;
                        }[];
                    };
                };
            };
        };
    };
    postAggregatorServersImportFound: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    path: string;
                };
            };
        };
        responses: {
            /** @description The result for each server */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        dry_run: boolean;
                        results: {
                            /** @description the name in the file */
                            key: string;
                            /** @description the name that it is or would be registered under */
                            name: string | null;
                            /**
                             * @description already_exists: a server with the same connection is registered
                             * @enum {string}
                             */
                            outcome: "registered" | "would_register" | "already_exists" | "skipped" | "invalid";
                            transport_type: ("STDIO" | "SSE" | "HTTP") | null;
                            reason: string | null;
                            warnings: string[];
                            server_id: string | null;
                        }[];
                        registered: number;
                        already_exists: number;
                        invalid: number;
                    };
                };
            };
        };
    };
    patchAggregatorServersIdToolsTool: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
                /** @description name of the tool; "*" matches any characters */
                tool: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    enabled?: boolean | null;
                    rename?: string | null;
                    description?: string | null;
                    fixed_arguments?: {
                        [key: string]: unknown;
                    } | null;
                    hidden_arguments?: string[] | null;
                };
            };
        };
        responses: {
            /** @description The tools that the change is about */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        tools: {
                            id: string;
                            /** @description canonical: server.tool */
                            name: string;
                            original_name: string;
                            title: string | null;
                            description: string;
                            skill_ids: string[];
                            primary_skill_id: string | null;
                            /** @description also true if no skill fits */
                            is_classified: boolean;
                            classification_state: string;
                            input_schema: {
                                [key: string]: unknown;
                            };
                            output_schema?: {
                                [key: string]: unknown;
                            };
                            /** @description what the server says about the tool: readOnlyHint, destructiveHint, idempotentHint, openWorldHint */
                            annotations?: {
                                [key: string]: unknown;
                            };
                            /** @description the name that MCP clients see */
                            wire_name: string;
                            /** @description false: an admin disabled the tool; it is neither listed nor found nor callable */
                            enabled: boolean;
                            /** @description what an admin decided about the tool */
                            override?: {
                                /** @description false: the tool is neither listed nor found nor callable */
                                enabled?: boolean;
                                /** @description the name that clients see instead of the one that the server gave */
                                rename?: string;
                                description?: string;
                                /** @description arguments that every call gets, whatever the caller sends; clients do not see them, but users of the aggregator do */
                                fixed_arguments?: {
                                    [key: string]: unknown;
                                };
                                /** @description arguments that clients do not see and that are not passed on */
                                hidden_arguments?: string[];
                            };
                            /** @description ISO 8601 */
                            discovered_at: string;
                            /** @description hidden text or instructions to a model in the definition */
                            warnings?: {
                                kind: string;
                                at: string;
                                excerpt: string;
                            }[];
                            /** @description the server changed the tool: calls are held until an admin decides */
                            held_change?: {
                                id: number;
                                state: string;
                                risk: string;
                            };
                        }[];
                    };
                };
            };
        };
    };
    getAggregatorServersIdChanges: {
        parameters: {
            query?: {
                state?: "pending" | "approved" | "rejected" | "withdrawn" | "removed";
                tool?: string;
                limit?: number;
                /** @description the ID of the last change of the previous page */
                before?: number;
            };
            header?: never;
            path: {
                /** @description the server's id or name */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The changes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        changes: {
                            id: number;
                            /** @description the server's own name of the tool */
                            tool: string;
                            /** @description from lowest (other, text) to highest (required_parameter, instructions) */
                            risk: string;
                            parts: {
                                risk: string;
                                what: string;
                            }[];
                            /** @enum {string} */
                            state: "pending" | "approved" | "rejected" | "withdrawn" | "removed";
                            before: {
                                [key: string]: unknown;
                            };
                            /** @description null if the server removed the tool */
                            after: {
                                [key: string]: unknown;
                            } | null;
                            at: string;
                            decided_at: string | null;
                            decided_by: string | null;
                            /** @description why it was approved or rejected */
                            reason: string | null;
                        }[];
                    };
                };
            };
        };
    };
    postAggregatorServersIdChangesChangeIdApprove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                change_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    reason?: string | null;
                };
            };
        };
        responses: {
            /** @description The decided change */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: number;
                        /** @description the server's own name of the tool */
                        tool: string;
                        /** @description from lowest (other, text) to highest (required_parameter, instructions) */
                        risk: string;
                        parts: {
                            risk: string;
                            what: string;
                        }[];
                        /** @enum {string} */
                        state: "pending" | "approved" | "rejected" | "withdrawn" | "removed";
                        before: {
                            [key: string]: unknown;
                        };
                        /** @description null if the server removed the tool */
                        after: {
                            [key: string]: unknown;
                        } | null;
                        at: string;
                        decided_at: string | null;
                        decided_by: string | null;
                        /** @description why it was approved or rejected */
                        reason: string | null;
                    };
                };
            };
        };
    };
    postAggregatorServersIdChangesChangeIdReject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
                change_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    reason?: string | null;
                };
            };
        };
        responses: {
            /** @description The decided change */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: number;
                        /** @description the server's own name of the tool */
                        tool: string;
                        /** @description from lowest (other, text) to highest (required_parameter, instructions) */
                        risk: string;
                        parts: {
                            risk: string;
                            what: string;
                        }[];
                        /** @enum {string} */
                        state: "pending" | "approved" | "rejected" | "withdrawn" | "removed";
                        before: {
                            [key: string]: unknown;
                        };
                        /** @description null if the server removed the tool */
                        after: {
                            [key: string]: unknown;
                        } | null;
                        at: string;
                        decided_at: string | null;
                        decided_by: string | null;
                        /** @description why it was approved or rejected */
                        reason: string | null;
                    };
                };
            };
        };
    };
    postToolsCall: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description canonical name (server.tool), MCP name, unambiguous short name, or a tool of the aggregator itself */
                    name: string;
                    /** @default {} */
                    arguments?: {
                        [key: string]: unknown;
                    };
                    /** @description the id or name of the server that has the tool */
                    server_id?: string;
                };
            };
        };
        responses: {
            /** @description The result of the server, with routing metadata */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        content: unknown[];
                        isError: boolean;
                        metadata: {
                            routed_to: string;
                            /** @description null for a tool of the aggregator itself */
                            server_id: string | null;
                            routing_time_ms: number;
                            execution_time_ms: number;
                            total_time_ms: number;
                            warning?: string;
                        } & {
                            [key: string]: unknown;
                        };
                    } & {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    postQuery: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
            };
        };
        responses: {
            /** @description The results */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        results: {
                            /** @description The result content from the MCP server */
                            content: string;
                            /** @description Which MCP server provided this result */
                            server: string;
                            /** @description Relevance score (0.0 to 1.0) */
                            relevanceScore: number;
                            /** @description Ranking position (1 = most relevant) */
                            rank: number;
                            /**
                             * Format: date-time
                             * @description When this result was retrieved
                             */
                            timestamp?: string;
                            tool?: string;
                            title?: string;
                            link?: string;
                            /** @description The servers and tools that returned this result, the shown one first, at most five */
                            sources?: {
                                server: string;
                                tool: string;
                                /** @description Position in the answer of that tool, from 0 */
                                position?: number;
                                /** @description Only if it differs from the value of the result */
                                title?: string;
                                /** @description Only if it differs from the value of the result */
                                link?: string;
                            }[];
                            /** @description How many more there are */
                            moreSources?: number;
                            /** @description True if the content was shortened, to the relevant passages or by a model */
                            condensed?: boolean;
                        }[];
                        metadata: {
                            /** @description Number of servers queried */
                            serversQueried: number;
                            /** @description Number of servers that responded successfully */
                            serversSucceeded: number;
                            /** @description Total results before ranking/dedup */
                            totalResultsRaw?: number;
                            /** @description Results after deduplication */
                            totalResultsDedup?: number;
                            /** @description Final result count returned */
                            resultsReturned: number;
                            /** @description How many of them were shortened */
                            resultsCondensed?: number;
                            /** @description Total processing time in milliseconds */
                            processingTimeMs: number;
                            /** @description Proportion of queried servers that contributed results */
                            serverDiversity?: number;
                            /**
                             * @description How the servers were selected
                             * @enum {string}
                             */
                            chosenBy?: "call" | "rule" | "all";
                            /** @description The server rule that matched */
                            pattern?: string;
                            /** @description Estimated tokens of everything the servers sent */
                            tokensRaw?: number;
                            /** @description Estimated tokens of the content returned */
                            tokensReturned?: number;
                            /** @description An answer exceeded the memory limit and was cut after a complete item */
                            truncated?: boolean;
                            dedupeComplete?: boolean;
                            /** @enum {string} */
                            ranking?: "local" | "model";
                            warnings?: string[];
                            servers?: {
                                server: string;
                                ok: boolean;
                                ms: number;
                                /** @description What its answers held */
                                items: number;
                                /** @description How many of them answer the query */
                                relevant: number;
                                error?: string;
                                /** @description Tools that were not called because they kept failing */
                                resting?: string[];
                                calls: {
                                    /** @description The tool, or the method for resources and completions */
                                    tool: string;
                                    /** @description How often it was called */
                                    count: number;
                                    /** @description Of the slowest call */
                                    ms: number;
                                    items: number;
                                    truncated?: boolean;
                                    error?: string;
                                }[];
                            }[];
                            /** @description Servers that were not queried, with the reason */
                            skipped?: {
                                server: string;
                                reason: string;
                            }[];
                        };
                        /** @description Only with explain */
                        plan?: {
                            server: string;
                            /** @description How the server is queried, as text */
                            strategy: string[];
                            /** @description The first calls; further calls depend on their answers */
                            calls: {
                                tool: string;
                                arguments: {
                                    [key: string]: unknown;
                                };
                                reason: string;
                            }[];
                            /** @description Tools that are never called by a query */
                            leftOut: {
                                tool: string;
                                reason: string;
                            }[];
                        }[];
                    };
                    "text/event-stream": string;
                };
            };
        };
    };
    getAggregatorServersIdQueryStrategy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The explanation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description how the server is queried, one sentence each; empty if it cannot be queried */
                        strategy: string[];
                        never_called: {
                            tool: string;
                            reason: string;
                        }[];
                    };
                };
            };
        };
    };
    getQueryRules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The rules in order; the first match applies */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        serverRules: {
                            pattern: string;
                            servers: string[];
                        }[];
                    };
                };
            };
        };
    };
    putQueryRules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    serverRules: {
                        pattern: string;
                        servers: string[];
                    }[];
                };
            };
        };
        responses: {
            /** @description The rules */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        serverRules: {
                            pattern: string;
                            servers: string[];
                        }[];
                    };
                };
            };
        };
    };
    postSearch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The task, in plain words; required without `queries` */
                    query?: string;
                    /** @description One query for each step of a task that needs several tools, in plain words, for example ["find a customer by email", "send a message to a channel"]; every step gets a fair share of `limit`, and at least one tool */
                    queries?: string[];
                    /** @enum {string} */
                    item_type?: "tool";
                    /**
                     * @description false: only the tools of the aggregator itself
                     * @default true
                     */
                    include_external?: boolean;
                    server_filter?: string[] | null;
                    /** @default 10 */
                    limit?: number;
                    /** @default 0.4 */
                    skill_threshold?: number;
                    /**
                     * @description minimum score; tools below it are left out, so the result may be empty
                     * @default 0.3
                     */
                    tool_threshold?: number;
                    /** @default true */
                    include_schemas?: boolean;
                    /** @default false */
                    include_reasons?: boolean;
                    /**
                     * @default hierarchical
                     * @enum {string}
                     */
                    strategy?: "hierarchical" | "direct" | "lexical" | "auto";
                };
            };
        };
        responses: {
            /** @description Tools, best match first; with `queries` the best of each step first, then the second of each. Empty if no tool fits */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        query?: string;
                        tools: {
                            id: string;
                            db_id: number;
                            /** @constant */
                            type: "tool";
                            name: string;
                            original_name: string;
                            description: string;
                            score: number;
                            skill_ids: string[];
                            primary_skill_id: string | null;
                            source_server: {
                                id: string;
                                name: string;
                                /** @enum {string} */
                                status: "DISCONNECTED" | "CONNECTING" | "CONNECTED" | "DEGRADED" | "ERROR" | "DISCONNECTING";
                            } | null;
                            input_schema?: {
                                [key: string]: unknown;
                            };
                            alternatives?: {
                                name: string;
                                source_server: {
                                    id: string;
                                    name: string;
                                    /** @enum {string} */
                                    status: "DISCONNECTED" | "CONNECTING" | "CONNECTED" | "DEGRADED" | "ERROR" | "DISCONNECTING";
                                };
                            }[];
                            /** @description With `queries`: the positions of the steps that the tool is for, from 0; empty if only `query` found it */
                            steps?: number[];
                            reasons?: {
                                matched_words: string[];
                                similarity: number | null;
                                skills: string[];
                            };
                        }[];
                        /** @description With `queries`: the names of the tools for each step, best first; empty if no tool fits it */
                        steps?: {
                            query: string;
                            tools: string[];
                        }[];
                        matched_skills: {
                            id: string;
                            name: string;
                            score: number;
                        }[];
                        metadata: {
                            strategy_used: string;
                            servers_searched: number;
                            external_tools_count: number;
                            total_time_ms: number;
                        } & {
                            [key: string]: unknown;
                        };
                    };
                };
            };
        };
    };
    getSearchQuality: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The findings */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
        };
    };
    getSkills: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The skills, sorted by ID */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        skills: {
                            name: string;
                            description: string;
                            /** @default [] */
                            examples: string[];
                            id: string;
                            tool_count: number;
                        }[];
                        total: number;
                    };
                };
            };
        };
    };
    getSkillsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The skill */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                        description: string;
                        /** @default [] */
                        examples: string[];
                        id: string;
                        tool_count: number;
                    };
                };
            };
        };
    };
    putSkillsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    description: string;
                    /** @default [] */
                    examples?: string[];
                };
            };
        };
        responses: {
            /** @description Changed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                        description: string;
                        /** @default [] */
                        examples: string[];
                        id: string;
                        tool_count: number;
                    };
                };
            };
            /** @description Added */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                        description: string;
                        /** @default [] */
                        examples: string[];
                        id: string;
                        tool_count: number;
                    };
                };
            };
        };
    };
    deleteSkillsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getAggregatorState: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The counts */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        total_servers: number;
                        /** @description CONNECTED and DEGRADED */
                        connected_servers: number;
                        degraded_servers: number;
                        disconnected_servers: number;
                        error_servers: number;
                        connecting_servers: number;
                        total_tools: number;
                        /** @description tools that were classified, also those that no skill fits */
                        classified_tools: number;
                        /** @description tools whose classification failed or has not run yet */
                        unclassified_tools: number;
                        /** @description tools that are not indexed yet, or are waiting for a new embedding model */
                        indexing_tools: number;
                        /** @description tools that are waiting for classification */
                        classifying_tools: number;
                        last_sync: string | null;
                        health_check_interval_seconds: number;
                        uptime_seconds: number;
                    };
                };
            };
        };
    };
    getAggregatorHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description healthy or degraded: calls are answered */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "healthy" | "degraded";
                        checks: {
                            database: string;
                            qdrant: string;
                            sessions: string;
                        };
                        servers: {
                            total: number;
                            connected: number;
                            error: number;
                        };
                        issues?: string[];
                        /** @description why no server is connected after crashes at start, and what to do */
                        safe_mode?: string;
                    };
                };
            };
        };
    };
    getAggregatorEvents: {
        parameters: {
            query?: {
                /** @description only these, separated by commas; all if not given */
                topics?: string;
                /** @description also the lines that this STDIO server writes to stderr, by id or name: server.output */
                output_of?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    getLivez: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process works */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "alive";
                        uptime_seconds: number;
                    };
                };
            };
        };
    };
    getReadyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It takes calls */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "ready" | "starting" | "draining";
                        servers: {
                            total: number;
                            connected: number;
                        };
                    };
                };
            };
        };
    };
    postAggregatorIdentity: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    nonce: string;
                };
            };
        };
        responses: {
            /** @description The proof */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        proof: string;
                    };
                };
            };
        };
    };
    getTokens: {
        parameters: {
            query?: {
                /** @description true: only your own */
                own?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tokens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        tokens: {
                            id: string;
                            name: string;
                            /** @enum {string} */
                            role: "admin" | "caller" | "viewer";
                            servers: string[] | null;
                            profile: string | null;
                            created_at: string;
                            last_used_at: string | null;
                            expires_at: string | null;
                            created_by: string;
                            /** @description the user who created it and with whom it ends; null: it is a user of its own */
                            owner: {
                                id: string;
                                name: string | null;
                            } | null;
                            /**
                             * @description sign_in: the session of the command line of its owner
                             * @enum {string}
                             */
                            origin: "api" | "sign_in";
                            /** @description whether it is one of yours */
                            own: boolean;
                        }[];
                        total: number;
                        /** @description whether you can create tokens of your own */
                        creation: {
                            allowed: boolean;
                            reason: string | null;
                            /** @description where you have to sign in before */
                            sign_in_url: string | null;
                            /** @description maximum lifetime; null: no limit */
                            max_days: number | null;
                        };
                    };
                };
            };
        };
    };
    postTokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    name: string;
                    /**
                     * @description caller, or your own role if that is lower
                     * @enum {string}
                     */
                    role?: "admin" | "caller" | "viewer";
                    /** @description limits the token to these servers, by name */
                    servers?: string[] | null;
                    /** @description limits the token to this profile */
                    profile?: string | null;
                    /** @description your own tokens end after MCP_AGGREGATOR_OWN_TOKEN_DAYS at the latest, unless you are an admin */
                    expires_at?: string | null;
                    /** @description true: the token is yours, with your keys and logins, and ends with you; always so unless you are an admin. false: it is a user of its own */
                    own?: boolean;
                };
            };
        };
        responses: {
            /** @description The token */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        name: string;
                        /** @enum {string} */
                        role: "admin" | "caller" | "viewer";
                        servers: string[] | null;
                        profile: string | null;
                        created_at: string;
                        last_used_at: string | null;
                        expires_at: string | null;
                        created_by: string;
                        /** @description the user who created it and with whom it ends; null: it is a user of its own */
                        owner: {
                            id: string;
                            name: string | null;
                        } | null;
                        /**
                         * @description sign_in: the session of the command line of its owner
                         * @enum {string}
                         */
                        origin: "api" | "sign_in";
                        /** @description whether it is one of yours */
                        own: boolean;
                        token: string;
                    };
                };
            };
        };
    };
    deleteTokensId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getAccounts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The users */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        accounts: {
                            id: string;
                            name: string;
                            issuer: string;
                            /**
                             * @description as of the last sign-in or check
                             * @enum {string}
                             */
                            role: "admin" | "caller" | "viewer";
                            profile: string | null;
                            /**
                             * @description active: the identity provider is asked about the account while it is in use. unchecked: the user never signed in to the aggregator, so only access tokens of the identity provider are accepted. ended: access has ended until the user signs in again
                             * @enum {string}
                             */
                            state: "active" | "unchecked" | "ended";
                            first_seen_at: string;
                            last_seen_at: string;
                            checked_at: string | null;
                            ended_at: string | null;
                            /** @description number of tokens that the user created */
                            tokens: number;
                        }[];
                        total: number;
                    };
                };
            };
        };
    };
    deleteAccountsId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The servers */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        servers: {
                            server_id: string;
                            server: string;
                            /** @description where your keys are sent; null: to a program on the host of the aggregator */
                            sent_to: string | null;
                            /** @description whether you entered all of them; calls fail with KEY_REQUIRED before */
                            complete: boolean;
                            keys: {
                                name: string;
                                /** @description null: you have not entered it */
                                entered_at: string | null;
                            }[];
                        }[];
                        total: number;
                    };
                };
            };
        };
    };
    postKeysServerLink: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                server: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        key_url: string;
                    };
                };
            };
        };
    };
    putKeysServerName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                server: string;
                /** @description name of the key */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    value: string;
                };
            };
        };
        responses: {
            /** @description Stored, encrypted */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    deleteKeysServerName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description the server's id or name */
                server: string;
                /** @description name of the key */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getAggregatorAudit: {
        parameters: {
            query?: {
                event?: string;
                actor?: string;
                server_name?: string;
                server_id?: string;
                /** @description in the event, the actor or the name of the server */
                contains?: string;
                /** @description calls of tools, or all other events */
                kind?: "calls" | "changes";
                since?: string;
                until?: string;
                limit?: number;
                /** @description the ID of the last record of the previous page */
                before?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The records */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        audit: {
                            id: number;
                            event: string;
                            actor: string;
                            timestamp: string;
                            ip_address: string | null;
                            server_id: string | null;
                            server_name: string | null;
                            details: {
                                [key: string]: unknown;
                            } | null;
                        }[];
                    };
                };
            };
        };
    };
    getAggregatorAuditVerify: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        intact: boolean;
                        records: number;
                        /** @description records written before records were sealed */
                        unsealed: number;
                        /** @description start of the chain: the last record that retention removed */
                        anchor: {
                            seq: number;
                            hash: string;
                        };
                        /** @description the newest record; store it elsewhere to detect a database that was rolled back */
                        head: {
                            seq: number;
                            hash: string;
                        } | null;
                        problem?: {
                            kind: string;
                            seq: number | null;
                            id: number | null;
                            explanation: string;
                        };
                    };
                };
            };
        };
    };
    getAggregatorAuditExport: {
        parameters: {
            query?: {
                since?: string;
                until?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description NDJSON */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
        };
    };
    getOauthProgram: {
        parameters: {
            query: {
                /** @description port of the program on 127.0.0.1 */
                port: number;
                /** @description returned to the program */
                state: string;
                /** @description SHA-256 of the verifier that the program sends with the code */
                challenge: string;
                /** @description name of the program, shown to the user */
                name: string;
                /** @description set by the aggregator */
                moved?: "1";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    getOauthProgramConfirm: {
        parameters: {
            query: {
                request: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
        };
    };
    postOauthProgramConfirm: {
        parameters: {
            query: {
                request: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    postSessionProgram: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    code: string;
                    verifier: string;
                };
            };
        };
        responses: {
            /** @description A token of the user, for the program */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description shown only once */
                        token: string;
                        token_id: string;
                        expires_at: string | null;
                        issuer: string;
                        name: string;
                        /** @enum {string} */
                        role: "admin" | "caller" | "viewer";
                    };
                };
            };
        };
    };
    postSessionDevice: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description name of the program */
                    name: string;
                };
            };
        };
        responses: {
            /** @description What the user opens and enters on another device */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        device_code: string;
                        user_code: string;
                        verification_uri: string;
                        verification_uri_complete: string | null;
                        expires_at: string;
                        /** @description seconds between two questions */
                        interval: number;
                    };
                };
            };
        };
    };
    postSessionDeviceToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    device_code: string;
                };
            };
        };
        responses: {
            /** @description A token of the user, for the program */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description shown only once */
                        token: string;
                        token_id: string;
                        expires_at: string | null;
                        issuer: string;
                        name: string;
                        /** @enum {string} */
                        role: "admin" | "caller" | "viewer";
                    };
                };
            };
            /** @description Not yet */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description seconds */
                        retry_after: number;
                    };
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The principal of this request */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                        /** @enum {string} */
                        role: "admin" | "caller" | "viewer";
                        /** @description null: all of them */
                        servers: string[] | null;
                        profile: string | null;
                        version: string;
                    };
                };
            };
            /** @description No session */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    postSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    token: string;
                } | {
                    code: string;
                    /** @description whether to end another user's session in this browser */
                    replace?: boolean;
                };
            };
        };
        responses: {
            /** @description Signed in; the session is in a cookie */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        name: string;
                        /** @enum {string} */
                        role: "admin" | "caller" | "viewer";
                        /** @description null: all of them */
                        servers: string[] | null;
                        profile: string | null;
                        version: string;
                    };
                };
            };
        };
    };
    deleteSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Signed out */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getSessionWays: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The identity provider, if there is one */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description null: only tokens of the aggregator are accepted */
                        identity_provider: {
                            issuer: string;
                            /** @description URL where a browser starts the sign-in, relative to this aggregator */
                            dashboard: string | null;
                            /** @description scopes that `mcp-aggregator sign-in` requests */
                            command_line: {
                                client_id: string;
                                resource: string;
                                scopes: string[];
                            } | null;
                        } | null;
                    };
                };
            };
        };
    };
    postSessionLinks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The link, relative to this aggregator */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        path: string;
                        expires_at: string;
                    };
                };
            };
        };
    };
    getAggregatorActivity: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Time slices per server, oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        slice_seconds: number;
                        servers: {
                            id: string;
                            name: string;
                            consecutive_failures: number;
                            active_calls: number;
                            queued_calls: number;
                            slices: {
                                at: string;
                                calls: number;
                                failed: number;
                                mean_ms: number | null;
                                max_ms: number | null;
                                checks_failed: number;
                                status: string | null;
                            }[];
                        }[];
                        /** @description newest first */
                        recent_calls: {
                            call_id: string;
                            server: string;
                            tool: string;
                            principal: string;
                            /** @description the name that an MCP client gives itself; null for REST */
                            client: string | null;
                            outcome: string;
                            error_code: string | null;
                            duration_ms: number;
                            /** @description milliseconds: in the aggregator, waiting for a place, waiting for a session, at the server */
                            phases: {
                                bridge: number;
                                queue: number;
                                connect: number;
                                server: number;
                            };
                            /** @description when it ended */
                            at: string;
                        }[];
                        /** @description arguments and results are kept, for admins: MCP_AGGREGATOR_SHOW_PAYLOADS */
                        shows_payloads: boolean;
                        /** @description resident memory of this process */
                        memory_bytes: number;
                    };
                };
            };
        };
    };
    getAggregatorActivityCallsCallId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                call_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Arguments, and result or error */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        call_id: string;
                        arguments: {
                            /** @description known secrets are masked; not valid JSON if it was cut */
                            json: string;
                            /** @description size before cutting */
                            bytes: number;
                            cut: boolean;
                        };
                        /** @description null while the call runs and if it failed */
                        result: {
                            /** @description known secrets are masked; not valid JSON if it was cut */
                            json: string;
                            /** @description size before cutting */
                            bytes: number;
                            cut: boolean;
                        } | null;
                        error: {
                            /** @description known secrets are masked; not valid JSON if it was cut */
                            json: string;
                            /** @description size before cutting */
                            bytes: number;
                            cut: boolean;
                        } | null;
                    };
                };
            };
        };
    };
    getAggregatorCalls: {
        parameters: {
            query?: {
                /** @description `next` of an earlier answer */
                after?: number;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The calls */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description of this replica, the oldest first */
                        running: {
                            call_id: string;
                            server: string;
                            tool: string;
                            principal: string;
                            /** @description the name that an MCP client gives itself; null for REST */
                            client: string | null;
                            started_at: string;
                            running_ms: number;
                            /**
                             * @description what it waits for
                             * @enum {string}
                             */
                            phase: "queue" | "connect" | "server";
                            can_cancel: boolean;
                        }[];
                        /** @description of this replica, the newest first */
                        recent: {
                            call_id: string;
                            server: string;
                            tool: string;
                            principal: string;
                            /** @description the name that an MCP client gives itself; null for REST */
                            client: string | null;
                            outcome: string;
                            error_code: string | null;
                            duration_ms: number;
                            /** @description milliseconds: in the aggregator, waiting for a place, waiting for a session, at the server */
                            phases: {
                                bridge: number;
                                queue: number;
                                connect: number;
                                server: number;
                            };
                            /** @description when it ended */
                            at: string;
                        }[];
                        /** @description ask with `after` for what ended since */
                        next: number;
                        /** @description arguments and results are kept, for admins: MCP_AGGREGATOR_SHOW_PAYLOADS */
                        shows_payloads: boolean;
                    };
                };
            };
        };
    };
    deleteAggregatorCallsCallId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                call_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The server is told, and the caller is answered that the call was cancelled */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    getAggregatorStats: {
        parameters: {
            query?: {
                /** @description 15 minutes ago if not given */
                from?: string;
                /** @description now if not given */
                to?: string;
                /** @description seconds */
                step?: number;
                by?: "server" | "tool" | "client";
                /** @description only calls to this server, by id or name */
                server?: string;
                /** @description only calls of this tool, by its canonical name */
                tool?: string;
                /** @description how many series */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One point per step, oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description where the first point begins */
                        from: string;
                        /** @description where the last point ends */
                        to: string;
                        /** @description seconds between points; at least as asked for, more where details are no longer kept */
                        step: number;
                        /** @description later points are still counting */
                        complete_until: string;
                        total: {
                            calls: number;
                            /** @description not answered by the server: unavailable, timed out, refused */
                            failed: number;
                            /** @description answered by the tool with an error */
                            tool_errors: number;
                            cancelled: number;
                            calls_per_second: number;
                            mean_ms: number | null;
                            p50_ms: number | null;
                            p95_ms: number | null;
                            max_ms: number | null;
                            points: {
                                calls: number[];
                                failed: number[];
                                tool_errors: number[];
                                p50_ms: (number | null)[];
                                p95_ms: (number | null)[];
                            };
                        };
                        /** @description with `by`: the busiest first */
                        series?: {
                            calls: number;
                            /** @description not answered by the server: unavailable, timed out, refused */
                            failed: number;
                            /** @description answered by the tool with an error */
                            tool_errors: number;
                            cancelled: number;
                            calls_per_second: number;
                            mean_ms: number | null;
                            p50_ms: number | null;
                            p95_ms: number | null;
                            max_ms: number | null;
                            server?: string;
                            tool?: string;
                            principal?: string;
                            /** @description the name that an MCP client gives itself; null for REST */
                            client?: string | null;
                            points: {
                                calls: number[];
                                failed: number[];
                                tool_errors: number[];
                                p50_ms: (number | null)[];
                                p95_ms: (number | null)[];
                            };
                        }[];
                        /** @description tokens of tool lists and of results before and after; not for tokens that are limited */
                        tokens?: {
                            lists: {
                                times: number;
                                before: number;
                                after: number;
                            };
                            queries: {
                                times: number;
                                before: number;
                                after: number;
                            };
                            saved: number;
                        };
                    };
                };
            };
        };
    };
    getAggregatorAttention: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Worst first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: {
                            /** @description the same as long as the cause is the same */
                            id: string;
                            /** @enum {string} */
                            kind: "held_tool" | "server_failed" | "missing_variable" | "missing_key" | "login" | "calls_failing" | "server_degraded" | "suspicious_tool" | "tools_incomplete" | "safe_mode";
                            /** @enum {string} */
                            severity: "critical" | "warning";
                            server: string | null;
                            /** @description canonical name */
                            tool: string | null;
                            title: string;
                            detail: string;
                            since: string | null;
                            /** @description of a held tool */
                            change?: {
                                id: number;
                                risk: string;
                                parts: {
                                    risk: string;
                                    what: string;
                                }[];
                            };
                        }[];
                    };
                };
            };
        };
    };
    getAggregatorTools: {
        parameters: {
            query?: {
                /** @description `revision` of an earlier answer */
                since?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tools by server */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description ask with `since` for what changed */
                        revision: string;
                        /** @description false: only servers that changed since then */
                        complete: boolean;
                        servers: {
                            id: string;
                            name: string;
                            tools: {
                                /** @description canonical: server.tool */
                                name: string;
                                original_name: string;
                                title: string | null;
                                /** @description its beginning */
                                description: string;
                                skill: string | null;
                                /** @description as the server says; null where it says nothing */
                                read_only: boolean | null;
                                destructive: boolean | null;
                                /** @description a changed definition: calls are held until an admin decides */
                                held: {
                                    change_id: number;
                                    /** @enum {string} */
                                    state: "pending" | "rejected";
                                    risk: string;
                                } | null;
                                /** @description false: an admin disabled the tool */
                                enabled: boolean;
                                /** @description an admin gave it another name, description or arguments */
                                changed: boolean;
                                /** @description findings of hidden text or instructions to a model */
                                warnings: number;
                            }[];
                        }[];
                        /** @description IDs of servers that are gone */
                        removed: string[];
                    };
                };
            };
        };
    };
    getProfiles: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The profiles, sorted by name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        profiles: {
                            description?: string;
                            /** @description servers to include; all servers if omitted */
                            servers?: string[];
                            /** @description tools to include; all tools of the servers if omitted */
                            tools?: {
                                /** @description canonical name; "*" matches any characters */
                                name: string;
                                rename?: string;
                                description?: string;
                            }[];
                            /** @enum {string} */
                            exposure?: "auto" | "all" | "search";
                            name: string;
                            endpoint: string;
                        }[];
                        total: number;
                    };
                };
            };
        };
    };
    getProfilesName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The profile */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        description?: string;
                        /** @description servers to include; all servers if omitted */
                        servers?: string[];
                        /** @description tools to include; all tools of the servers if omitted */
                        tools?: {
                            /** @description canonical name; "*" matches any characters */
                            name: string;
                            rename?: string;
                            description?: string;
                        }[];
                        /** @enum {string} */
                        exposure?: "auto" | "all" | "search";
                        name: string;
                        endpoint: string;
                    };
                };
            };
        };
    };
    putProfilesName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    description?: string;
                    /** @description servers to include; all servers if omitted */
                    servers?: string[];
                    /** @description tools to include; all tools of the servers if omitted */
                    tools?: {
                        /** @description canonical name; "*" matches any characters */
                        name: string;
                        rename?: string;
                        description?: string;
                    }[];
                    /** @enum {string} */
                    exposure?: "auto" | "all" | "search";
                };
            };
        };
        responses: {
            /** @description The profile */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        description?: string;
                        /** @description servers to include; all servers if omitted */
                        servers?: string[];
                        /** @description tools to include; all tools of the servers if omitted */
                        tools?: {
                            /** @description canonical name; "*" matches any characters */
                            name: string;
                            rename?: string;
                            description?: string;
                        }[];
                        /** @enum {string} */
                        exposure?: "auto" | "all" | "search";
                        name: string;
                        endpoint: string;
                    };
                };
            };
        };
    };
    deleteProfilesName: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    postProfilesPreview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    description?: string;
                    /** @description servers to include; all servers if omitted */
                    servers?: string[];
                    /** @description tools to include; all tools of the servers if omitted */
                    tools?: {
                        /** @description canonical name; "*" matches any characters */
                        name: string;
                        rename?: string;
                        description?: string;
                    }[];
                    /** @enum {string} */
                    exposure?: "auto" | "all" | "search";
                };
            };
        };
        responses: {
            /** @description The list of tools with estimated tokens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * @description what auto comes to with the tools of now
                         * @enum {string}
                         */
                        exposure: "all" | "search";
                        /** @description as MCP clients list them, with estimated tokens */
                        tools: {
                            name: string;
                            tokens: number;
                        }[];
                        tokens: number;
                        /** @description what clients can call: listed, or found with the search tools */
                        available: {
                            name: string;
                            tokens: number;
                        }[];
                        available_tokens: number;
                    };
                };
            };
        };
    };
    getAggregatorBackup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The configuration; keep it secret. It can be imported wherever its key is configured */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        format: "mcp-aggregator backup";
                        /** @constant */
                        version: 1;
                        /** Format: date-time */
                        created_at: string;
                        /** @description fingerprint of the key that opens the sealed credentials; it does not reveal the key */
                        key_id: string;
                        servers: {
                            id: string;
                            name: string;
                            description: string | null;
                            /** @enum {string} */
                            transport_type: "STDIO" | "SSE" | "HTTP";
                            connection_config: {
                                sealed: string;
                            };
                            health_check_url: string | null;
                            auto_connect: boolean;
                            /** @enum {string} */
                            desired: "connected" | "disconnected";
                            options: {
                                [key: string]: unknown;
                            };
                            tool_overrides?: {
                                [key: string]: unknown;
                            };
                            /** @enum {string} */
                            origin: "api" | "config" | "import";
                            /** Format: date-time */
                            registered_at: string;
                        }[];
                        tokens: {
                            id: string;
                            name: string;
                            hash: string;
                            /** @enum {string} */
                            role: "admin" | "caller" | "viewer";
                            servers: string[] | null;
                            profile: string | null;
                            /** Format: date-time */
                            created_at: string;
                            last_used_at: string | null;
                            expires_at: string | null;
                            created_by: string;
                            owner?: string | null;
                            /** @enum {string} */
                            origin?: "api" | "sign_in";
                        }[];
                        profiles: {
                            name: string;
                            definition: {
                                [key: string]: unknown;
                            };
                            /** Format: date-time */
                            created_at: string;
                            /** Format: date-time */
                            updated_at: string;
                        }[];
                        skills: {
                            id: string;
                            name: string;
                            description: string;
                            examples: string[];
                            /** @enum {string} */
                            origin: "builtin" | "custom";
                            /** Format: date-time */
                            created_at: string;
                            /** Format: date-time */
                            updated_at: string;
                        }[];
                        settings: {
                            key: string;
                            value: unknown;
                        }[];
                        /** @default [] */
                        accounts: {
                            id: string;
                            issuer: string;
                            name: string;
                            /** @enum {string} */
                            role: "admin" | "caller" | "viewer";
                            profile: string | null;
                            rules: string;
                            sealed: string | null;
                            /** Format: date-time */
                            created_at: string;
                            /** Format: date-time */
                            seen_at: string;
                            checked_at: string | null;
                            ended_at: string | null;
                            lease_until: string | null;
                            /** Format: date-time */
                            updated_at: string;
                        }[];
                        /** @default [] */
                        oauth_clients: {
                            server_id: string;
                            issuer: string;
                            redirect_uri: string;
                            sealed: string;
                            expires_at: string | null;
                        }[];
                        /** @default [] */
                        oauth_logins: {
                            server_id: string;
                            principal: string;
                            /** @enum {string} */
                            state: "active" | "required" | "expired";
                            issuer: string | null;
                            sealed: string | null;
                            scope: string | null;
                            challenge: string | null;
                            expires_at: string | null;
                            lease_until: string | null;
                            /** Format: date-time */
                            updated_at: string;
                        }[];
                        /** @default [] */
                        user_keys: {
                            server_id: string;
                            principal: string;
                            name: string;
                            sealed: string;
                            /** Format: date-time */
                            updated_at: string;
                        }[];
                    };
                };
            };
        };
    };
    postAggregatorBackup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @constant */
                    format: "mcp-aggregator backup";
                    /** @constant */
                    version: 1;
                    /** Format: date-time */
                    created_at: string;
                    /** @description fingerprint of the key that opens the sealed credentials; it does not reveal the key */
                    key_id: string;
                    servers: unknown[];
                    tokens: unknown[];
                    profiles: unknown[];
                    skills: unknown[];
                    settings: unknown[];
                    /** @default [] */
                    accounts?: unknown[];
                    /** @default [] */
                    oauth_clients?: unknown[];
                    /** @default [] */
                    oauth_logins?: unknown[];
                    /** @default [] */
                    user_keys?: unknown[];
                };
            };
        };
        responses: {
            /** @description The imported entries */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        servers: number;
                        tokens: number;
                        profiles: number;
                        skills: number;
                        settings: number;
                        /** @description servers that were skipped because another server has the name */
                        conflicts: string[];
                        /** @description rows that were skipped because they are invalid */
                        left_out: {
                            kind: string;
                            name: string;
                            reason: string;
                        }[];
                    };
                };
            };
        };
    };
    postAggregatorCredentialsReseal: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The progress */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        key_id: string;
                        previous_key_id: string | null;
                        /** @description sealed with the current key */
                        current: number;
                        /** @description of those, by this request */
                        resealed: number;
                        /** @description changed during the request; repeat it */
                        left: number;
                        /** @description sealed with neither key or not sealed; left unchanged */
                        unreadable: string[];
                        /** @description false: the previous key is the next one, or unused */
                        previous_was_used: boolean;
                        /**
                         * @description where the current key comes from
                         * @enum {string}
                         */
                        key_source: "file" | "variable";
                    };
                };
            };
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Metrics in the Prometheus text format */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain; version=0.0.4; charset=utf-8": string;
                };
            };
        };
    };
}
