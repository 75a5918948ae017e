const { stripTypeScriptTypes } = require("node:module")

// Stands for what your own tests have for TypeScript, such as ts-jest or Babel.
module.exports = { process: (source) => ({ code: stripTypeScriptTypes(source) }) }
