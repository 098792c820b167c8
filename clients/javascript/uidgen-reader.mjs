// Readers that go on by id and miss no row: the consumer of an outbox, and a copy of a tracked table.
//
//	import pg from 'pg'
//	import { Consumer } from './uidgen-reader.mjs'
//	const consumer = new Consumer(() => new pg.Client('postgres:///shop'), 'outbox', 'mail')
//	await consumer.begin()					// makes the table of places, and a place, unless they are there
//	await consumer.run(send)				// calls send(rows, client) again and again, until consumer.stop()
//
// A row that commits late has a smaller id than rows that were seen before, so a reader ends at uid_horizon().  docs/readers.md has the rules.
// Needs Node 18, and pg, which gives bigint as text.

/** A client that is made when it is needed, and again after an error. */
class Connection {
	#make
	#client = null
	#open = false			// a transaction

	constructor(make) {
		this.#make = make
	}

	/** The client, in the transaction that is open, or in a new one. */
	async get() {
		if (!this.#client) {
			const client = this.#client = this.#make()
			client.on('error', () => {})			// a server that ends it while it is idle; the next statement says so
			await client.connect()
			this.#open = false
		}
		if (!this.#open) {
			await this.#client.query('BEGIN ISOLATION LEVEL READ COMMITTED')
			this.#open = true
		}
		return this.#client
	}

	async ask(statement, ...values) {
		return (await (await this.get()).query(statement, values)).rows
	}

	async end(how) {
		await (await this.get()).query(how)
		this.#open = false
	}

	/** With it, an open transaction is rolled back. */
	async close() {
		const client = this.#client
		this.#client = null
		await client?.end().catch(() => {})
	}

	/** A table as a statement writes it; whatever it is called, it stays a name. */
	async name(table) {
		return (await this.ask('SELECT $1::pg_catalog.regclass::pg_catalog.text AS name', table))[0].name
	}

	async quote(column) {
		return (await this.ask('SELECT pg_catalog.quote_ident($1) AS name', column))[0].name
	}

	/** Makes the table of places and the place of a reader, unless they are there. */
	async makePlace(places, reader, last) {
		await this.ask('SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext($1))', places)			// readers may begin at once
		if ((await this.ask('SELECT pg_catalog.to_regclass($1) IS NULL AS missing', places))[0].missing)
			await this.ask(`CREATE TABLE ${places} (reader text PRIMARY KEY, last bigint)`)
		await this.ask(`INSERT INTO ${await this.name(places)} (reader, last) VALUES ($1, $2) ON CONFLICT DO NOTHING`, reader, last)
		await this.end('COMMIT')
	}

	/** Until the transaction ends, values are texts that mean the same on each server, whatever its settings are. */
	writeAlike() {
		return this.ask(`SELECT pg_catalog.set_config(s.name, s.value, true)
			FROM (VALUES ('datestyle', 'ISO, MDY'), ('intervalstyle', 'postgres'), ('extra_float_digits', '3'), ('lc_monetary', 'C')) AS s (name, value)`)
	}

	/** The place of a reader, as text or null, which nobody else can have before the transaction ends. */
	async lockPlace(places, reader) {
		const rows = await this.ask(`SELECT last FROM ${await this.name(places)} WHERE reader = $1 FOR UPDATE`, reader)
		if (!rows.length) throw new Error(`${reader} has no place in table ${places}: call begin()`)
		return rows[0].last
	}

	async movePlace(places, reader, last) {
		await this.ask(`UPDATE ${await this.name(places)} SET last = $1 WHERE reader = $2`, last, reader)
		await this.end('COMMIT')
	}
}

/** The loop of a consumer or copy, and what it knows of the horizon. */
class Reader {
	#stopped = false
	#wake = () => {}

	/** The time since which uid_horizon() is null, as beside a prepared transaction of before a restart. */
	blockedSince = null

	constructor(name, places, limit, ...connections) {
		Object.assign(this, { name, places, limit, connections })
	}

	/** Ends run() after the poll that is under way. */
	stop() {
		this.#stopped = true
		this.#wake()
	}

	async close() {
		await Promise.all(this.connections.map(connection => connection.close()))
	}

	/** Null is not "nothing new".  If it lasts, uidgen.horizon_holders names who is to be looked at. */
	async noteHorizon(connection, count) {
		const blocked = !count && (await connection.ask('SELECT uid_horizon() IS NULL AS blocked'))[0].blocked
		this.blockedSince = blocked ? this.blockedSince ?? new Date() : null
	}

	async inTransactions(work) {
		try {
			return await work()
		} catch (error) {
			await this.close()
			throw error
		}
	}

	async loop(poll, { pause = 100, failed = () => false } = {}) {
		let wait = 0
		while (!this.#stopped) {
			let isFull = false			// and has more behind it
			try {
				isFull = await poll() >= this.limit
			} catch (error) {
				if (!failed(error)) throw error
			}
			wait = isFull ? 0 : Math.min(2 * wait || pause, 16 * pause)
			if (!this.#stopped) await new Promise(wake => {
				const timer = setTimeout(wake, wait)
				this.#wake = () => {
					clearTimeout(timer)
					wake()
				}
			})
		}
	}
}

/**
 * Hands each row of a table to a function, once, in the order of ids.
 *
 * The place is in a table of the same database, and moves in the transaction in which the rows are handed over.  So what the function writes by the
 * client that it is given is there if the place has moved, and only then.  What it does elsewhere is done again after an error.  Several consumers
 * of one name take turns.
 */
