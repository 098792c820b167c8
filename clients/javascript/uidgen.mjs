// Ids of uidgen in a program's own process, by a worker id that it leases from a registry.
//
//	import pg from 'pg'
//	import { Guest } from './uidgen.mjs'
//	const guest = new Guest(() => new pg.Client('postgresql://app@registry/uidgen?connect_timeout=3'), 'billing')
//	await guest.next()				// a BigInt
//	guest.nextSync()				// while there is a grant
//	await guest.nextBatch(100)
//	guest.layout.decode(guest.nextSync())
//
// A process, or a worker thread, needs one Guest.  docs/protocol.md has the rules.  Needs Node 18 and the package pg.
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { performance } from 'node:perf_hooks'

const TOKENS = 100

/** There is no id now; condition, of those in docs/protocol.md, and the message say why.  Later there may be. */
export class NoGrant extends Error {
	constructor(condition, why, options) {
		super(why, options)
		this.name = 'NoGrant'
		this.condition = condition
	}
}

/** Where the fields of an id lie: a layout in canonical form, with its unit and epoch in microseconds. */
export class Layout {
	constructor(text, unit, epoch) {
		Object.assign(this, { text, unit, epoch, fields: {} })	// name: [shift, mask]
		let shift = 0n
		for (const [, name, bits] of [...text.matchAll(/(\w+):(\d+)(?= |:\d+[mu]?s )/g)].reverse()) {
			this.fields[name] = [shift, (1n << BigInt(bits)) - 1n]
			shift += BigInt(bits)
		}
		if (!this.fields.time || !this.fields.worker || shift > 63n)
			throw new RangeError(`cannot make ids of the layout "${text}"`)
	}

	encode(values) {
		let id = 0n
		for (const [name, value] of Object.entries(values)) {
			const [shift, mask] = this.fields[name]
			if (value < 0n || value > mask)
				throw new RangeError(`${name} has no room for ${value}`)
			id |= value << shift
		}
		return id
	}

	/** The fields of an id, as BigInt; time is a Date, which ends with milliseconds, and microseconds is that time since 1970. */
	decode(id) {
		const values = {}
		for (const [name, [shift, mask]] of Object.entries(this.fields))
			if (name !== 'zero')
				values[name] = id >> shift & mask
		const microseconds = values.time * BigInt(this.unit) + BigInt(this.epoch)
		return { ...values, time: new Date(Number(microseconds / 1000n)), microseconds }
	}

	begins(tick) {
		return new Date((tick * this.unit + this.epoch) / 1000)
	}
}

const random = () => BigInt.asUintN(63, randomBytes(8).readBigUInt64LE())
const guests = new Set()		// that are not closed
process.on('beforeExit', () => guests.forEach(guest => guest.close()))

export class Guest {
	// Of the last id: its tick, and its number in that.  Ticks are below 2^53 for longer than a grant lasts.
	#tick = -1
	#number = 0
	// The grant: ticks up to #last.  #base is an id of tick #baseTick without its number.
	#worker = null
	#last = -1
	#renewAt = -1
	#tickEnds = -1			// until then the clock shows the same tick
	#mask = 0
	#base = 0n
	#baseTick = -1
	#fixed = 0n
	#timeShift = 0n
	#numberShift = 0n
	#offset = 0				// microseconds from performance.now() to the registry's clock, counted from the layout's epoch
	#apart = 0				// milliseconds from performance.now() to the wall clock, when the call was sent
	#stale = false
	#registry = null		// its number and the latest timeline: other answers do not count
	#closed = false
	#life = null			// what is of the present begin: see #begin()

	/** connect: returns a new client of pg, connected or not, or a promise of one.  timeout: how many milliseconds a call may take, and next() wait.
	 *  registry: the number of the registry that is meant, or 0n for whichever answers first. */
	constructor(connect, name, { timeout = 5000, datacenter = 0, registry = 0n } = {}) {
		Object.assign(this, { connect, name, timeout, datacenter, registry: BigInt(registry), layout: null })
		this.#begin()
		guests.add(this)
	}

