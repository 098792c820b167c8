/*
 * guests.c
 *	  Guests of the simulation: programs that make ids by a worker id that they lease.
 *
 * A client as docs/protocol.md has it, to see that its rules and those of the registry are enough.
 * test/guests has the faults for the clients that people use, in real time.  This one differs:
 *
 *	- it makes no pauses between calls, which are there to spare the registry;
 *	- a wall clock that is off by a tick is what one is that is off by a second;
 *	- it remembers fewer tokens.
 */
#include "simulation.h"

#include <inttypes.h>
#include <string.h>

static UidgenMicroseconds
monotonic(const Guest *guest)
{
	return world.now + guest->monotonic;
}

static UidgenMicroseconds
apart(const Guest *guest)
{
	return guest->wall - guest->monotonic;
}

/* A process begins, which knows nothing. */
void
guest_start(Guest *guest)
{
	*guest = (Guest) {
		.life = world.lives,
		.holder = world.lives,
		.monotonic = guest->monotonic,
		.wall = guest->wall,
		.worker = -1,
		.last = -1,
		.registry = world.address,
		.claimed_worker = -1,
		.claimed_until = -1,
		.position = -1,
		.id_tick = -1,
		.progress = NOT_CALLING,
	};
	world.lives++;
}

/* ---- ids ---- */

static UidgenTick
tick_of_position(int64_t position)
{
	return position >> world.setup.sequence_bits;
}

static int64_t
first_position(UidgenTick tick)
{
	return tick * (INT64_C(1) << world.setup.sequence_bits);
}

/* The tick that the registry's clock shows; -1: it has to be asked. */
static UidgenTick
guest_tick(Guest *guest)
{
	UidgenMicroseconds moved = apart(guest) - guest->apart;

	if ((moved > world.setup.unit || moved < -world.setup.unit) && !is_broken("guest_sleep_unnoticed"))
		guest->clock = 0;
	if (guest->worker < 0 || guest->clock == 0)
		return -1;
	return tick_of(guest->clock + monotonic(guest) - guest->heard);
}

/* Draw so many ids, if there are. */
bool
guest_draw(Guest *guest, int count)
{
	for (int i = 0; i < count; i++)
	{
		UidgenTick	now = guest_tick(guest);
		int64_t		position = Max(guest->position + 1, first_position(now));

		if (now < 0)
			return false;
		judge_guest_clock(guest, now);
		if (tick_of_position(position) > guest->last && !is_broken("guest_end_not_kept"))
			return false;
		guest->position = position;
		judge_guest_id(guest);
	}
	return true;
}

/* Is it to ask? */
bool
guest_is_due(Guest *guest)
{
	UidgenTick	now = guest_tick(guest);

	return now < 0 || guest->doubt || Max(now, tick_of_position(guest->position)) >= guest->renew_at;
}

/* ---- calls ---- */

static void
send_call(Guest *guest, CallKind kind, bool to_old)
{
	guest->call = (Call) {
		.kind = kind,
		.node = (int) (guest - world.guests),
		.life = guest->life,
		.identity = guest->holder,
		.registry = guest->registry,
		.token = new_number(),
		.nknown = guest->ntokens,
		.worker = kind == CALL_GUEST_ACQUIRE ? guest->claimed_worker : guest->worker,
		.until = kind == CALL_GUEST_ACQUIRE ? guest->claimed_until : guest->last,
		.old_token = guest->tokens[0],
		.needed = tick_of_position(guest->position + 1),
		.at = INT64_MAX,		/* it has no time of its own */
		.window = ticks_in(world.changes ? world.setup.max_lead : world.setup.guest_lead) / 2,
		.boot_before = monotonic(guest),
		.to_old = to_old,
	};
	guest->apart_now = apart(guest);
	memcpy(guest->call.known_tokens, guest->tokens, sizeof(guest->tokens));
	guest->progress = SENT;
}

