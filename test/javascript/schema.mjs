// schema.mjs: two tables as Drizzle knows them, with relations between their rows.

import { relations } from 'drizzle-orm';
import { bigint, pgTable, text } from 'drizzle-orm/pg-core';

// `mode` is what Drizzle makes of a bigint.
export function messageSchema(mode) {
	const message = pgTable('message', { id: bigint('id', { mode }).primaryKey(), body: text('body') });
	const reply = pgTable('reply', { id: bigint('id', { mode }).primaryKey(), messageId: bigint('message_id', { mode }) });
	return {
		message,
		reply,
		messageRelations: relations(message, ({ many }) => ({ replies: many(reply) })),
		replyRelations: relations(reply, ({ one }) => ({
			message: one(message, { fields: [reply.messageId], references: [message.id] }),
		})),
	};
}