	/** As a process that has never asked. */
	#begin() {
		this.#worker = null
		this.#last = this.#renewAt = this.#tickEnds = -1
		this.#life = {
			identity: `${this.name.slice(0, 100)}@${hostname().slice(0, 60)}/${process.pid}/${random().toString(16).padStart(16, '0')}`,
			tokens: [],		// that the row may have: of the last answer, and of all calls since then
			doubt: false,	// whether there are calls since then
			claim: [-1, -1],
			ended: false, running: false, asking: false,
			client: null, notices: [], wakeUp: null, waiting: new Set(),
			error: null, answered: null
		}
	}

	// ---- ids ----

	/** The next id; raises NoGrant at once where there is none. */
	nextSync() {
		const now = performance.now()
		let tick = this.#tick, number = this.#number + 1
		// Within a tick it is the next one.
		if (now >= this.#tickEnds) {
			const present = this.#now(now)
			if (present < 0)
				throw this.#noGrant()
			if (present > tick) {
				tick = present
				number = 0
			}
		}
		if (number > this.#mask) {
			tick++
			number = 0
		}
		if (tick >= this.#renewAt)
			this.#wake()
		// All of the grant is this guest's alone, so an id may be ahead of the clock.
		if (tick > this.#last)
			throw this.#noGrant()
		this.#tick = tick
		this.#number = number
		if (tick !== this.#baseTick) {
			this.#base = BigInt(tick) << this.#timeShift | this.#fixed
			this.#baseTick = tick
		}
		return this.#numberShift === 0n ? this.#base + BigInt(number) : this.#base + (BigInt(number) << this.#numberShift)
	}

	/** The next id; waits for it, at most for the time-out. */
	async next() {
		if (!this.#usable())
			await this.#wait()
		return this.nextSync()
	}

	async nextBatch(count) {
		const ids = []
		while (ids.length < count)
			ids.push(await this.next())
		return ids
	}

	/** The tick that the registry's clock shows, by a clock that nobody sets; -1: the registry has to be asked. */
	#now(now) {
		if (this.#worker === null)
			return -1
		if (Math.abs(Date.now() - now - this.#apart) > 1000) {
			this.#stale = true			// the machine slept, or its clock was set
			this.#tickEnds = -1
			this.#wake()
			return -1
		}
		const tick = Math.floor((now * 1000 + this.#offset) / this.layout.unit)
		this.#tickEnds = Math.min(((tick + 1) * this.layout.unit - this.#offset) / 1000, now + 10)
		return tick
	}

	#usable() {
		const now = this.#now(performance.now())
		const next = this.#number < this.#mask ? this.#tick : this.#tick + 1
		return now >= 0 && Math.max(next, now) <= this.#last
	}

	#noGrant() {
		this.#wake()
		return this.#closed ? new NoGrant('closed', 'the guest is closed')
			: this.#life.error ? new NoGrant(this.#life.error.condition, this.#life.error.message, { cause: this.#life.error })
			: new NoGrant('no_answer', 'the registry has not answered so far')
	}

	async #wait() {
		const limit = performance.now() + this.timeout
		while (!this.#usable()) {
			const life = this.#life
			const left = limit - performance.now()
			if (left <= 0 || this.#closed)
				throw this.#noGrant()
			this.#wake()
			// This timer is what a program that has nothing else to do waits for.
			await new Promise(done => {
				const timer = setTimeout(done, left)
				life.waiting.add(() => { clearTimeout(timer); done() })
			})
		}
	}

	#wake() {
		const life = this.#life
		if (this.#closed || life.ended)
			return
		if (!life.running)
			this.#run(life)
		life.wakeUp?.()
	}

	static #tell(life) {
		for (const done of life.waiting)
			done()
		life.waiting.clear()
	}

	/** Whether next() has an id now, of which worker id, until when the grant lasts, when the registry answered last, what went wrong since. */
	state() {
		const has = this.#worker !== null
		const { answered, error } = this.#life
		return { ok: has && this.#usable(), worker: this.#worker, until: has ? this.layout.begins(this.#last + 1) : null, lastAnswer: answered,
			condition: error?.condition ?? null, error: error?.message ?? null }
	}

	/** Hand the worker id back.  There are no ids after that. */
	async close() {
		this.#closed = true
		guests.delete(this)
		await this.#handBack()
	}

	/** Hand the worker id back before a snapshot of the process is made; the next id waits for another one. */
	async drop() {
		await this.#handBack()
		if (!this.#closed)
			this.#begin()
	}

	/** This process goes on from a snapshot, perhaps beside others: what was granted may be anybody's. */
	restored() {
		const life = this.#life
		life.ended = true
		life.client = null			// the origin's, too: it is not closed
		life.wakeUp?.()
		if (!this.#closed)
			this.#begin()
		Guest.#tell(life)
	}

	async #handBack() {
		const life = this.#life
		if (life.ended)
			return
		const worker = this.#worker
		// First: nobody goes on with it.
		life.ended = true
		this.#worker = null
		this.#last = this.#tickEnds = -1
		life.wakeUp?.()
		Guest.#tell(life)
		const limit = performance.now() + 1000
		while (life.asking && performance.now() < limit)
			await new Promise(done => setTimeout(done, 10))
		if (worker !== null && life.client && !life.asking)
			await this.#call(life, 'SELECT uidgen_registry.guest_release($1::integer, $2::bigint[], $3::integer)',
				[worker, `{${life.tokens}}`, this.datacenter], 1000).catch(() => {})	// it becomes free by itself
		Guest.#disconnect(life)
	}

	// ---- the registry ----

	/** Keeps the grant for as long as this life of the guest lasts. */
	async #run(life) {
		life.running = true
		for (let failures = 0; !life.ended; ) {
			const rest = this.#rest(life)
			if (rest > 0) {
				await Guest.#sleep(life, Math.min(rest, 1000), true)
				continue
			}
			life.asking = true
			try {
				failures = await this.#ask(life) ? 0 : failures + 1
			} catch (error) {
				failures++
				life.error = error instanceof NoGrant ? error
					: new NoGrant(/^(?!08)(?=.*\d)[0-9A-Z]{5}$/.test(error?.code) ? 'refused' : 'no_answer', error?.message || String(error), { cause: error })
				Guest.#disconnect(life)		// whatever was unusual: what was done is not known
			}
			life.asking = false
			if (life.ended)
				break
			// After a failure random, so that guests do not come back together.  Who draws faster than ticks come would else ask all the time.
			await Guest.#sleep(life, failures ? (0.5 + Math.random() / 2) * Math.min(100 * 2 ** Math.min(failures, 6), 2000) : 250, false)
		}
	}

	static #sleep(life, ms, wakes) {
		return new Promise(done => {
			const timer = setTimeout(done, ms)
			timer.unref()			// a program that ends does not wait for it
			life.wakeUp = () => {
				if (wakes || life.ended) {
					clearTimeout(timer)
					done()
				}
			}
		})
	}

	/** In how many milliseconds to ask. */
	#rest(life) {
		if (this.#worker === null || life.doubt || this.#stale)
			return 0
		const now = this.#now(performance.now())
		return now < 0 ? 0 : Math.max(0, this.#renewAt - Math.max(now, this.#tick)) * this.layout.unit / 1000
	}

	/** One call.  Returns whether there is more of a grant than before. */
	async #ask(life) {
		await this.#open(life)
		const token = random(), last = this.#last
		const renews = this.#worker !== null && !life.doubt
		const [query, values] = renews
			? ['SELECT $7::bigint AS token, last_tick, registry_id, timeline, clock FROM uidgen_registry.guest_renew($1::integer, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::integer)',
				[this.#worker, life.tokens[0], last, token, this.#number < this.#mask ? this.#tick : this.#tick + 1, this.datacenter, token]]
			: ['SELECT $8::bigint AS token, worker, first_tick, last_tick, layout, unit, epoch, registry_id, timeline, clock FROM uidgen_registry.guest_acquire($1::text, $2::bigint, $3::bigint[], $4::integer, $5::bigint, $6::integer, $7::bigint)',
				[life.identity, token, `{${life.tokens}}`, ...life.claim, this.datacenter, this.registry, token]]
		// Before it is sent: if the answer is lost, the row may have it.  Where all calls fail, the row has the first one, of the last answer.
		if (life.tokens.length >= TOKENS)
			life.tokens.splice(1, 1)
		life.tokens.push(token)
		life.doubt = true
		const asked = performance.now(), apart = Date.now() - asked		// the machine may sleep while the answer is on its way
		const row = await this.#call(life, query, values, this.timeout)
		const heard = performance.now()
		if (life.ended)
			return false
		if (heard - asked > this.timeout)
			throw new NoGrant('no_answer', `the registry did not answer within ${this.timeout} ms`)
		if (BigInt(row.token) !== token)
			throw new NoGrant('uncertain', 'the answer belongs to another call')
		const registry = BigInt(row.registry_id)
		if (this.registry !== 0n && registry !== this.registry)
			throw new NoGrant('other_registry', `another registry than configured: ${registry}`)
		if (this.#registry && registry !== this.#registry[0])
			throw new NoGrant('other_registry', `another registry than before: ${registry}`)
		if (this.#registry && row.timeline < this.#registry[1])
			throw new NoGrant('left_behind', 'the registry was left behind by a failover')
		this.#registry = [registry, row.timeline]
		life.answered = new Date()
		life.error = null
		if (row.last_tick !== null) {
			if (renews)
				this.#last = Number(row.last_tick)
			else
				this.#take(row)
			life.tokens.splice(0, life.tokens.length, token)
			life.doubt = false
			life.claim = [this.#worker, this.#last]
		} else if (renews)
			// What was granted stays this guest's.  The row is asked for by all tokens, and by its end.
			life.error = new NoGrant('lost', 'another guest has the worker id, or the registry has lost a renewal')
		else
			life.error = new NoGrant('ahead', 'the registry cannot grant so far ahead of its clock yet: it is in quarantine, or the last grant of the worker id lies ahead')
		if (this.#worker !== null) {
			this.#apart = apart
			this.#stale = false
			this.#tickEnds = -1
			this.#offset = Number(row.clock) - this.layout.epoch - heard * 1000
			this.#renewAt = this.#last - Math.max(Math.floor((this.#last - Math.floor((heard * 1000 + this.#offset) / this.layout.unit)) / 2), 1)
		}
		Guest.#tell(life)
		return this.#last > last
	}

	#take({ worker, first_tick, last_tick, layout: text, unit, epoch }) {
		if (worker !== this.#worker)
			this.#number = Number.MAX_SAFE_INTEGER		// the other worker id may be lower, so it begins with another tick
		const layout = this.layout = new Layout(text, Number(unit), Number(epoch))
		const [numberShift, mask] = layout.fields.sequence ?? [0n, 0n]
		this.#timeShift = layout.fields.time[0]
		this.#numberShift = numberShift
		this.#mask = Number(mask)
		this.#fixed = layout.encode({ worker: BigInt(worker), ...layout.fields.datacenter && { datacenter: BigInt(this.datacenter) } })
		this.#baseTick = -1
		this.#worker = worker
		this.#last = Number(last_tick)
		if (Number(first_tick) > this.#tick) {
			this.#tick = Number(first_tick) - 1
			this.#number = Number.MAX_SAFE_INTEGER
		}
	}

	async #open(life) {
		if (life.client)
			return
		const connects = (async () => {
			const client = await this.connect()
			client.on('error', () => {})		// of a connection that is lost while nobody uses it; the next call finds that
			client.on('notice', notice => life.notices.push(notice))
			if (!client._connected)
				await client.connect()
			return client
		})()
		const drop = () => connects.then(client => client.end()).catch(() => {})
		const client = await Guest.#within(this.timeout, connects).catch(error => { drop(); throw error })
		if (life.ended)
			return void drop()
		life.client = client
		life.notices.length = 0
		client.unref?.()
	}

	/** One statement, one row.  Whatever is unusual is an error. */
	async #call(life, text, values, timeout) {
		const client = life.client
		if (!client)
			throw new NoGrant('closed', 'the guest is closed')
		const { rows } = await Guest.#within(timeout, client.query({ text, values: values.map(String), types: { getTypeParser } }))
		// A warning is how PostgreSQL says that a commit is not on the standby.
		if (rows.length !== 1 || life.notices.length > 0)
			throw new NoGrant('uncertain', 'the answer is not certain')
		return rows[0]
	}

	static async #within(timeout, promise) {
		let timer
		const late = new Promise((_, fail) => {
			timer = setTimeout(() => fail(new NoGrant('no_answer', `the registry did not answer within ${timeout} ms`)), timeout)
		})
		try {
			return await Promise.race([promise, late])
		} finally {
			clearTimeout(timer)
		}
	}

	static #disconnect(life) {
		const client = life.client
		life.client = null
		client?.connection?.stream?.destroy()
	}
}

/** Numbers of 64 bits stay texts, whatever the program has told pg. */
const getTypeParser = oid => oid === 23 ? Number : String
