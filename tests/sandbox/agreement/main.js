// What JavaScript programs use: the first line of stdin names the features to play, the rest is their input.

const fs = require('fs');
const path = require('path');
const os = require('os');
const util = require('util');
const sleep = ms => new Promise(done => setTimeout(done, ms));

const FEATURES = {
  // feature: printsByEveryWay
  printsByEveryWay() {
    console.log('a', 1, 2.5, null, undefined, [1, 'x', [2]], {a: 1, b: {c: {d: 1}}}, true, 10n, Symbol('s'));
    console.log('%s is %d and %i, %j %o', 'x', 1.5, 1.5, {a: 1}, [1]);
    console.info('info');
    console.error('to stderr');
    console.table([{a: 1, b: 2}]);
    process.stdout.write('written\n');
    fs.writeSync(1, 'sync\n');
    console.log(util.inspect(new Map([[1, new Set([2])]])), new Date(0), /x/g, new Error('no').message, class A {}, () => 1);
    console.group('group');
    console.log('inside');
    console.groupEnd();
    console.log(util.format('%s', 1), `${[1, 2]} ${{}}`, [1.0, 1e21, 1e-7, -0, NaN, 0.1 + 0.2]);
  },
  // feature: printsMuch
  printsMuch() {
    for (let i = 0; i < 5000; i++) console.log(i, i * 2);
    console.log('x'.repeat(300000));
  },
  // feature: printsMuchAndExits, alone
  printsMuchAndExits() {
    process.stdout.write('x'.repeat(2000000));
    process.exit(3);
  },
  // feature: readsAll, alone
  readsAll() { console.log(fs.readFileSync(0, 'utf8').split(/\s+/)); },
  // feature: readsDevStdin, alone
  readsDevStdin() { console.log(fs.readFileSync('/dev/stdin').length > 0); },
  // feature: readsEvents, alone
  readsEvents() {
    let text = '';
    process.stdin.setEncoding('utf8');
    process.stdin.on('data', piece => text += piece).on('end', () => console.log(text.split('\n')));
  },
  // feature: readsByReadline, alone
  readsByReadline() {
    const lines = require('readline').createInterface({input: process.stdin, output: process.stdout, terminal: false});
    lines.on('line', line => console.log(`[${line}]`)).on('close', () => console.log('closed'));
  },
  // feature: readsAsync, alone
  async readsAsync() { for await (const line of require('readline').createInterface({input: process.stdin})) console.log(line.length); },
  // feature: asksQuestions, alone
  asksQuestions() {
    const lines = require('readline').createInterface({input: process.stdin, output: process.stdout});
    lines.question('what? ', answer => { console.log(`got ${answer}`); lines.close(); });
  },
  // feature: readsSync, alone
  readsSync() {
    const held = Buffer.alloc(10);
    console.log(fs.readSync(0, held, 0, 5, null), held.toString('utf8', 0, 5), process.stdin.isTTY, process.stdout.isTTY);
  },
  // feature: exits, alone
  exits() { console.log('said'); process.exit(7); },
  // feature: setsExitCode, alone
  setsExitCode() { process.exitCode = 5; setTimeout(() => console.log('late'), 5); },
  // feature: throwsOut, alone
  throwsOut() { console.log('before'); throw new TypeError('no'); },
  // feature: rejects, alone
  rejects() { Promise.reject(new Error('nobody listens')); },
  // feature: hooksAtTheEnd, alone
  hooksAtTheEnd() {
    process.on('exit', code => console.log('exit', code));
    process.on('beforeExit', () => console.log('beforeExit'));
    process.on('uncaughtException', error => console.log('caught', error.message));
    setTimeout(() => { throw new Error('late'); }, 1);
  },
  // feature: aborts, alone
  aborts() { process.abort(); },
  // feature: killsItself, alone
  killsItself() { process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 1000); },
  // feature: asserts, alone
  asserts() { require('assert').strictEqual(1, 2); },
  // feature: orderOfTasks
  async orderOfTasks() {
    const seen = [];
    setTimeout(() => seen.push('timeout'), 0);
    setImmediate(() => seen.push('immediate'));
    process.nextTick(() => seen.push('tick'));
    queueMicrotask(() => seen.push('microtask'));
    Promise.resolve().then(() => seen.push('promise'));
    seen.push('sync');
    await sleep(20);
    console.log(seen.slice(0, 4), seen.length);
  },
  // feature: asynchronous
  async asynchronous() {
    console.log(await Promise.all([1, 2].map(async n => { await sleep(n); return n * 2; })));
    console.log(await Promise.race([sleep(1).then(() => 'fast'), sleep(500)]), (await Promise.allSettled([Promise.reject(1)]))[0].status);
    async function* numbers() { yield 1; yield 2; }
    for await (const n of numbers()) console.log(n);
    const events = new (require('events'))();
    setTimeout(() => events.emit('said', 42), 1);
    console.log(await require('events').once(events, 'said'));
    const stop = new AbortController();
    stop.abort();
    console.log(stop.signal.aborted, await util.promisify(setImmediate)('value'));
  },
  // feature: catchesSignals
  async catchesSignals() {
    const got = [];
    process.once('SIGUSR2', name => got.push(name));
    process.kill(process.pid, 'SIGUSR2');
    while (!got.length) await sleep(1);
    console.log(got);
  },
  // feature: workers
  async workers() {
    const {Worker} = require('worker_threads');
    const worker = new Worker("require('worker_threads').parentPort.once('message', n => require('worker_threads').parentPort.postMessage(n * 2))", {eval: true});
    worker.postMessage(21);
    console.log((await require('events').once(worker, 'message'))[0]);
    const shared = new Int32Array(new SharedArrayBuffer(8));
    Atomics.add(shared, 0, 5);
    console.log(shared[0], structuredClone({a: [1]}));
  },
  // feature: processes, differs at every level: starts processes
  processes() { console.log(require('child_process').execSync('echo said').toString()); },
  // feature: sockets, differs at every level: opens sockets
  async sockets() {
    const server = require('net').createServer().listen(0);
    await require('events').once(server, 'listening');
    server.close();
    console.log('listens');
  },
  // feature: recursion
  recursion() {
    const down = n => n === 0 ? 0 : 1 + down(n - 1);
    console.log(down(7000));
    try { (function endless() { endless(); })(); } catch (error) { console.log(error instanceof RangeError, error.message); }
  },
  // feature: deepRecursion, differs at every level: exceeds V8's default stack of 984 KiB in JavaScript
  deepRecursion() { const down = n => n === 0 ? 0 : 1 + down(n - 1); console.log(down(100000)); },
  // feature: memory
  memory() {
    console.log(new Array(1 << 20).fill(1.5).length, Buffer.alloc(100 << 20).length, 'x'.repeat(1 << 24).length);
    try { new Array(-1); } catch (error) { console.log(error.message); }
    try { 'x'.repeat(2 ** 30); } catch (error) { console.log(error.message); }
    console.log(new WeakRef({}).deref() !== undefined);
  },
  // feature: aboutTheProcess, differs at every level: reads /proc
  aboutTheProcess() { console.log(os.cpus().length > 0, process.memoryUsage().rss > 0); },
  // feature: files
  async files() {
    fs.writeFileSync('a.txt', 'zeile\nwörld\n');
    fs.appendFileSync('a.txt', 'more');
    console.log(fs.readFileSync('a.txt', 'utf8').split('\n'), fs.statSync('a.txt').size, fs.existsSync('none'));
    fs.mkdirSync('d/e', {recursive: true});
    fs.renameSync('a.txt', 'd/b.txt');
    fs.copyFileSync('d/b.txt', 'd/e/c.txt');
    fs.cpSync('d', 'f', {recursive: true});
    console.log(fs.readdirSync('f'), fs.readdirSync('f', {withFileTypes: true}).map(each => each.isDirectory()));
    await fs.promises.writeFile('p', 'promised');
    console.log(await fs.promises.readFile('p', 'utf8'));
    fs.truncateSync('p', 3);
    fs.symlinkSync('p', 'l');
    console.log(fs.readlinkSync('l'), fs.realpathSync('l').endsWith('p'), fs.readFileSync('l', 'utf8'));
    fs.rmSync('d', {recursive: true});
    fs.unlinkSync('l');
    try { fs.readFileSync('none'); } catch (error) { console.log(error.code); }
    const out = fs.createWriteStream('s');
    out.end('streamed');
    await require('events').once(out, 'finish');
    let text = '';
    for await (const piece of fs.createReadStream('s')) text += piece;
    console.log(text);
    fs.chmodSync('s', 0o600);
    fs.utimesSync('s', 1, 1);
    fs.fsyncSync(fs.openSync('s', 'r+'));
    await require('stream/promises').pipeline(fs.createReadStream('s'), require('zlib').createGzip(), fs.createWriteStream('s.gz'));
    console.log(require('zlib').gunzipSync(fs.readFileSync('s.gz')).toString());
  },
  // feature: temporaryFiles
  temporaryFiles() {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'own-'));
    fs.writeFileSync(path.join(folder, 'x'), 'x');
    console.log(fs.readdirSync(folder));
    fs.rmSync(folder, {recursive: true});
  },
  // feature: aLiteralTmp, differs at guard: writes to a fixed path in /tmp
  aLiteralTmp() {
    const name = fs.mkdtempSync('/tmp/agreement-');
    console.log(fs.existsSync(name));
    fs.rmdirSync(name);
  },
  // feature: environment
  environment() {
    process.env.SET = 'here';
    console.log(process.env.SET, process.env.NOT_SET, 'PATH' in process.env, process.argv.length, process.platform);
    console.log(os.EOL === '\n', process.cwd().startsWith('/'), typeof __filename, path.basename(__filename), require.main === module);
    console.log(os.platform(), os.homedir().length > 0, os.totalmem() > 0, process.version.startsWith('v'));
  },
  // feature: theUser, differs at every level: looks up its user name
  theUser() { console.log(os.userInfo().uid >= 0); },
  // feature: times
  async times() {
    const before = performance.now(), precise = process.hrtime.bigint();
    await sleep(5);
    console.log(performance.now() - before > 3, process.hrtime.bigint() > precise, Date.now() > 1.6e12, process.uptime() > 0);
    console.log(new Date(2024, 1, 29).toISOString(), new Date(0).toString(), new Date().getTimezoneOffset());
    console.log(new Date('2024-07-01T00:00:00Z').toLocaleString('en-US', {timeZone: 'America/New_York'}));
    console.time('label');
    let count = 0;
    const timer = setInterval(() => count++, 1);
    while (count < 3) await sleep(1);
    clearInterval(timer);
    console.log(count >= 3);
  },
  // feature: numbers
  numbers() {
    console.log(2n ** 200n % 1000000007n, 0.1 + 0.2, 1 / 0, 7 % -3, -7 % 3, 2 ** 53 + 1, (255).toString(16), parseInt('12x'), Number(''));
    console.log((1234567.891).toFixed(2), (1234567.891).toLocaleString('en-US'), (0.000001234).toString(), Math.hypot(3, 4), Math.clz32(1), 1 << 31, -1 >>> 0);
    console.log(new Float32Array([0.1])[0], BigInt.asIntN(8, 255n), Number.MAX_SAFE_INTEGER, Math.max(), Math.sin(1), Math.round(-2.5));
    console.log(Math.random() < 1, require('crypto').randomBytes(4).length, require('crypto').randomUUID().length);
  },
  // feature: texts
  texts() {
    console.log('wörld 日本 😀'.length, [...'😀'].length, 'ß'.toUpperCase(), 'é'.normalize('NFD').length, 'b,a'.split(',').sort(), 'abc'.at(-1));
    console.log('a1b2'.replace(/(\w)(\d)/g, '$2$1'), [...'a1b2'.matchAll(/\d/g)].map(m => m.index), 'x'.padStart(3, '-'), 'é'.localeCompare('f'));
    console.log(['b', 'ä', 'a'].sort(new Intl.Collator('de').compare), new Intl.NumberFormat('de-DE').format(1234.5), JSON.stringify({a: [1, undefined], b: undefined}, null, 1));
    console.log(encodeURIComponent('ö'), btoa('x'), new TextEncoder().encode('é'), Buffer.from('x').toString('hex'), new URL('http://x/y?z=1').searchParams.get('z'));
    console.log(require('crypto').createHash('sha256').update('x').digest('hex').slice(0, 8), require('querystring').parse('a=1'));
  },
  // feature: language
  language() {
    class A { #x = 1; static s = 2; get x() { return this.#x; } *[Symbol.iterator]() { yield this.#x; } }
    const {a, ...rest} = {a: 1, b: 2, c: 3};
    console.log(new A().x, A.s, [...new A()], a, rest, null ?? 'default', undefined?.x, [3, 1, 2].sort(), [1, [2, [3]]].flat(Infinity));
    label: for (const i of [1, 2]) for (const j of [1, 2]) { if (j === 2) continue label; console.log(i, j); }
    console.log(new Proxy({}, {get: (_, key) => key}).anything, Reflect.ownKeys({x: 1}), Object.entries({y: 1}), typeof null, [] + {}, eval('1 + 1'), new Function('return 7')());
    console.log(Object.fromEntries(new Map([['a', 1]])), [1, 2, 3].findLast(n => n < 3), require('vm').runInNewContext('x + 1', {x: 1}), Array.from({length: 3}, (_, i) => i));
  },
  // feature: readsChunks, alone
  async readsChunks() { let size = 0; for await (const piece of process.stdin) size += piece.length; console.log(size); },
  // feature: readsByPipes, alone
  readsByPipes() { process.stdin.pipe(new (require('stream').Transform)({transform(piece, _, done) { done(null, piece.toString().toUpperCase()); }})).pipe(process.stdout); },
  // feature: readsByPromises, alone
  async readsByPromises() {
    const lines = require('readline/promises').createInterface({input: process.stdin});
    console.log(await lines.question('what? '));
    lines.close();
  },
  // feature: sumsItsInput, alone
  sumsItsInput() { console.log(fs.readFileSync('/dev/stdin', 'utf8').split(/\s+/).map(Number).filter(Number.isFinite).reduce((a, b) => a + b, 0)); },
  // feature: overflowsItsStack, alone
  overflowsItsStack() { console.log('before'); (function endless() { endless(); })(); },
  // feature: awaitsForever, alone
  async awaitsForever() { console.log('before'); await new Promise(() => {}); },
  // feature: throwsWhatIsNoError, alone
  throwsWhatIsNoError() { throw {code: 5}; },
  // feature: timers
  async timers() {
    const timers = require('timers/promises'), seen = [];
    const kept = setTimeout(() => seen.push('never'), 1);
    clearTimeout(kept);
    let left = 3;
    for await (const _ of timers.setInterval(1)) if (!--left) break;
    console.log(await timers.setTimeout(2, 'value'), seen, left, setTimeout(() => {}, 1).hasRef());
  },
  // feature: bigIntegers
  bigIntegers() {
    let product = 1n;
    for (let n = 1n; n <= 100n; n++) product *= n;
    console.log(String(product), product.toString(36).length, -7n / 2n, -7n % 3n, BigInt('0xff'), 2n ** 64n > 2 ** 63, BigInt.asUintN(64, -1n), typeof 1n, 5n == 5);
    try { console.log(1n + 1); } catch (error) { console.log(error.message); }
    try { console.log(1n / 0n); } catch (error) { console.log(error.name); }
  },
  // feature: regexes
  regexes() {
    console.log('2024-02-29'.match(/(?<year>\d+)-(?<month>\d+)/).groups.month, 'aBc'.replace(/b/i, x => `<${x}>`), /\p{L}+/u.exec('日本 x')[0], 'a-b_c'.split(/[-_]/));
    console.log('price: 5€'.match(/(?<=: )\d(?=€)/)[0], /^.$/su.test('😀'), 'xAyA'.lastIndexOf('A'), 'a,b'.replaceAll(',', ';'), [...'abcabc'.matchAll(/b(c)/dg)].map(m => m.indices[1]));
    const form = /a/y; form.lastIndex = 1;
    console.log(form.test('ba'), form.lastIndex);
    try { new RegExp('['); } catch (error) { console.log(error.name); }
  },
  // feature: sorting
  sorting() {
    const all = Array.from({length: 1000}, (_, i) => ({key: i * 37 % 10, i}));
    console.log(all.sort((a, b) => a.key - b.key).slice(0, 3), [10, 9, 1].sort(), [3, 1, 2].toSorted?.((a, b) => b - a), ['b', undefined, 'a'].sort(), ['é', 'z', 'e'].sort((a, b) => a.localeCompare(b)));
  },
  // feature: collections
  collections() {
    const map = new Map([[NaN, 1], [{}, 2]]), set = new Set('hello'), weak = new WeakMap();
    weak.set(set, 5);
    console.log(map.get(NaN), map.size, [...set].join(''), weak.get(set), new Uint8Array([256, -1]), new DataView(new ArrayBuffer(4)).getInt32(0), new Float64Array(2).fill(0.5));
    console.log([1, 2, 3, 4].reduceRight((a, b) => a - b), [[1, 2], [3]].flatMap(x => x), [1, 2, 3].copyWithin(0, 1), Array.isArray([]), [,1].length, [1, 2, 3].includes(2), Object.groupBy?.([1, 2], n => n % 2 ? 'odd' : 'even'));
  },
  // feature: errors
  errors() {
    class Own extends Error { constructor(text, options) { super(text, options); this.name = 'Own'; } }
    try { throw new Own('outer', {cause: new TypeError('inner')}); } catch (error) { console.log(String(error), error.cause.message, error instanceof Own, error.stack.split('\n')[0]); }
    for (const wrong of [() => null.x, () => notDefined, () => JSON.parse('{'), () => new Array(-1), () => decodeURIComponent('%'), () => 'x'.repeat(-1), () => (void 0)()]) try { wrong(); } catch (error) { console.log(error.name); }
    console.log((() => { try { return 1; } finally { console.log('finally'); } })(), new AggregateError([1], 'all').errors);
  },
  // feature: generators
  generators() {
    function* counts(n) { while (n) { const given = yield n--; if (given) n = given; } return 'end'; }
    const one = counts(3);
    console.log(one.next(), one.next(5), [...counts(2)], one.return(7));
    function* both() { yield* counts(1); yield* [8, 9]; }
    const [a, ...rest] = both();
    console.log(a, rest, Math.max(...both()));
  },
  // feature: modules
  async modules() {
    fs.writeFileSync('own.js', 'module.exports = {value: 42}');
    fs.writeFileSync('own.mjs', 'export const value = 43');
    console.log(require('./own.js').value, (await import(path.resolve('own.mjs'))).value);
  },
};

(async () => {
  let line = '';
  const held = Buffer.alloc(1);
  while (fs.readSync(0, held, 0, 1, null) && held[0] !== 10) line += held.toString();
  const names = line.split(' ');
  if (names.length === 1) return FEATURES[line]();
  for (const name of names) {
    fs.writeSync(1, `== ${name}\n`);
    try {
      await FEATURES[name]();
    } catch (error) {
      console.log(error.name, error.code);
    }
    await sleep(2);
  }
})();
