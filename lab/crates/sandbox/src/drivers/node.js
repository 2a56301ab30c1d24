// JavaScript under test. As `candidate` it is loaded and called as often as asked; as `shared` its tests run beside it, and the word that
// says that the last test was reached comes only after it has been loaded. Values: see value.rs.
'use strict'
;(() => {
  const fs = require('fs')
  const vm = require('vm')
  const { Buffer } = globalThis
  const writeSync = fs.writeSync
  const readSync = fs.readSync
  const exit = process.reallyExit.bind(process)

  class Odd extends Error {}

  const encode = (value) => {
    const out = []
    let size = 0
    const push = (buffer) => {
      size += buffer.length
      if (size > 4 << 20) throw new Odd('a value of more than 4 MiB')
      out.push(buffer)
    }
    const sized = (mark, body) => {
      const head = Buffer.alloc(5)
      head.write(mark, 0, 'latin1')
      head.writeUInt32LE(body.length, 1)
      push(Buffer.concat([head, body]))
    }
    const counted = (mark, n) => {
      const head = Buffer.alloc(5)
      head.write(mark, 0, 'latin1')
      head.writeUInt32LE(n, 1)
      push(head)
    }
    const whole = (n) => {
      const bytes = []
      for (;;) {
        const byte = Number(BigInt.asUintN(8, n))
        bytes.push(byte)
        n >>= 8n
        if ((n === 0n && byte < 128) || (n === -1n && byte >= 128)) break
      }
      sized('i', Buffer.from(bytes))
    }
    const put = (value, depth) => {
      if (depth > 100) throw new Odd('a value nested more than 100 deep')
      if (value === null || value === undefined) push(Buffer.from('N'))
      else if (value === true) push(Buffer.from('T'))
      else if (value === false) push(Buffer.from('F'))
      else if (typeof value === 'bigint') whole(value)
      else if (typeof value === 'number') {
        if (Number.isSafeInteger(value) && !Object.is(value, -0)) whole(BigInt(value))
        else {
          const body = Buffer.alloc(9)
          body.write('f', 0, 'latin1')
          body.writeDoubleLE(value, 1)
          push(body)
        }
      } else if (typeof value === 'string') {
        const body = Buffer.from(value, 'utf8')
        if (body.toString('utf8') !== value) throw new Odd('text that is not UTF-8')
        sized('s', body)
      } else {
        const proto = typeof value === 'object' ? Object.getPrototypeOf(value) : undefined
        if (Array.isArray(value) && proto === Array.prototype) {
          counted('l', value.length)
          for (let i = 0; i < value.length; i++) put(value[i], depth + 1)
        } else if (proto === Map.prototype) {
          counted('d', value.size)
          for (const [key, item] of value) {
            put(key, depth + 1)
            put(item, depth + 1)
          }
        } else if (proto === Set.prototype) {
          counted('e', value.size)
          for (const item of value) put(item, depth + 1)
        } else if (proto === Object.prototype || proto === null) {
          const keys = Object.keys(value)
          counted('d', keys.length)
          for (const key of keys) {
            put(key, depth + 1)
            put(value[key], depth + 1)
          }
        } else throw new Odd('not a plain value: ' + (typeof value === 'object' ? 'an object of a class' : typeof value))
      }
    }
    put(value, 0)
    return Buffer.concat(out)
  }

  const decode = (data) => {
    let at = 0
    const get = () => {
      const mark = String.fromCharCode(data[at++])
      if (mark === 'N') return null
      if (mark === 'T') return true
      if (mark === 'F') return false
      if (mark === 'f') {
        at += 8
        return data.readDoubleLE(at - 8)
      }
      const n = data.readUInt32LE(at)
      at += 4
      if (mark === 'i') {
        let value = 0n
        for (let i = n - 1; i >= 0; i--) value = (value << 8n) | BigInt(data[at + i])
        value = BigInt.asIntN(8 * n, value)
        at += n
        return value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value
      }
      if (mark === 's') {
        at += n
        return data.toString('utf8', at - n, at)
      }
      if (mark === 'l' || mark === 't') return Array.from({ length: n }, get)
      if (mark === 'e') return new Set(Array.from({ length: n }, get))
      const object = {}
      for (let i = 0; i < n; i++) {
        const key = get()
        object[key] = get()
      }
      return object
    }
    return get()
  }

  const exactly = (n) => {
    const buffer = Buffer.alloc(n)
    for (let at = 0; at < n; ) {
      const got = readSync(0, buffer, at, n - at)
      if (got === 0) exit(0)
      at += got
    }
    return buffer
  }
  const receive = () => decode(exactly(exactly(4).readUInt32LE(0)))
  const send = (message) => {
    const body = encode(message)
    const head = Buffer.alloc(4)
    head.writeUInt32LE(body.length, 0)
    const all = Buffer.concat([head, body])
    for (let at = 0; at < all.length; ) at += writeSync(3, all, at)
  }
  const problem = (error) => {
    try {
      return [String((error && error.name) || 'Error'), String((error && error.message) || error).slice(0, 500)]
    } catch {
      return ['Error', '']
    }
  }

  const [role, source, tests, entryPoint] = receive()
  globalThis.require = require
  try {
    vm.runInThisContext(source, { filename: 'program.js' })
  } catch (error) {
    send(['load', ...problem(error)])
    exit(0)
  }
  if (role === 'candidate') {
    let called
    try {
      called = vm.runInThisContext(entryPoint)
    } catch {}
    if (typeof called !== 'function') {
      send(['load', 'ReferenceError', 'there is no function `' + entryPoint + '`'])
      exit(0)
    }
    send(['ready'])
    for (;;) {
      const [, args] = receive()
      let answer
      try {
        answer = ['value', called(...args), args, {}]
      } catch (error) {
        answer = ['raise', ...problem(error), []]
      }
      try {
        send(answer)
      } catch (error) {
        send(['odd', error instanceof Odd ? error.message : 'not a plain value'])
      }
    }
  }
  send(['ready'])
  const [, word] = receive()
  let failed = null
  // as it is, a failed assertion only prints a line, and the program ends as if all were well
  Object.defineProperty(console, 'assert', {
    value: (held, ...what) => {
      if (!held && failed === null) failed = what.length ? 'assertion failed: ' + String(what[0]).slice(0, 300) : 'assertion failed'
    },
    writable: false,
    configurable: false,
  })
  const end = (error) => {
    if (error !== undefined) failed = problem(error).join(': ')
    send(failed === null ? ['end', 'pass', word] : ['end', 'fail', failed])
    exit(0)
  }
  process.on('uncaughtException', end)
  process.on('beforeExit', () => end())
  try {
    vm.runInThisContext(tests, { filename: 'tests.js' })
  } catch (error) {
    end(error)
  }
})()
