// player.mjs: a guest that draws ids all the time, for test/perl/Guests.pm, as player.py does; without DRIVER and fork, and with one guest for "threads".
import { existsSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const [folder, path, batch, number] = process.argv.slice(2)
const { Guest, Layout, NoGrant } = await import(pathToFileURL(`${folder}/uidgen.mjs`))
const { default: pg } = await import(pathToFileURL(`${folder}/node_modules/pg/lib/index.js`))

const EPOCH = text => BigInt(Date.parse(text.length === 10 ? `${text}T00:00:00Z` : text)) * 1000n + BigInt(/\.\d{3}(\d{3})/.exec(text)?.[1] ?? 0)

function readVectors() {
	const names = {}
	let count = 0
	for (const [kind, given, by, output, strict] of readFileSync(batch, 'utf8').split('\n').filter(line => line[0] !== '#').map(line => line.split('\t'))) {
		names[given] = output
		if (kind !== 'fields' || strict.trim() !== 'yes')
			continue
		count++
		const text = names[by] ?? by
		const [, ticks, unit, epoch] = /time:\d+:(\d+)([mu]?s) .*epoch:(\S+)/.exec(text)
		const values = new Layout(text, Number(ticks) * { us: 1, ms: 1000, s: 1e6 }[unit], Number(EPOCH(epoch))).decode(BigInt(given))
		const [time, ...rest] = output.split(' ')
		if (EPOCH(time) !== values.microseconds || rest.join(' ') !== ['datacenter', 'worker', 'tag', 'sequence'].map(name => values[name] ?? '-').join(' '))
			console.log(given, by, 'is', output, 'and read as', values)
	}
	console.log(`${count} rows`)
}

if (path === 'vectors') {
	readVectors()
	process.exit()
}

const crowd = batch === 'crowd'
async function connect() {
	const place = readFileSync(`${path}.to`, 'utf8')
	if (place === 'fail')
		throw 'as a library may'		// no Error at all
	const [, hosts, ports, database, user] = /host=(\S+) port=(\S+) dbname=(\S+) user=(\S+)/.exec(place)
	let error
	// pg knows one host.
	for (const [i, port] of ports.split(',').entries()) {
		const client = new pg.Client({ host: hosts.split(',')[i], port: Number(port), database, user, connectionTimeoutMillis: crowd ? 30000 : 2000 })
		try {
			await client.connect()
			if (!ports.includes(',') || (await client.query('SELECT pg_is_in_recovery() AS r')).rows[0].r === false)
				return client
			await client.end()
		} catch (failure) {
			error = failure
		}
	}
	throw error ?? new Error('no primary')
}

const ids = openSync(path, 'a'), errors = openSync(`${path}.err`, 'a')
writeSync(ids, Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1'))
function write(drawn) {
	const rows = Buffer.alloc(14 * drawn.length)
	drawn.forEach((id, i) => {
		rows.writeInt16BE(1, 14 * i)
		rows.writeInt32BE(8, 14 * i + 2)
		rows.writeBigInt64BE(id, 14 * i + 6)
	})
	writeSync(ids, rows)
}
const complain = error => writeSync(errors, `${error.condition ?? '-'} ${String(error.message ?? error).replace(/\s+/g, ' ')}\n`)

const options = { timeout: crowd || batch === 'threads' ? 60000 : 1000, registry: BigInt(process.env.PLAYER_REGISTRY || 0) }
if (crowd) {
	await Promise.all(Array.from({ length: Number(number) }, async () => {
		const guest = new Guest(connect, 'crowd', options)
		for (;;)
			try {
				return write(await guest.nextBatch(10))
			} catch (error) {
				complain(error)
			}
	}))
	await new Promise(() => setInterval(() => {}, 1e6))
}
const guest = new Guest(connect, 'player', options)
process.on('SIGTERM', async () => {
	await guest.close()
	process.exit()
})
if (batch === 'threads') {
	await guest.next()
	const times = { sync: [], await: [] }
	for (let round = 0; round < 200; round++) {
		let begun = process.hrtime.bigint()
		const drawn = []
		while (drawn.length < 1000)
			drawn.push(await guest.next())
		times.await.push(Number(process.hrtime.bigint() - begun) / 1000)
		begun = process.hrtime.bigint()
		try {
			for (let i = 0; i < 1000; i++)
				drawn.push(guest.nextSync())
			times.sync.push(Number(process.hrtime.bigint() - begun) / 1000)
		} catch (error) {
			if (!(error instanceof NoGrant))
				throw error
		}
		write(drawn)
	}
	for (const [kind, each] of Object.entries(times))
		complain({ message: `${kind}: best ${Math.round(Math.min(...each))} ns an id, median ${Math.round(each.sort((a, b) => a - b)[each.length >> 1])}` })
	process.exit()
}
for (;;) {
	if (existsSync(`${path}.do`)) {
		await guest[readFileSync(`${path}.do`, 'utf8')]()
		unlinkSync(`${path}.do`)
	}
	try {
		write(await guest.nextBatch(Number(batch)))
	} catch (error) {
		complain(error)
		// Otherwise close() would not be carried on with.
		if (error.condition === 'closed')
			break
		continue
	}
	await sleep(Number(number))
}
