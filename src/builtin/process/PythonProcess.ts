/**
 * Runs Python in a child process and returns its output and the value of its last expression.
 *
 * The process runs as the user of this one, with that user's rights on files and the network: it is bounded but not a
 * sandbox.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type * as ProcessRequest from "./ProcessRequest.js"
import type * as ProcessRun from "./ProcessRun.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  readonly timeout: Duration.Duration
  readonly maxMemoryBytes: number
  readonly maxProcesses: number
  readonly maxOutputChars: number
}

/**
 * The outcome.
 *
 * @since 0.1.0
 * @category models
 */
export type Ended =
  | { readonly _tag: "Returned"; readonly stdout: string; readonly result: unknown }
  | { readonly _tag: "Threw"; readonly stdout: string; readonly error: string }
  | {
      readonly _tag: "Exceeded"
      readonly stdout: string
      readonly limit: "time" | "memory" | "output" | "processes"
    }

/**
 * Code and input arrive as JSON on standard input. The outcome follows the output on one line, after a marker generated
 * for each execution: the code can forge the outcome only if it searches for the marker, and then only its own.
 */
const program = `
import ast, json, sys, traceback, types

NAME = "<code>"

def plain(value):
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2 ** 53 else str(value)
    if isinstance(value, float):
        return value if value - value == 0 else repr(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return repr(value)

def lineOf(error):
    if isinstance(error, SyntaxError) and error.filename == NAME:
        return error.lineno
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == NAME]
    return lines[-1] if lines else None

def told(error):
    try:
        text = str(error.msg if isinstance(error, SyntaxError) else error)[:2000]
    except BaseException:
        text = ""
    line = lineOf(error)
    name = type(error).__name__
    return (name + ": " + text if text else name) + (" (line %d)" % line if line else "")

def execute(code, given, most):
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    try:
        module.input = json.loads(given)
        tree = ast.parse(code, NAME)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, NAME, "exec"), module.__dict__)
        value = None if last is None else eval(compile(ast.Expression(last.value), NAME, "eval"), module.__dict__)
        result = json.dumps(plain(value), ensure_ascii=False)
        return {"_tag": "Exceeded", "limit": "output"} if len(result) > most else {"_tag": "Returned", "result": result}
    except MemoryError:
        return {"_tag": "Exceeded", "limit": "memory"}
    except SystemExit as error:
        return {"_tag": "Returned", "result": "null"} if error.code in (None, 0) else {"_tag": "Threw", "error": told(error)}
    except BaseException as error:
        return {"_tag": "Threw", "error": told(error)}

def main(dumps):
    request = json.loads(sys.stdin.buffer.read())
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    stdout = sys.stdout
    ended = execute(request["code"], request["input"], request["most"])
    if sys.stdout is not stdout:
        sys.stdout.flush()
    stdout.write(request["mark"] + dumps(ended) + "\\n")
    stdout.flush()

main(json.dumps)
`

const End = Schema.parseJson(
  Schema.Union(
    Schema.TaggedStruct("Returned", { result: Schema.parseJson() }),
    Schema.TaggedStruct("Threw", { error: Schema.String }),
    Schema.TaggedStruct("Exceeded", { limit: Schema.Literal("memory", "output") })
  )
)
const decodeEnd = Schema.decodeUnknownEither(End)

const withoutEnd = ({ exitCode, signal }: ProcessRequest.Result): string =>
  signal === undefined ? `The code ended its process, with exit code ${exitCode}` : `The process was ended by ${signal}`

const endedOf = (run: ProcessRequest.Result, mark: string, maxOutputChars: number): Ended => {
  const at = run.stdout.indexOf(mark)
  const lineEnd = at < 0 ? -1 : run.stdout.indexOf("\n", at)
  // Output of threads, exit handlers and children follows the marker.
  const printed = lineEnd < 0 ? run.stdout : run.stdout.slice(0, at) + run.stdout.slice(lineEnd + 1)
  const stdout = printed.slice(0, maxOutputChars)
  if (printed.length > maxOutputChars) return { _tag: "Exceeded", stdout, limit: "output" }
  const end = lineEnd < 0 ? undefined : decodeEnd(run.stdout.slice(at + mark.length, lineEnd))
  if (end === undefined || Either.isLeft(end)) return { _tag: "Threw", stdout, error: withoutEnd(run) }
  return { ...end.right, stdout }
}

const limitOf = {
  Timeout: "time",
  MemoryLimit: "memory",
  OutputLimit: "output",
  ProcessLimit: "processes"
} as const

/**
 * Fails if there is no Python or nothing can be run.
 *
 * @since 0.1.0
 * @category execution
 */
export const run = (
  processes: ProcessRun.Service,
  interpreter: string,
  code: string,
  input: unknown,
  limits: Limits
): Effect.Effect<Ended, ProcessRequest.ProcessError> =>
  Effect.gen(function* () {
    const { maxMemoryBytes, maxOutputChars, maxProcesses, timeout } = limits
    const given = Either.try(() => JSON.stringify(input ?? null) ?? "null")
    if (Either.isLeft(given)) return { _tag: "Threw", stdout: "", error: "The input cannot be written as JSON" }
    const mark = `end ${(yield* Random.next).toString(36).slice(2)}${(yield* Random.next).toString(36).slice(2)} `
    const ended = yield* Effect.either(
      processes.run({
        command: interpreter,
        args: ["-I", "-X", "utf8", "-c", program],
        stdin: JSON.stringify({ code, input: given.right, most: maxOutputChars, mark }),
        limits: {
          timeout,
          maxMemoryBytes,
          maxProcesses,
          // Four bytes per printed character, twelve per returned one, which is JSON inside JSON.
          maxOutputBytes: 16 * maxOutputChars + 8192,
          maxErrorBytes: 0,
          maxAddressBytes: 4 * maxMemoryBytes + 1024 ** 3
        }
      })
    )
    if (Either.isRight(ended)) return endedOf(ended.right, mark, maxOutputChars)
    const { reason, stdout = "" } = ended.left
    if (reason === "Unavailable") return yield* ended.left
    return { _tag: "Exceeded", stdout: stdout.slice(0, maxOutputChars), limit: limitOf[reason] }
  })
