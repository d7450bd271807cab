/** Counts the statements and the commits that SQLite runs in this process, by either driver. */

const methods = ["run", "get", "all", "iterate"]

/** A statement that outside a transaction is one. */
const isWrite = (sql) =>
  /^\s*(?:insert|update|delete|replace)\b/i.test(sql) ||
  (/^\s*with\b/i.test(sql) && /\b(?:insert|update|delete)\b/i.test(sql))

const classOf = async () => {
  const [major] = process.versions.node.split(".").map(Number)
  return major >= 22 ? (await import("node:sqlite")).DatabaseSync : (await import("libsql")).default
}

/** Begins to count, and returns what reads the counts. */
export const watch = async () => {
  const counts = { statements: 0, commits: 0 }
  const { prototype } = await classOf()
  const { exec, prepare } = prototype
  const isOpen = (database) => database.inTransaction ?? database.isTransaction
  const count = (database, sql, effect) => {
    counts.statements++
    const wasOpen = isOpen(database)
    const result = effect()
    if (/^\s*(?:commit|end)\b/i.test(sql)) counts.commits++
    else if (!wasOpen && isWrite(sql)) counts.commits++
    return result
  }
  prototype.exec = function (sql) {
    return count(this, sql, () => exec.call(this, sql))
  }
  prototype.prepare = function (sql, ...rest) {
    const statement = prepare.call(this, sql, ...rest)
    for (const name of methods) {
      const method = statement[name]
      statement[name] = (...params) => count(this, sql, () => method.apply(statement, params))
    }
    return statement
  }
  return () => ({ ...counts })
}
