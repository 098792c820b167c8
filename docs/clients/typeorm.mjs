// Ids of uidgen in TypeORM.  docs/applications.md says what to know; `./check clients` runs each part as it is.

// ---- the entity; with decorators the column is @PrimaryColumn({ type: 'bigint', default: () => 'uid_next()' }), of type string
import { EntitySchema } from 'typeorm';

const Message = new EntitySchema({
	name: 'Message', tableName: 'message',
	columns: {
		id: { type: 'bigint', primary: true, default: () => 'uid_next()' },
		body: { type: 'text' },
	},
});

// ---- a row, and several
const messages = source.getRepository(Message);
const message = await messages.save({ body: 'hello' });
console.log(message.id);
const many = await messages.save([{ body: 'a' }, { body: 'b' }]);
console.log(many.map((row) => row.id));

// ---- ids that are drawn before: by insert(), since save() would ask first whether the rows exist
const drawn = await source.query('SELECT uid_next_batch(2) AS id');
const ids = drawn.map((row) => row.id);
await messages.insert([{ id: ids[0], body: 'c' }, { id: ids[1], body: 'd' }]);

// ---- ids of a guest (docs/guests.md): a subscriber gives each row its id
source.subscribers.push({
	beforeInsert({ entity }) {
		entity.id ??= String(guest.nextSync());
	},
});
await guest.next();	// once: waits for the first grant
const made = await messages.save([{ body: 'e' }, { body: 'f' }]);
