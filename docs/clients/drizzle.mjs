// Ids of uidgen in Drizzle.  docs/applications.md says what to know; `./check clients` runs each part as it is.

// ---- a row, and several: prints { id: 251184671834873856n, body: 'hello' } and so on
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { bigint, pgTable, text } from 'drizzle-orm/pg-core';

const message = pgTable('message', {
	id: bigint('id', { mode: 'bigint' }).primaryKey().default(sql`uid_next()`),
	body: text('body'),
});

const db = drizzle(client);
const [one] = await db.insert(message).values({ body: 'hello' }).returning();
console.log(one);
const many = await db.insert(message).values([{ body: 'a' }, { body: 'b' }]).returning({ id: message.id });
console.log(many);

// ---- ids that are drawn before
const drawn = await db.execute(sql`SELECT uid_next_batch(2) AS id`);
const ids = drawn.rows.map((row) => BigInt(row.id));
await db.insert(message).values([{ id: ids[0], body: 'c' }, { id: ids[1], body: 'd' }]);

// ---- ids of a guest (docs/guests.md): a column whose default is in the program
const sent = pgTable('message', {
	id: bigint('id', { mode: 'bigint' }).primaryKey().$defaultFn(() => guest.nextSync()),
	body: text('body'),
});
await guest.next();	// once: waits for the first grant
const made = await db.insert(sent).values([{ body: 'e' }, { body: 'f' }]).returning();
