/**
 * Questions about documentation that packages ship, with the file and the heading that answer them. The words are those
 * of somebody who does not have the page open.
 */

/** What is asked, the file below `node_modules`, and the beginning of a heading whose section answers it. */
export type Question = readonly [question: string, file: string, heading: string]

const commander = "commander/Readme.md"
const qs = "qs/README.md"
const ioredis = "ioredis/README.md"
const semver = "semver/README.md"
const debug = "debug/README.md"
const bodyParser = "body-parser/README.md"
const ws = "ws/README.md"
const fastGlob = "fast-glob/README.md"
const minipass = "minipass/README.md"
const msgpackr = "msgpackr/README.md"
const platform = "@effect/platform/README.md"
const undici = (page: string): string => `undici/docs/docs/api/${page}.md`

export const questions: ReadonlyArray<Question> = [
  ["How do I make an option of my command line program mandatory?", commander, "Required option"],
  ["an option that takes several values, like a list of numbers", commander, "Variadic option"],
  ["run code before and after the action of a subcommand", commander, "Life cycle hooks"],
  ["print usage again when the user makes a mistake on the command line", commander, "Display help after errors"],
  ["flag that turns something off, starting with no-", commander, "Other option types, negatable"],
  ["prevent the CLI library from calling process.exit in tests", commander, "Override exit and output handling"],
  ["subcommand implemented as a separate executable file", commander, "Stand-alone executable"],
  ["how are nested arrays serialized into a query string, with brackets or indices?", qs, "Stringifying"],
  ["query string with charset iso-8859-1 or shift_jis", qs, "Dealing with special character sets"],
  ["spaces as plus signs instead of %20 in url encoding", qs, "Encoding formats: RFC 3986"],
  ["difference between null, empty and undefined values in a query string", qs, "Handling of `null` values"],
  ["send many redis commands in one round trip", ioredis, "Pipelining"],
  ["MULTI and EXEC with the redis client", ioredis, "Transaction"],
  ["define a custom redis command with a script", ioredis, "Lua Scripting"],
  ["prepend a namespace to all keys automatically", ioredis, "Transparent Key Prefixing"],
  ["iterate over all keys matching a pattern without blocking the server", ioredis, "Streamify Scanning"],
  ["commands issued before the connection is ready", ioredis, "Offline Queue"],
  ["send reads to replicas of a cluster and writes to masters", ioredis, "Read-Write Splitting"],
  ["connect through high availability with failover to a new master", ioredis, "Sentinel"],
  ["cluster nodes behind docker with internal addresses", ioredis, "NAT Mapping"],
  ["retry delay after the connection to redis was lost", ioredis, "Auto-reconnect"],
  ["what does ^0.2.3 allow?", semver, "Caret Ranges"],
  ["what does ~1.2 allow?", semver, "Tilde Ranges"],
  ["are alpha versions matched by a range?", semver, "Prerelease Tags"],
  ["turn a sloppy string like v2 or 42.6.7.9 into a valid version", semver, "Coercion"],
  ["show debug output of all modules except one", debug, "Wildcards"],
  ["print JSON or hex in log messages with a percent letter", debug, "Formatters"],
  ["write debug logs to stdout instead of stderr", debug, "Output streams"],
  ["turn on debug logging from code at run time", debug, "Set dynamically"],
  ["logs of a forked process lose their colors", debug, "Usage in child processes"],
  ["413 error when posting a big JSON body", bodyParser, "request entity too large"],
  ["limit how many fields a form post may have", bodyParser, "parameterLimit"],
  ["how deeply may nested form objects be?", bodyParser, "depth"],
  ["check the raw request body before it is parsed, for a signature", bodyParser, "verify"],
  ["detect dead websocket connections with ping and pong", ws, "How to detect and close broken connections"],
  ["ip address of a websocket client behind nginx", ws, "How to get the IP address of the client"],
  ["send a message to every connected websocket client", ws, "Server broadcast"],
  ["permessage-deflate memory and performance", ws, "WebSocket compression"],
  ["several websocket endpoints on the same port", ws, "Multiple servers sharing a single HTTP/S server"],
  ["check a token before the websocket handshake is accepted", ws, "Client authentication"],
  ["skip node_modules when searching for files", fastGlob, "How to exclude directory from reading"],
  ["backslashes in patterns on Windows", fastGlob, "How to write patterns on Windows"],
  ["match files whose name begins with a dot", fastGlob, "dot"],
  ["get file sizes along with the paths found", fastGlob, "stats"],
  ["limit how many directories deep the search goes", fastGlob, "deep"],
  ["why does this stream library not apply backpressure by default?", minipass, "Hazards of Buffering"],
  ["stream that splits and parses ndjson lines", minipass, "transform that parses newline-delimited JSON"],
  ["gather all chunks of a stream into one string or buffer", minipass, "collecting into a single blob"],
  ["serialize circular references and Map and Set in binary", msgpackr, "Structured Cloning"],
  ["share the definitions of object shapes between encoder and decoder", msgpackr, "Shared Record Structures"],
  ["encode my own class with a custom type code", msgpackr, "Custom Extensions"],
  ["time ordered uuid for database keys", "uuid/README.md", "uuid.v7"],
  ["deterministic id from a name and a namespace", "uuid/README.md", "uuid.v5"],
  ["React Native error about random values missing", "uuid/README.md", "React Native / Expo"],
  ["can I cache undefined as a value?", "lru-cache/README.md", "Storing Undefined Values"],
  ["why must a cache have a maximum size?", "lru-cache/README.md", "Storage Bounds Safety"],
  ["replace database connections after a number of queries when replicas scale", "pg-pool/README.md", "maxUses"],
  ["close all database connections of the pool", "pg-pool/README.md", "shut it down"],
  ["change the delimiters from curly braces to something else in templates", "mustache/README.md", "Custom Delimiters"],
  ["render something only if a list is empty", "mustache/README.md", "Inverted Sections"],
  ["reuse a template inside of another template", "mustache/README.md", "Partials"],
  ["terminal colors by hex or rgb values", "chalk/readme.md", "256 and Truecolor"],
  ["how many tokens does a chat conversation have?", "gpt-tokenizer/README.md", "`countChatCompletionTokens"],
  ["stop an endless loop in sandboxed javascript", "quickjs-emscripten/README.md", "Interfacing with the interpreter"],
  ["free memory of handles in the sandbox", "quickjs-emscripten/README.md", "Memory Management"],
  ["format a phone number while the user types", "libphonenumber-js/README.md", '"As You Type"'],
  ["find phone numbers in a text", "libphonenumber-js/README.md", "Full-text search"],
  ["fetch through a corporate proxy given by HTTP_PROXY", undici("EnvHttpProxyAgent"), "Class: EnvHttpProxyAgent"],
  ["fake HTTP responses in unit tests", undici("MockAgent"), "`MockAgent.get"],
  [
    "simulate a network failure for an intercepted request",
    undici("MockPool"),
    "Example - Mocked request with reply with a defined error"
  ],
  ["pin the fingerprint of a certificate authority", undici("Connector"), "Example: validate the CA fingerprint"],
  ["read set-cookie headers of a response", undici("Cookies"), "`getSetCookies"],
  ["cancel a running HTTP request with a signal", undici("Dispatcher"), "Example 2 - Aborting a request"],
  ["persist cached HTTP responses in sqlite", undici("CacheStore"), "`SqliteCacheStore`"],
  ["multipart file upload endpoint", platform, "Handling Multipart Requests"],
  ["generate a typed client from the API definition", platform, "Deriving a Client"],
  ["serve OpenAPI documentation with a web interface", platform, "Serving The Auto Generated Swagger"],
  ["protect endpoints with a bearer token", platform, "Implementing HttpApiSecurity middleware"],
  ["control time in a test without waiting", "@effect/vitest/README.md", "Using the TestClock"],
  ["retry a test that fails sometimes", "@effect/vitest/README.md", "Writing Tests with `it.flakyTest`"],
  ["autocomplete suggestions for search queries", "minisearch/README.md", "Auto suggestions"],
  ["extract images embedded in a PDF", "unpdf/README.md", "`extractImages`"]
]
