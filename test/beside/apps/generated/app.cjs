'use strict'

const path = require('node:path')
const autoload = require('@fastify/autoload')

const options = {}

module.exports = async (fastify, opts) => {
  // Place here your custom code!

  fastify.register(autoload, {
    dir: path.join(__dirname, 'plugins'),
    options: Object.assign({}, opts),
  })

  fastify.register(autoload, {
    dir: path.join(__dirname, 'routes'),
    options: Object.assign({}, opts),
  })
}

module.exports.options = options
