/** Builds the page of the studio from `studio`: a few files whose names have the hash of their content. */
import * as Fs from "node:fs"
import * as Path from "node:path"
import * as Esbuild from "esbuild"
import { root } from "../layout.js"

const source = Path.join(root, "studio")

/** The folder of the package that a bundled file is from. */
const packageOf = (file: string): string | undefined => {
  const at = file.lastIndexOf("node_modules/")
  if (at === -1) return undefined
  const [scope = "", name = ""] = file.slice(at + "node_modules/".length).split("/")
  return `${file.slice(0, at)}node_modules/${scope.startsWith("@") ? `${scope}/${name}` : scope}`
}

/** The licenses of the packages that are part of the page. */
const licensesOf = (files: ReadonlyArray<string>): string => {
  const folders = new Set(files.map(packageOf).filter((folder) => folder !== undefined))
  return Array.from(folders, (folder) => {
    const at = Path.join(root, folder)
    const manifest = JSON.parse(Fs.readFileSync(Path.join(at, "package.json"), "utf8")) as {
      readonly name: string
      readonly version: string
      readonly license?: string
    }
    const text = Fs.readdirSync(at).find((name) => /^licen[cs]e/i.test(name))
    const head = `${manifest.name} ${manifest.version} (${manifest.license ?? "see its license"})`
    return text === undefined ? head : `${head}\n\n${Fs.readFileSync(Path.join(at, text), "utf8").trim()}`
  })
    .sort()
    .join(`\n\n${"-".repeat(80)}\n\n`)
}

export const buildStudio = async (target: string): Promise<void> => {
  Fs.rmSync(target, { recursive: true, force: true })
  const { metafile } = await Esbuild.build({
    absWorkingDir: root,
    entryPoints: ["main.tsx", "style.css"].map((name) => Path.join(source, name)),
    outdir: target,
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    minify: true,
    treeShaking: true,
    legalComments: "none",
    metafile: true,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "warning"
  })
  const names = Object.keys(metafile.outputs).map((file) => Path.basename(file))
  // The page has two addresses, with a slash at its end and without.
  const address = (pattern: RegExp): string => `/studio/${names.find((name) => pattern.test(name))}`
  const page = Fs.readFileSync(Path.join(source, "index.html"), "utf8")
    .replace("STYLE", address(/^style-\w+\.css$/))
    .replace("SCRIPT", address(/^main-\w+\.js$/))
  Fs.writeFileSync(Path.join(target, "index.html"), page)
  Fs.writeFileSync(Path.join(target, "licenses.txt"), licensesOf(Object.keys(metafile.inputs)))
}
