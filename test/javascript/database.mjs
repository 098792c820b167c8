// database.mjs: the connection that the tests share.  $PGHOST and the like name the server.
//
// Once a test has run, Node does not end by an error outside of the tests, but waits for
// the connection.  So whatever may fail is done inside of a test.

import pg from 'pg';

export const client = new pg.Client();
await client.connect();

// The first column of the first row.
export async function value(sql, ...parameters) {
	const result = await client.query({ text: sql, values: parameters, rowMode: 'array' });
	return result.rows[0]?.[0];
}
