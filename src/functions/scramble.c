/*
 * scramble.c
 *	  The functions that hide what a number tells, by a keyed bijection, and undo it.
 *
 * A number that counts tells the public how many there are, and how fast they grow.
 * uid_scramble() maps the numbers of 0 to 2^bits - 1 onto themselves: each has one image,
 * which looks random to whoever lacks the key, so images are as unique as the numbers.
 *
 * The map is a Feistel network of 8 rounds over HMAC-SHA256.  Both are others' work: the
 * server's own library computes the HMAC, and nothing here is a cipher of our own.
 * It never changes, because images are stored and printed.  Its definition, for clients:
 *
 * The low half of a number is its lower (bits + 1) / 2 bits, the high half is the rest.
 * For each round from 0 to 7, an even round changes the high half, an odd one the low
 * half: by exclusive or with the low bits of F(other half).  F is the first 4 bytes,
 * read as a big-endian number, of the HMAC-SHA256 with the key over 23 bytes: "uidgen
 * scramble 1" in ASCII, bits as 1 byte, the round as 1 byte, the other half as 4 bytes,
 * big-endian.  To undo it, the same rounds are run from 7 to 0.
 *
 * The halves are not swapped, so a round is its own inverse, and each width has its map,
 * also an odd one.  With halves of one size an odd width would have to be a part of the
 * next even one, and images beyond it would have to be mapped again until one fits.  The
 * label, the width and the round are in each message, so that no two maps of a key have a
 * round in common, and a later version of the map would have another label.
 *
 * HMAC defines what becomes of a key: one of less than 64 bytes is filled up with zeros,
 * so it means the same with zeros at its end, and of a longer one the hash is taken.
 *
 * Errors: 22003 the number is none of that width; 22023 the key is too short, or there is
 * no such width.
 */
#include "postgres.h"

#include "common/hmac.h"
#include "common/sha2.h"
#include "compat.h"
#include "functions/values.h"
#include "port/pg_bswap.h"

SQL_FUNCTION(uidgen_scramble);
SQL_FUNCTION(uidgen_unscramble);

#define ROUNDS 8
/* Each half has a bit at least, and the number has a place in bigint. */
#define MIN_BITS 2
#define MAX_BITS 63
/* So many that nobody can try all keys. */
#define MIN_KEY_BYTES 16

#define LABEL "uidgen scramble 1"
#define LABEL_SIZE (sizeof(LABEL) - 1)

/* One map. */
typedef struct Scramble
{
	pg_hmac_ctx *hmac;
	const uint8 *key;
	int			key_length;
	int			bits;
} Scramble;

/* ---- arguments ---- */

static void
check_bits(int bits)
{
	if (bits < MIN_BITS || bits > MAX_BITS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bits is out of range: %d", bits),
				 errdetail("Numbers have %d to %d bits.", MIN_BITS, MAX_BITS),
				 errhint("Leave bits out, for numbers that are hard to guess, or give 33 for numbers of at most 10 digits.")));
}

static void
check_key(int length)
{
	if (length < MIN_KEY_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the key is too short"),
				 errdetail("It has %d bytes, and needs %d at least.", length, MIN_KEY_BYTES),
				 errhint("Make a random key once and keep it: uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), or gen_random_bytes(32) of pgcrypto.")));
}

static void
check_number(int64 number, int bits)
{
	if (number < 0 || number >> bits != 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("number " INT64_FORMAT " is out of range", number),
				 errdetail("Numbers of %d bits are 0 to " UINT64_FORMAT ".",
						   bits, (UINT64CONST(1) << bits) - 1),
				 number < 0 ?
				 errhint("Take numbers that count up from 0 or 1, such as those of a sequence.") :
				 errhint("Give as many bits as the largest number will ever need; uid_unscramble() needs the same bits as uid_scramble() was given.")));
}

/* ---- the map ---- */

/* What a round changes its half by, in the low bits. */
static uint32
round_function(const Scramble *scramble, int round, uint32 half)
{
	uint8		message[LABEL_SIZE + 2 + sizeof(half)];
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	uint32		result;

	half = pg_hton32(half);
	memcpy(message, LABEL, LABEL_SIZE);
	message[LABEL_SIZE] = scramble->bits;
	message[LABEL_SIZE + 1] = round;
	memcpy(message + LABEL_SIZE + 2, &half, sizeof(half));
	if (pg_hmac_init(scramble->hmac, scramble->key, scramble->key_length) < 0 ||
		pg_hmac_update(scramble->hmac, message, sizeof(message)) < 0 ||
		pg_hmac_final(scramble->hmac, digest, sizeof(digest)) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not compute an HMAC: %s", pg_hmac_error(scramble->hmac))));
	memcpy(&result, digest, sizeof(result));
	return pg_ntoh32(result);
}

static uint64
run_round(const Scramble *scramble, int round, uint64 number)
{
	int			low_bits = (scramble->bits + 1) / 2;
	uint64		low_mask = (UINT64CONST(1) << low_bits) - 1;
	uint64		high_mask = ((UINT64CONST(1) << scramble->bits) - 1) & ~low_mask;

	if (round % 2 == 0)
		return number ^ (((uint64) round_function(scramble, round, number & low_mask) << low_bits) & high_mask);
	return number ^ (round_function(scramble, round, number >> low_bits) & low_mask);
}

/* Checks the arguments of a call, and runs the rounds from one to the other. */
static int64
run_rounds(FunctionCallInfo fcinfo, int first, int last)
{
	int64		number = PG_GETARG_INT64(0);
	bytea	   *key = PG_GETARG_BYTEA_PP(1);
	int			step = first < last ? 1 : -1;
	Scramble	scramble = {
		.key = (const uint8 *) VARDATA_ANY(key),
		.key_length = VARSIZE_ANY_EXHDR(key),
		.bits = PG_GETARG_INT32(2)
	};

	check_bits(scramble.bits);
	check_key(scramble.key_length);
	check_number(number, scramble.bits);

	/*
	 * One for all rounds.  It belongs to the resource owner of this call,
	 * which also frees it after an error, so a call site cannot keep it.
	 */
	scramble.hmac = pg_hmac_create(PG_SHA256);
	if (!scramble.hmac)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	for (int round = first; round != last + step; round += step)
		number = run_round(&scramble, round, number);
	pg_hmac_free(scramble.hmac);
	return number;
}

Datum
uidgen_scramble(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(run_rounds(fcinfo, 0, ROUNDS - 1));
}

Datum
uidgen_unscramble(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(run_rounds(fcinfo, ROUNDS - 1, 0));
}
