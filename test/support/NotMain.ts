/** Imported first by programs that bundle examples: an example runs itself if it is the file that was started. */
process.argv[1] = ""
