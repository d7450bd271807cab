import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { pathToFileURL } from "node:url"
import { root } from "../layout.js"

const hooks = `
import { appendFileSync } from "node:fs"
let file
export const initialize = (data) => { file = data }
export const load = (url, context, next) => {
  appendFileSync(file, url + "\\n")
  return next(url, context)
}
`

/** The URLs of the modules that Node loads while it runs a program of this repository. */
export const loadedBy = (program: string): ReadonlyArray<string> => {
  const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-loaded-"))
  try {
    const record = Path.join(folder, "loaded.txt")
    Fs.writeFileSync(record, "")
    Fs.writeFileSync(Path.join(folder, "hooks.mjs"), hooks)
    const url = JSON.stringify(pathToFileURL(Path.join(folder, "hooks.mjs")).href)
    const register = `import { register } from "node:module"\nregister(${url}, { data: ${JSON.stringify(record)} })\n`
    Fs.writeFileSync(Path.join(folder, "register.mjs"), register)
    const recorder = pathToFileURL(Path.join(folder, "register.mjs")).href
    execFileSync(process.execPath, ["--import", recorder, program], {
      cwd: root,
      stdio: ["ignore", "ignore", "inherit"]
    })
    return [...new Set(Fs.readFileSync(record, "utf8").trim().split("\n"))]
  } finally {
    Fs.rmSync(folder, { recursive: true })
  }
}
