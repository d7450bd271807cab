/** Prints what the process has used until this is imported. */
const { system, user } = process.cpuUsage()
const rss = process.resourceUsage().maxRSS / 1024
console.log(JSON.stringify({ cpu: (user + system) / 1000, wall: performance.now(), rss }))
