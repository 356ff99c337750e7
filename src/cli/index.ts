#!/usr/bin/env node
import { check } from './check.js'

process.exitCode = await check(process.argv.slice(2))
