// Ids of uidgen in Sequelize.  docs/applications.md says what to know; `./check clients` runs each part as it is.

// ---- the model
import { DataTypes } from 'sequelize';

const Message = sequelize.define('message', {
	id: { type: DataTypes.BIGINT, primaryKey: true, defaultValue: sequelize.literal('uid_next()') },
	body: DataTypes.TEXT,
}, { tableName: 'message', timestamps: false });

// ---- a row, and several
const message = await Message.create({ body: 'hello' });
console.log(message.id);
const many = await Message.bulkCreate([{ body: 'a' }, { body: 'b' }]);
console.log(many.map((row) => row.id));

// ---- ids that are drawn before
const [drawn] = await sequelize.query('SELECT uid_next_batch(2) AS id');
const ids = drawn.map((row) => row.id);
await Message.bulkCreate([{ id: ids[0], body: 'c' }, { id: ids[1], body: 'd' }]);
