// The loads in JavaScript; the first line of stdin names the one to play.
const fs = require('fs')
const depth = n => (n > 0 ? 1 + depth(n - 1) : 0)
const loads = {
  async threads() {
    const { Worker } = require('worker_threads')
    const code = 'const { parentPort } = require("worker_threads"); parentPort.on("message", () => process.exit()); parentPort.postMessage(1)'
    const all = Array.from({ length: 60 }, () => new Worker(code, { eval: true }))
    await Promise.all(all.map(worker => new Promise(resolve => worker.on('message', resolve))))
    console.log('threads', all.length)
    all.forEach(worker => worker.postMessage(0))
  },
  recursion() { console.log('recursion', depth(5000)) },
  files() {
    const all = Array.from({ length: 100 }, (_, i) => fs.openSync(`file${i}`, 'w'))
    console.log('files', all.length)
  },
  libraries() {
    let found = 0
    for (let i = 0; i < 80; i++) found += require(`library${i}`)
    console.log('libraries', found)
  },
  arrays() {
    const held = new Uint8Array(256 << 20)
    for (let i = 0; i < 8; i++) held[i << 25] = 1
    let sum = 0
    for (let i = 0; i < 8; i++) sum += held[i << 25]
    console.log('arrays', sum)
  },
  small_files() {
    fs.mkdirSync('folder')
    let sum = 0
    for (let i = 0; i < 300; i++) {
      fs.writeFileSync(`folder/${i}`, 'x'.repeat(100))
      sum += fs.statSync(`folder/${i}`).size
    }
    console.log('small_files', sum)
  },
}
loads[fs.readFileSync(0, 'utf8').trim()]()