/* Renew, or acquire.  The token is remembered before the call is sent: if the answer is lost, the
 * row may have it. */
void
guest_calls(Guest *guest, bool to_old)
{
	send_call(guest, guest->worker >= 0 && !guest->doubt ? CALL_GUEST_RENEW : CALL_GUEST_ACQUIRE, to_old);
	guest->doubt = true;
	if (is_broken("guest_token_not_kept"))
		return;
	if (guest->ntokens == GUEST_TOKENS)
	{
		guest->causes |= CAUSE_MANY_TOKENS;
		memmove(guest->tokens, guest->tokens + 1, --guest->ntokens * sizeof(int64_t));
	}
	guest->tokens[guest->ntokens++] = guest->call.token;
}

/* It ends, and hands its worker id back.  False if it has none. */
bool
guest_closes(Guest *guest)
{
	if (guest->worker < 0)
		return false;
	send_call(guest, CALL_GUEST_RELEASE, false);
	return true;
}

/* ---- answers ---- */

bool
guest_waits_no_longer(const Guest *guest)
{
	return monotonic(guest) - guest->call.boot_before > world.setup.timeout;
}

/* No answer has come, or one that does not count. */
void
guest_hear_nothing(Guest *guest)
{
	tell("    that counts as no answer");
	events[EVENT_GUEST_UNANSWERED]++;
	guest->progress = NOT_CALLING;
}

static bool
counts(const Guest *guest, bool confirmed)
{
	const Reply *reply = &guest->reply;

	if (reply->sqlstate[0])
		return false;
	if (guest_waits_no_longer(guest) && !is_broken("guest_late_answer_counts"))
		return false;
	if (!confirmed && !is_broken("guest_unconfirmed_counts"))
		return false;
	if (guest->registry_id != 0 && reply->word.life.registry_id != guest->registry_id)
		return false;
	return reply->word.life.timeline >= guest->timeline || is_broken("guest_older_timeline_counts");
}

static void
take(Guest *guest, const Reply *reply)
{
	judge_guest_worker(guest, reply->worker);
	judge_guest_told(guest, reply->worker, reply->first, reply->last);
	/* The other worker id may be lower. */
	if (reply->worker != guest->worker && !is_broken("guest_worker_in_same_tick"))
		guest->position |= (INT64_C(1) << world.setup.sequence_bits) - 1;
	guest->worker = reply->worker;
	if (!is_broken("guest_begin_not_kept"))
		guest->position = Max(guest->position, first_position(reply->first) - 1);
}

/* The answer has come. */
void
guest_hear(Guest *guest, bool confirmed)
{
	const Reply *reply = &guest->reply;
	bool		renews = guest->call.kind == CALL_GUEST_RENEW;

	if (!counts(guest, confirmed))
	{
		guest_hear_nothing(guest);
		return;
	}
	guest->progress = NOT_CALLING;
	guest->registry_id = reply->word.life.registry_id;
	guest->timeline = reply->word.life.timeline;
	if (reply->granted)
	{
		if (!renews)
			take(guest, reply);
		else if (reply->last > guest->last)
			judge_guest_told(guest, guest->worker, guest->last + 1, reply->last);
		guest->last = reply->last;
		guest->tokens[0] = guest->call.token;
		guest->ntokens = 1;
		guest->doubt = false;
		guest->claimed_worker = guest->worker;
		guest->claimed_until = guest->last;
		guest->changed = guest->shown = reply->clock;
	}
	if (guest->worker < 0)
		return;
	guest->clock = reply->clock;
	guest->ran = reply->ran;
	guest->heard = is_broken("guest_time_of_call") ? guest->call.boot_before : monotonic(guest);
	/* It may have slept while the answer was on its way. */
	guest->apart = is_broken("guest_sleep_in_call_unnoticed") ? apart(guest) : guest->apart_now;
	guest->renew_at = guest->last - Max((guest->last - tick_of(guest->clock)) / 2, 1);
}
