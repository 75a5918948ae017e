const { stripTypeScriptTypes } = require("node:module")

// In your project, use your own TypeScript transform, such as ts-jest or Babel.
module.exports = { process: (source) => ({ code: stripTypeScriptTypes(source) }) }
