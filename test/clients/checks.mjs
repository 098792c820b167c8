// checks.mjs: what the programs for Node share: a line for each test, as clients.pl reads them.

import pg from 'pg';
import { Guest } from './guest.mjs';

export function check(name, passed) {
	console.log(`${passed ? 'ok' : 'not ok'} - ${name}`);
}

/** Each is larger than the one before? */
export function increase(ids) {
	return ids.every((id, i) => i === 0 || BigInt(ids[i - 1]) < BigInt(id));
}

/** The rows that are in the table in fact, by a connection that nobody has set up: [id as text, body]. */
export async function rows() {
	const client = new pg.Client();
	await client.connect();
	const result = await client.query({ text: 'SELECT id::text, body FROM message ORDER BY id', rowMode: 'array' });
	await client.end();
	return result.rows;
}

/** Do these ids, with whatever type, belong to rows with these bodies? */
export async function stored(ids, bodies) {
	const found = new Map(await rows());
	return ids.length === bodies.length && ids.every((id, i) => found.get(String(id)) === bodies[i]);
}

/** A guest of the registry in this server. */
export function begin_guest() {
	return new Guest(() => new pg.Client(process.env.GUESTS), 'orm');
}