export class Consumer extends Reader {
	/** connect() returns a pg.Client that is not connected yet; table and places may have a schema, and are quoted as in SQL. */
	constructor(connect, table, name, { key = 'id', places = 'reader_place', limit = 1000 } = {}) {
		super(name, places, limit, new Connection(connect))
		Object.assign(this, { table, key })
	}

	/** Makes the table of places, and a place behind the id last, unless they are there. */
	begin(last = 0n) {
		return this.inTransactions(() => this.connections[0].makePlace(this.places, this.name, String(last)))
	}

	/** Calls handle(rows, client) with what is new, if anything is.  Return: how many rows; limit: there are more. */
	poll(handle) {
		return this.inTransactions(async () => {
			const [c] = this.connections
			let last = await c.lockPlace(this.places, this.name)
			const key = await c.quote(this.key)
			// A statement of its own, whose snapshot is later than the lock.
			const rows = await c.ask(`SELECT * FROM ${await c.name(this.table)} WHERE ${key} > $1 AND ${key} <= uid_horizon() ORDER BY ${key} LIMIT $2`, last, this.limit)
			await this.noteHorizon(c, rows.length)
			if (rows.length) {
				await handle(rows, await c.get())
				last = String(rows.at(-1)[this.key])
			}
			await c.movePlace(this.places, this.name, last)
			return rows.length
		})
	}

	/** Polls until stop().  An error ends it, unless failed(error) returns true.  The pause, in milliseconds, doubles up to 16 times while nothing is new. */
	run(handle, options) {
		return this.loop(() => this.poll(handle), options)
	}
}

/**
 * Keeps a copy of a tracked table in another database, by the view of changes of docs/readers.md.
 *
 * The copy has the columns of its table, and the primary key of the source.  Rows and place change in one transaction.
 */
export class Copy extends Reader {
	/** Each function returns a pg.Client that is not connected yet. */
	constructor(connectSource, connectCopy, view, table, { version = 'changed', places = 'reader_place', limit = 1000 } = {}) {
		super(`copy of ${table}`, places, limit, new Connection(connectSource), new Connection(connectCopy))
		Object.assign(this, { view, table, version })
	}

	/** Makes the table of places, and a place before the first copy, unless they are there. */
	begin() {
		return this.inTransactions(() => this.connections[1].makePlace(this.places, this.name, null))
	}

	/** Brings up to limit changes into the copy, or all rows if the copy is not made yet or has to be made anew.  Return: how many; limit: there are more. */
	poll() {
		return this.inTransactions(() => this.#poll(...this.connections))
	}

	/** Polls until stop(), as Consumer.run() does. */
	run(options) {
		return this.loop(() => this.poll(), options)
	}

	async #poll(source, copy) {
		const place = await copy.lockPlace(this.places, this.name)
		await copy.writeAlike()
		await source.writeAlike()
		const table = await copy.name(this.table)
		const columns = await copy.ask(`SELECT pg_catalog.quote_ident(a.attname) AS name, COALESCE(a.attnum = ANY (i.indkey), false) AS is_key, a.attidentity = 'a' AS is_fixed
			FROM pg_catalog.pg_attribute AS a LEFT JOIN pg_catalog.pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary
			WHERE a.attrelid = $1::pg_catalog.regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum`, this.table)
		const keys = columns.map((column, n) => n).filter(n => columns[n].is_key)
		if (!keys.length) throw new Error(`table ${this.table}, the copy, has no primary key`)
		const version = await source.quote(this.version)
		const erase = `DELETE FROM ${table} WHERE ${keys.map((n, place) => `${columns[n].name} = $${place + 1}`).join(' AND ')}`
		// The key, too: equal keys can be written in two ways.
		const updates = columns.filter(column => !column.is_fixed).map(({ name }) => `${name} = EXCLUDED.${name}`)
		const insert = `INSERT INTO ${table} (${columns.map(({ name }) => name).join(', ')}) OVERRIDING SYSTEM VALUE VALUES (${columns.map((column, n) => `$${n + 1}`).join(', ')})
			ON CONFLICT (${keys.map(n => columns[n].name).join(', ')}) DO ${updates.length ? `UPDATE SET ${updates.join(', ')}` : 'NOTHING'}`
		// As text, so that nothing is lost in numbers of JavaScript; by a cursor, so that a first copy may be larger than memory.
		await source.ask(`DECLARE uidgen_changes NO SCROLL CURSOR FOR SELECT ARRAY[${columns.map(({ name }) => `v.${name}::pg_catalog.text`).join(', ')}] AS row, v.${version} AS changed, v.gone
			FROM ${await source.name(this.view)} AS v WHERE v.${version} <= uid_horizon()
			${place === null ? '' : `AND v.${version} > ${BigInt(place)} ORDER BY v.${version} LIMIT ${Number(this.limit)}`}`)
		let last = place
		let count = 0
		for (let rows; (rows = await source.ask('FETCH 1000 FROM uidgen_changes')).length;) {
			for (const { row, changed, gone } of rows) {
				const key = keys.map(n => row[n])
				if (key.includes(null) && place !== null) {			// a mark: anew, the next time
					await source.end('ROLLBACK')
					await copy.movePlace(this.places, this.name, null)
					return this.limit
				}
				if (last === null) await copy.ask(`DELETE FROM ${table}`)		// not before: an empty answer says nothing of the table
				await (gone ? copy.ask(erase, ...key) : copy.ask(insert, ...row))
				if (last === null || BigInt(changed) > BigInt(last)) last = String(changed)
				count++
			}
		}
		await this.noteHorizon(source, count)
		await source.end('ROLLBACK')
		await copy.movePlace(this.places, this.name, last)
		return count
	}
}
