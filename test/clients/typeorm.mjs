// typeorm.mjs: TypeORM, as docs/clients/typeorm.mjs has it.
import { begin_guest, check, increase, stored } from './checks.mjs';

const guest = begin_guest();

import { DataSource, Entity, PrimaryColumn } from 'typeorm';
const statements = [];

//page
const source = await new DataSource({
	type: 'postgres', host: process.env.PGHOST, port: Number(process.env.PGPORT), username: process.env.PGUSER,
	database: process.env.PGDATABASE, entities: [Message], synchronize: true, logging: ['query'],
	logger: { logQuery: (sql) => statements.push(sql), logQueryError() {}, logQuerySlow() {}, logSchemaBuild() {}, logMigration() {}, log() {} },
}).initialize();
const [{ count }] = await source.query("SELECT count(*) FROM pg_class WHERE relkind = 'S'");
check('no sequence is made', count === '0');
statements.length = 0;
//page
check('an INSERT for one row, and one for many', statements.filter((sql) => sql.startsWith('INSERT')).length === 2);
const all = [message.id, ...many.map((row) => row.id)];
check('each row has its id, as text', await stored(all, ['hello', 'a', 'b']) && increase(all) && typeof message.id === 'string');
check('a row is found by its id', (await messages.findOneBy({ id: message.id })).body === 'hello');
statements.length = 0;
//page
check('ids that were drawn before are those of the rows', await stored(ids, ['c', 'd']));
check('... and nothing asks whether they exist', !statements.some((sql) => sql.startsWith('SELECT "')));
await messages.save({ id: String(BigInt(ids[1]) + 1n), body: 'e' });
check('save() asks whether they exist', statements.some((sql) => sql.startsWith('SELECT "')));
//page
check('ids of a guest are those of the rows', await stored(made.map((row) => row.id), ['e', 'f']) && made.every((row) => guest.layout.decode(BigInt(row.id)).worker >= 512n));
await guest.close();
source.subscribers.pop();

// Decorators are functions, and can be called without TypeScript.
class Order {}
Entity({ name: 'order' })(Order);
PrimaryColumn({ type: 'bigint', default: () => 'uid_next()' })(Order.prototype, 'id');
const decorated = await new DataSource({ ...source.options, entities: [Order] }).initialize();
const order = await decorated.getRepository(Order).save(new Order());
const [{ sequences }] = await decorated.query("SELECT count(*) AS sequences FROM pg_class WHERE relkind = 'S'");
check('by decorators, too', sequences === '0' && BigInt(order.id) > BigInt(ids[1]));
await decorated.destroy();
await source.destroy();
