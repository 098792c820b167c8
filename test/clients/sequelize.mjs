// sequelize.mjs: Sequelize, as docs/clients/sequelize.mjs has it.
import { check, increase, stored } from './checks.mjs';

import { Sequelize } from 'sequelize';
const statements = [];
const sequelize = new Sequelize({
	dialect: 'postgres', host: process.env.PGHOST, port: process.env.PGPORT, username: process.env.PGUSER,
	database: process.env.PGDATABASE, logging: (sql) => statements.push(sql) });

//page
await Message.sync();
const [[{ count }]] = await sequelize.query("SELECT count(*) FROM pg_class WHERE relkind = 'S'");
check('no sequence is made', count === '0');
statements.length = 0;
//page
check('an INSERT for one row, and one for many', statements.filter((sql) => sql.includes('INSERT')).length === 2);
const all = [message.id, ...many.map((row) => row.id)];
check('each row has its id, as text', await stored(all, ['hello', 'a', 'b']) && increase(all) && typeof message.id === 'string');
check('JSON has all digits', JSON.parse(JSON.stringify(message)).id === message.id);
check('a row is found by its id', (await Message.findByPk(message.id)).body === 'hello');
//page
check('ids that were drawn before are those of the rows', await stored(ids, ['c', 'd']));
await sequelize.close();
