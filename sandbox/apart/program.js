// Carries calls between tests and the program that they test, which run in two processes (apart/javascript.py).
// Standard input is the socket between them. Values are sent by content, as structuredClone copies them.
globalThis.__rewardkit = (() => {
  const load = process.getBuiltinModule ?? require
  const fs = load('fs'), v8 = load('v8')
  const { readSync, writeSync } = fs
  const exit = process.reallyExit.bind(process)
  const ENDED = 97

  const readAll = (size) => {
    const data = Buffer.alloc(size)
    for (let at = 0; at < size; ) {
      const done = readSync(0, data, at, size - at, null)
      if (done === 0) return null
      at += done
    }
    return data
  }
  const receive = () => {
    const size = readAll(8)
    const data = size && readAll(Number(size.readBigUInt64LE()))
    return data && own(v8.deserialize(data))
  }
  // Jest runs tests in a context with constructors of its own, of which values must be instances.
  const own = (value) => {
    if (Array.isArray(value)) return Array.from(value, own)
    const kind = Object.prototype.toString.call(value)
    if (kind === '[object Map]') return new Map(Array.from(value, own))
    if (kind === '[object Set]') return new Set(Array.from(value, own))
    if (kind !== '[object Object]') return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, own(item)]))
  }
  const send = (value) => {
    const data = v8.serialize(value)
    const size = Buffer.alloc(8)
    size.writeBigUInt64LE(BigInt(data.length))
    const whole = Buffer.concat([size, data])
    for (let at = 0; at < whole.length; ) at += writeSync(0, whole, at)
  }

  // An argument that the program has changed in place is changed for the tests as well.
  const copyBack = (mine, changed) => {
    if (mine === null || typeof mine !== 'object' || typeof changed !== 'object') return
    if (Array.isArray(mine)) mine.splice(0, mine.length, ...changed)
    else if (mine instanceof Map || mine instanceof Set) {
      mine.clear()
      for (const item of changed) mine instanceof Map ? mine.set(...item) : mine.add(item)
    } else if (Object.getPrototypeOf(mine) === Object.prototype) {
      for (const key of Object.keys(mine)) delete mine[key]
      Object.assign(mine, changed)
    }
  }
  const described = (error) => {
    const isError = error instanceof Error
    return { isError, name: isError ? String(error.name) : '', message: isError ? String(error.message) : error }
  }
  const raised = ({ isError, name, message }) => {
    if (!isError) return message
    const known = globalThis[name]
    const made = typeof known === 'function' && known.prototype instanceof Error ? new known(message) : new Error(message)
    if (made.name !== name) made.name = name
    return made
  }
  const same = (one, other) => {
    try { return v8.serialize(one).equals(v8.serialize(other)) } catch { return false }
  }

  return {
    // Answer calls until the tests end. A promise is awaited, and is a promise for the tests as well.
    async serve(functions) {
      for (let asked; (asked = receive()); ) {
        let answer
        try {
          const before = structuredClone(asked.args)
          let value = functions[asked.name](...asked.args)
          const isPromise = typeof value?.then === 'function'
          try { if (isPromise) value = await value } catch (error) { answer = { isPromise, raised: described(error) } }
          answer ??= { isPromise, value }
          if (!same(before, asked.args)) answer.args = asked.args
        } catch (error) {
          answer = { raised: described(error) }
        }
        try { send(answer) } catch (error) { send({ raised: described(error) }) }
      }
      exit(0)
    },
    standIn: (name) => (...args) => {
      send({ name, args })
      const answer = receive()
      if (answer === null) {
        writeSync(2, 'the program ended before it answered\n')
        exit(ENDED)
      }
      args.forEach((mine, i) => answer.args && copyBack(mine, answer.args[i]))
      if (answer.raised) {
        if (answer.isPromise) return Promise.reject(raised(answer.raised))
        throw raised(answer.raised)
      }
      return answer.isPromise ? Promise.resolve(answer.value) : answer.value
    },
    // console.assert must fail the tests instead of only printing a message.
    strict() {
      console.assert = (holds, ...said) => {
        if (!holds) throw new Error(['Assertion failed', ...said].join(' '))
      }
    },
  }
})()
