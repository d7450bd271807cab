/**
 * Where the project lives. One constant: codegen writes `repository`, `homepage` and `bugs` of package.json and the
 * address of the documentation in `src` from it. Unset until the project has an owner; a release is refused without.
 */
export const project: { readonly repository: string; readonly documentation: string } | undefined = undefined as
  | { readonly repository: string; readonly documentation: string }
  | undefined

/** The fields of package.json that name it. */
export const metadata = (
  of: typeof project
): {
  readonly homepage?: string
  readonly repository?: { readonly type: "git"; readonly url: string }
  readonly bugs?: { readonly url: string }
} =>
  of === undefined
    ? {}
    : {
        homepage: of.documentation,
        repository: { type: "git", url: `git+${of.repository}.git` },
        bugs: { url: `${of.repository}/issues` }
      }
